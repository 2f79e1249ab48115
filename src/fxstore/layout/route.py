"""Heights and polylines of a block whose cells have their x.

Within a row a wire runs straight down, in its own cell. It only slants between two rows, where there are no boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fxstore.layout.crossing import candidate_rows
from fxstore.layout.grid import Grid, build_grid
from fxstore.layout.place import place_cells
from fxstore.layout.problem import Problem, Shape
from fxstore.layout.rows import assign_rows
from fxstore.layout.spacing import GAP_PORTS, GAP_Y, HEAD, LANE, PAD

Point = tuple[int, int]


@dataclass(frozen=True)
class _Placed:
    """A block whose cells have their place: ``upper`` and ``lower`` are the borders of its rows."""

    problem: Problem
    grid: Grid
    left: list[int]
    upper: list[int]
    lower: list[int]

    def top(self, v: int) -> int:
        """Returns the y of a cell in its row: near its consumers if it has no inputs, else in the middle."""
        row = self.grid.row[v]
        spare = self.lower[row] - self.upper[row] - self.problem.height[v]
        if self.grid.above[v]:
            spare = spare // 2 if self.grid.below[v] else 0
        return self.upper[row] + spare

    def line(self, number: int, height: int) -> list[Point]:
        """Returns the corners of one wire, from the block's upper border or to its lower one where it ends there."""
        problem, row = self.problem, self.grid.row
        wire, chain = problem.wires[number], self.grid.chains[number]
        source, target = wire.source, wire.target
        start, end = self.left[source] + wire.leave, self.left[target] + wire.enter
        begins = self.top(source) + problem.height[source] if problem.is_item(source) else 0
        points = [(start, begins), (start, self.lower[row[source]])]
        for cell in chain[1:-1]:
            x = self.left[cell] + LANE // 2
            points += [(x, self.upper[row[cell]]), (x, self.lower[row[cell]])]
        points.append((end, self.upper[row[target]]))
        points.append((end, self.top(target) if problem.is_item(target) else height))
        return _simple(points)


def solve(problem: Problem) -> Shape:
    """Lays out one block."""
    grid = build_grid(problem, assign_rows(problem))
    side, head = (PAD, HEAD) if problem.boxed else (0, 0)
    left = [x + side for x in place_cells(grid, candidate_rows(grid))]
    width = max([x + w for x, w in zip(left, grid.width, strict=True)], default=side) + side
    upper, lower = _row_borders(problem, grid, head)
    height = lower[-1] + side
    placed = _Placed(problem, grid, left, upper, lower)
    lines = [placed.line(i, height) for i in range(len(problem.wires))]
    first, last = problem.ins, len(problem.width) - problem.outs
    return Shape(
        width,
        height,
        [x + LANE // 2 for x in left[:first]],
        [x + LANE // 2 for x in left[last : last + problem.outs]],
        np.array(left[first:last], np.int32),
        np.array([placed.top(v) for v in range(first, last)], np.int32),
        np.array([p for line in lines for p in line], np.int32).reshape(-1, 2),
        np.cumsum([0, *map(len, lines)], dtype=np.int32),
    )


def _row_borders(problem: Problem, grid: Grid, head: int) -> tuple[list[int], list[int]]:
    """Returns the upper and the lower border of each row."""
    upper: list[int] = []
    lower: list[int] = []
    y = head
    for row in grid.rows:
        tall = max([problem.height[v] for v in row if v < len(problem.height)], default=0)
        if upper:
            y += GAP_Y if tall and lower[-1] > upper[-1] else GAP_PORTS
        upper.append(y)
        y += tall
        lower.append(y)
    return upper, lower


def _simple(points: list[Point]) -> list[Point]:
    """Drops repeated corners and those on a straight line."""
    out = points[:1]
    for x, y in points[1:]:
        if (x, y) == out[-1]:
            continue
        if len(out) > 1:
            (ax, ay), (bx, by) = out[-2:]
            if (bx - ax) * (y - ay) == (by - ay) * (x - ax):
                out[-1] = (x, y)
                continue
        out.append((x, y))
    return out
