r"""One block laid out: rows, order, x, then heights and polylines.

Within a row a wire runs straight down, in its own cell. It only slants between two rows, where there are no boxes::

      ┌────┐
      │ a  │   row 0
      └─┬──┘
        │      ── lower border of row 0
         \        slant
          │    ── upper border of row 1
      ┌─┐ │
      │b│ │ lane
      └─┘ │

So no wire crosses a box, whatever the order and the x are. A block with more long wires than can be ordered in time is
drawn another way (``tangle``). Time is linear in the grid's cells and links, besides ordering.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from fxstore.layout.crossing import candidate_rows
from fxstore.layout.grid import SPINE, Contracted, Grid, build_grid
from fxstore.layout.model import GAP_ASIDE, GAP_BLOCKS, GAP_PORTS, GAP_Y, HEAD, LANE, PAD, Lists, Problem, Shape
from fxstore.layout.place import place_cells
from fxstore.layout.rows import assign_rows
from fxstore.layout.tangle import solve_tangle

MOST_LANES = 3500
"""A block whose lanes pass more rows than so many is drawn as a tangle."""
MOST_PASSED = 100_000
"""So is one whose wires, those of one lane each by itself, pass more rows than so many."""

TOP, MIDDLE, BOTTOM = 0, 1, 2
"""Where a cell lies in a taller row, in halves of the room that is left."""


Orders = dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[int, Lists]]
"""The order of cells that was found for a structure, the row of each cell and its rank; and the crossings."""


def solve(problem: Problem, orders: Orders, structure: int) -> Shape:
    """Lays out one block.

    Args:
        problem: The block.
        orders: What was found for others; gains what is found for this one.
        structure: Equal for blocks that differ in nothing but the sizes of nodes; their cells get one order.
    """
    row = assign_rows(problem)
    if len(problem.wires) * (max(row, default=0) - 1) > MOST_LANES:
        passed = sum([row[wire.target] - row[wire.source] - 1 for wire in problem.wires])
        if passed > MOST_PASSED or _passed(problem, row) > MOST_LANES:
            return solve_tangle(problem, row)
    grid = build_grid(problem, row)
    side, head = (PAD, HEAD) if problem.boxed else (0, 0)
    if problem.aside:
        left = [side + sum(grid.width[:v]) + v * GAP_ASIDE for v in range(len(grid.width))]
    else:
        left = [side + x for x in _placed(problem, grid, orders, structure)]
    width = max([x + w for x, w in zip(left, grid.width, strict=True)], default=side) + side
    upper, lower = _row_borders(problem, grid, head)
    height = lower[-1] + (0 if problem.outs else side)
    top = _tops(problem, grid, upper, lower)
    points, counts = _lines(problem, grid, left, top, (upper, lower, height))
    first, last = problem.ins, len(problem.width) - problem.outs
    return Shape(
        width,
        height,
        [x + LANE // 2 for x in left[:first]],
        [x + LANE // 2 for x in left[last : last + problem.outs]],
        np.array(left[first:last], np.int32),
        np.array(top[first:last], np.int32),
        np.array(grid.row[first:last], np.int32),
        len(upper),
        np.array(points, np.int32).reshape(-1, 2),
        np.array([0, *accumulate(counts)], np.int32),
    )


def _tops(problem: Problem, grid: Grid, upper: list[int], lower: list[int]) -> list[int]:
    """Returns the y of each cell: at the bottom of its row if it has no inputs, at its top without users, else between.

    Args:
        problem: The block.
        grid: Its cells.
        upper, lower: The borders of its rows.
    """
    out = []
    for v, height in enumerate(problem.height):
        row = grid.row[v]
        lie = (MIDDLE if grid.below[v] else TOP) if grid.above[v] else BOTTOM
        out.append(upper[row] + (lower[row] - upper[row] - height) * lie // 2)
    return out


def _lines(
    problem: Problem, grid: Grid, left: list[int], top: list[int], borders: tuple[list[int], list[int], int]
) -> tuple[list[int], list[int]]:
    """Returns x and y of all wires' corners, and how many corners each has.

    A wire begins at the block's upper border if it comes from a port, and ends at the lower one if it goes to one.
    """
    upper, lower, height = borders
    first, last = problem.ins, len(problem.width) - problem.outs
    points: list[int] = []
    counts = []
    for chain, (source, target, _, leave, enter, _) in zip(grid.chains, problem.wires, strict=True):
        x, r, begin = left[source] + leave, grid.row[source], len(points)
        points += (x, top[source] + problem.height[source] if source >= first else 0)
        for cell in chain[1:]:
            to = left[target] + enter if cell == target else left[cell] + LANE // 2
            if to != x:
                points += (x, lower[r], to, upper[r + 1])
                x = to
            r += 1
        points += (x, top[target] if target < last else height)
        counts.append((len(points) - begin) // 2)
    return points, counts


def _placed(problem: Problem, grid: Grid, orders: Orders, structure: int) -> list[int]:
    """Orders the rows, as the problem's rank says where they do not of themselves, and returns each cell's x."""
    runs = Contracted(grid)
    left: list[int] = []
    for rank in ((), problem.rank)[: 2 if problem.rank else 1]:
        if rank:
            free = [*[-1] * problem.ins, *rank, *[-1] * (len(grid.row) - problem.ins - len(rank))]
            known = [[free[v] for v in row if free[v] >= 0] for row in grid.rows]
            if all(ranks == sorted(ranks) for ranks in known):
                break
            runs = Contracted(grid, _with_spine(grid, free))
        key = structure, tuple(grid.row[: len(problem.width)]), rank
        options = [orders[key]] if key in orders else candidate_rows(runs)
        left = place_cells(runs, options)
        orders[key] = options[0][0], runs.rows
        grid.rows = runs.expanded(runs.rows)
    return runs.spread(left)


def _with_spine(grid: Grid, rank: list[int]) -> list[int]:
    """Returns the ranks with one for each cell of the longest path: its own, else that of the next below or above."""
    rank = list(rank)
    links = [k for row in grid.rows for v in row for k in grid.below[v] if grid.pull[k] == SPINE]
    for far, near, order in ((grid.lower, grid.upper, links[::-1]), (grid.upper, grid.lower, links)):
        for k in order:
            if rank[near[k]] < 0:
                rank[near[k]] = rank[far[k]]
    return rank


def _passed(problem: Problem, row: list[int]) -> int:
    """Returns how many rows all lanes together pass; lanes that only pass the whole block do not count."""
    first, last = dict[int, int](), dict[int, int]()
    for wire in problem.wires:
        if not (problem.is_item(wire.source) or problem.is_item(wire.target)):
            continue
        first[wire.lane] = min(first.get(wire.lane, row[wire.source]), row[wire.source])
        last[wire.lane] = max(last.get(wire.lane, 0), row[wire.target])
    return sum(last.values()) - sum(first.values()) - len(first)


def _row_borders(problem: Problem, grid: Grid, head: int) -> tuple[list[int], list[int]]:
    """Returns the upper and the lower border of each row; ports are on the block's own border, the title below them."""
    upper: list[int] = []
    lower: list[int] = []
    y, before = 0 if problem.ins else head, 0
    cells, rooms = len(problem.width), [_room(problem, v) for v in range(len(problem.width))]
    for row in grid.rows:
        members = [v for v in row if v < cells]
        room = max([rooms[v] for v in members])
        if upper:
            y += max(min(room, before), head if len(upper) == 1 and problem.ins else 0)
        before = room
        upper.append(y)
        y += max([problem.height[v] for v in members])
        lower.append(y)
    return upper, lower


def _room(problem: Problem, v: int) -> int:
    """Returns how far a row of this cell alone is from the next: nearer, where it has room of its own inside."""
    if not problem.is_item(v):
        return GAP_PORTS
    if problem.aside:
        return GAP_ASIDE
    return GAP_BLOCKS if problem.deep and problem.deep[v - problem.ins] else GAP_Y
