r"""The order of cells in their rows: few crossings, side inputs on both sides of what they join.

Minimising crossings is NP-hard even for two rows (Garey and Johnson, 1983), so several cheap attempts are compared:

1. A depth-first walk from the inputs gives a start. In a small block one from the outputs gives a second.
2. Each is improved by sweeps down and up, and by swaps of neighbours (``ordering``), until two sweeps bring nothing.
3. A small block is also given to fast-sugiyama, whose order is taken where it crosses less.
4. Of all orders with the fewest crossings, weights and biases are moved to both sides of their stem where no crossing
   comes of it (:func:`balance`)::

       w  b  x             w  x  b          x: the stem, the longest path
        \ \ |      ->       \ | /           w, b: side inputs
         linear             linear

What a problem's rank says about the order of cells always holds. Effort falls with size, so that time stays near to
linear: above 100 cells there is one attempt, above 20,000 two sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fast_sugiyama import from_edges

from fxstore.layout.grid import SPINE, Grid
from fxstore.layout.model import Lists
from fxstore.layout.ordering import Ordering
from fxstore.layout.plan import components

SMALL, MEDIUM, LARGE = 100, 3000, 20000
"""Numbers of cells above which less is tried."""
PATIENCE = 2
"""After so many sweeps without fewer crossings there are no more: one down and one up."""
HOPEFUL = 1.5
"""Of two starts, one with so many times the crossings of the other is not swept."""
HOPELESS = 4
"""An order with so many times the crossings of the best one is not improved by swaps alone."""
MOST_BESIDE = 120
"""In a block with more cells in a row side inputs stay where they are: each would take time for all of them."""
MAX_CELLS = 100
"""Blocks of so many cells, and larger ones, are not given to fast-sugiyama (see :func:`suggested_rows`)."""


def candidate_rows(grid: Grid) -> list[tuple[int, Lists]]:
    """Returns the orders of the cells of each row that have the fewest crossings found, and how many each has.

    A start is improved by sweeps of barycentres and medians and by swaps of neighbours. In a small block swaps alone,
    a second start and what fast-sugiyama would do are tried as well, until nothing crosses; swaps alone come last.
    """
    cells = len(grid.row)
    state = Ordering(grid)
    if cells > SMALL:
        sweeps = 8 if cells <= MEDIUM else 4 if cells <= LARGE else 2
        return _balanced(state, grid, [_sweep(state, _from_inputs(grid), sweeps, cells <= LARGE)])
    found, starts = list[tuple[int, Lists]](), list[tuple[int, Lists]]()
    for option in _tries(state, grid, starts, found):
        if not option[0]:
            return _balanced(state, grid, [option])
        found.append(option)
    return _balanced(state, grid, [*found[1:], found[0]])


def _tries(
    state: Ordering, grid: Grid, starts: list[tuple[int, Lists]], found: list[tuple[int, Lists]]
) -> Iterator[tuple[int, Lists]]:
    """Yields orders and their crossings; ``found`` are those that were yielded, ``starts`` becomes those begun with."""
    for start in (_from_inputs, _from_outputs):
        state.take(start(grid))
        starts.append((state.crossings(), [list(row) for row in state.rows]))
        if start is _from_outputs and starts[-1][0]:
            break
        state.swap_neighbours()
        yield state.crossings(), state.rows
    least = min(starts)[0]
    for count, rows in sorted(starts, key=lambda option: option[0]):
        if count <= HOPEFUL * least:
            yield _sweep(state, rows, 8, True)
    other = suggested_rows(grid, starts[0][1])
    if other is not None:
        state.take(other)
        if state.crossings() <= HOPELESS * min(found)[0]:
            state.swap_neighbours()
            yield state.crossings(), state.rows


def _balanced(state: Ordering, grid: Grid, found: list[tuple[int, Lists]]) -> list[tuple[int, Lists]]:
    """Returns the orders with the fewest crossings, each once, side inputs on both sides."""
    least = min([count for count, _ in found])
    several = joins(grid)
    out: list[tuple[int, Lists]] = []
    for count, rows in found:
        if count > least:
            continue
        if several:
            state.take(rows)
            balance(state, grid, several)
            count, rows = state.crossings(), state.rows
        if (count, rows) not in out:
            out.append((count, rows))
    return sorted(out, key=lambda option: option[0])


def _sweep(state: Ordering, start: Lists, sweeps: int, swaps: bool) -> tuple[int, Lists]:
    """Improves an order; returns its crossings and its rows."""
    state.take(start)
    best, counts, least, failed = [list(row) for row in state.rows], list(state.counts), state.crossings(), 0
    for turn in range(sweeps):
        if not least or failed == PATIENCE:
            break
        state.sweep(turn % 2 == 0, _mean if turn % 4 < 2 else _median)
        failed += 1
        if state.crossings() < least:
            best, counts, least, failed = [list(row) for row in state.rows], list(state.counts), state.crossings(), 0
    if swaps and least:
        if failed:
            state.take(best, counts)
        state.swap_neighbours()
        return state.crossings(), state.rows
    return least, best


def _from_inputs(grid: Grid) -> Lists:
    """Returns the order of a walk down: the longest path's input port first, the other ports from last to first."""
    cells = range(len(grid.row))
    ports = sorted(cells[: grid.ins], key=lambda v: (all(grid.pull[k] != SPINE for k in grid.below[v]), -v))
    return _visit(grid, [*ports, *cells[grid.ins :]], lambda v: _around(grid, v), lambda v: not grid.above[v])


def _from_outputs(grid: Grid) -> Lists:
    """Returns the order of a walk up."""
    cells = reversed(range(len(grid.row)))
    return _visit(grid, cells, lambda v: [grid.upper[k] for k in grid.above[v]], lambda v: not grid.below[v])


def _around(grid: Grid, v: int) -> list[int]:
    """Returns the cells above one, then those below; a lane among leaves stands in the middle, as stem of a fan."""
    cells = [grid.lower[k] for k in grid.below[v]]
    if len(cells) < 2:
        return [grid.upper[k] for k in grid.above[v]] + cells
    nodes = len(grid.row) - grid.lanes
    leaves = [w for w in cells if w < nodes and not grid.below[w]]
    half = (len(leaves) + 1) // 2
    others = [w for w in cells if w < nodes and grid.below[w]]
    above = [grid.upper[k] for k in grid.above[v]]
    return above + others + leaves[:half] + [w for w in cells if w >= nodes] + leaves[half:]


def _visit(
    grid: Grid, cells: Iterable[int], follow: Callable[[int], list[int]], begins: Callable[[int], bool]
) -> Lists:
    """Fills the rows in the order of a depth-first walk."""
    rows: Lists = [[] for _ in grid.rows]
    seen = [False] * len(grid.row)
    for start in cells:
        if not begins(start):
            continue
        stack = [start]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = True
                rows[grid.row[v]].append(v)
                stack.extend(reversed(follow(v)))
    return rows


def _mean(ends: list[float]) -> float:
    return sum(ends) / len(ends)


def _median(ends: list[float]) -> float:
    ends.sort()
    half = len(ends) // 2
    return ends[half] if len(ends) % 2 else (ends[half - 1] + ends[half]) / 2


def joins(grid: Grid) -> list[tuple[int, int, list[int]]]:
    """Returns cells that several side inputs join, the lowest first.

    A side input is a tree: it has one link down, and above it are only cells that have one, too. What is on the
    longest path is none.

    Returns:
        For each such cell, the cell above it that the longest path or, without one, another link comes from, and its
        side inputs.
    """
    free = [False] * len(grid.row)
    found: list[tuple[int, int, list[int]]] = []
    if max(map(len, grid.rows), default=0) > MOST_BESIDE:
        return found
    for row in grid.rows:
        for v in row:
            above = [grid.upper[k] for k in grid.above[v]]
            side = [u for u in above if free[u]]
            if len(side) == len(above) and len(grid.below[v]) == 1 and grid.pull[grid.below[v][0]] != SPINE:
                free[v] = v >= grid.ins
            elif 1 < len(side) < len(above):
                _, stem = max((grid.pull[k], -grid.upper[k]) for k in grid.above[v] if not free[grid.upper[k]])
                found.append((v, -stem, side))
    return found[::-1]


def balance(state: Ordering, grid: Grid, found: list[tuple[int, int, list[int]]]) -> None:
    """Brings half of the side inputs of each cell to the left of its stem, or all to one side: what adds no crossing.

    Lanes, which come from higher rows and are narrow, are next to the stem. What has a rank keeps its side.

    Args:
        state: Rows in order.
        grid: The cells.
        found: As ``joins`` has it.
    """
    for v, stem, side in found:
        for left, right in _arrangements(state, grid, v, stem, side):
            wanted = [*left, stem, *right]
            if sorted(wanted, key=state.position.__getitem__) == wanted or _shift(state, grid, stem, left, right):
                break


def _arrangements(
    state: Ordering, grid: Grid, v: int, stem: int, side: list[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields what to put left and right of a stem: half of it each, all to the right, all to the left."""
    side = sorted(side, key=state.position.__getitem__)
    nodes = len(grid.row) - grid.lanes
    wide, lanes = [u for u in side if u < nodes], [u for u in side if u >= nodes]
    if grid.rank:
        goes_left = {u: _goes_left(state, grid, v, stem, u) for u in side}
        yield [u for u in [*wide, *lanes] if goes_left[u]], [u for u in [*lanes, *wide] if not goes_left[u]]
        return
    half, more = len(wide) // 2, (len(lanes) + 1) // 2
    yield [*wide[:half], *lanes[:more]], [*lanes[more:], *wide[half:]]
    yield [], [*lanes, *wide]
    yield [*wide, *lanes], []


def _goes_left(state: Ordering, grid: Grid, v: int, stem: int, tree: int) -> bool:
    """Tells whether a tree's rank is less than that of what it joins; where there is none, whether it is left of it."""
    middle, cells = grid.rank[v] if grid.rank[stem] < 0 else grid.rank[stem], [tree]
    for u in cells:
        cells += [grid.upper[k] for k in grid.above[u]]
    rank = next((grid.rank[u] for u in cells if grid.rank[u] >= 0), -1)
    return rank < middle if min(rank, middle) >= 0 else state.position[tree] < state.position[stem]


def _shift(state: Ordering, grid: Grid, stem: int, left: list[int], right: list[int]) -> bool:
    """Moves trees next to a cell of their lowest row, unless that makes a crossing; tells whether it did."""
    r, before = grid.row[stem], dict[int, list[int]]()
    first, last = [stem], [stem]
    while left or right:
        row = before[r] = state.rows[r]
        moved = {*left, *right}
        rest = [v for v in row if v not in moved]
        begin = min([rest.index(v) for v in first], default=len(rest))
        end = max(max([rest.index(v) for v in last], default=-1) + 1, begin)
        state.set_row(r, [*rest[:begin], *left, *rest[begin:end], *right, *rest[end:]])
        first, last = _next_above(grid, rest[begin:]), _next_above(grid, rest[:end][::-1])
        left, right = ([u for v in part for u in _above(state, grid, v)] for part in (left, right))
        r -= 1
    if not any(state.disobeys(state.rows[r]) for r in before) and state.recount(before):
        return True
    for r, row in before.items():
        state.set_row(r, row)
    return False


def _above(state: Ordering, grid: Grid, v: int) -> list[int]:
    """Returns the cells above one from left to right."""
    return sorted([grid.upper[k] for k in grid.above[v]], key=state.position.__getitem__)


def _next_above(grid: Grid, cells: list[int]) -> list[int]:
    """Returns the cells above the first that has any."""
    return next(([grid.upper[k] for k in grid.above[v]] for v in cells if grid.above[v]), [])


def suggested_rows(grid: Grid, rows: Lists) -> Lists | None:
    """Returns the rows in the order in which fast-sugiyama would draw them, or None where it is not safe to ask.

    The library (0.5.3) hangs on repeated edges, dies on self loops, and is silently wrong on unconnected graphs and on
    ids with gaps. On connected, acyclic graphs without repeats, of under a hundred nodes numbered from 0, none of this
    was seen; only those are given to it.
    """
    edges = sorted(set(zip(grid.upper, grid.lower, strict=True)))
    cells = len(grid.row)
    if not 2 <= cells < MAX_CELLS or any(components(cells, edges)):
        return None
    layouts = from_edges(
        edges, dummy_vertices=False, ranking_type="up", crossing_minimization="barycenter", transpose=False
    )
    if len(layouts) != 1:
        return None
    x = {int(v): float(place[0]) for v, place in layouts[0][0]}
    if len(x) != cells:
        return None
    return [sorted(row, key=lambda v: x[v]) for row in rows]
