"""Rows of cells with links between neighbouring rows only: long wires get a cell in every row they pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from fxstore.layout.order import Lists
from fxstore.layout.problem import Problem, Wire
from fxstore.layout.spacing import GAP_X, LANE

PLAIN, PASSING, SPINE = 0, 1, 2
"""How much a link wants to be straight: a wire's end, the middle of a long wire, the longest path."""

Link = tuple[int, int, int, int, int]
"""Upper and lower cell, where on them it ends, and its pull."""


@dataclass
class Grid:
    """Cells in rows. The first cells are those of the block, the others lanes.

    Attributes:
        rows: Cells of each row, from left to right.
        row, width: Of each cell.
        upper, lower: Cells that each link joins.
        leave, enter: Where on them it ends, in pixels from their left borders.
        pull: How much each link wants to be straight.
        above, below: Links of each cell to the row above and to the row below.
        chains: Cells of each wire, from its source to its target.
        lanes: How many of the cells are lanes: the last ones.
        ins: How many are input ports: the first ones.
        rank: Of each cell its place in the order that rows must have, -1 for one that may stand anywhere; or nothing.
    """

    rows: Lists
    row: list[int]
    width: list[int]
    upper: list[int] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    leave: list[int] = field(default_factory=list)
    enter: list[int] = field(default_factory=list)
    pull: list[int] = field(default_factory=list)
    above: Lists = field(default_factory=list)
    below: Lists = field(default_factory=list)
    chains: Lists = field(default_factory=list)
    lanes: int = 0
    ins: int = 0
    rank: list[int] = field(default_factory=list)

    def lane(self, first: int, end: int) -> range:
        """Adds a cell in each row from ``first`` to before ``end``, for a wire that passes them."""
        added = range(len(self.row), len(self.row) + end - first)
        self.row += range(first, end)
        self.width += [LANE] * len(added)
        self.lanes += len(added)
        return added

    def gaps(self, rows: Lists) -> Lists:
        """Returns for each row the least distances between the left borders of neighbours.

        There is no space between lanes: their width holds it.
        """
        width, sides = self.width, self.sides()
        return [[width[v] + sides[v] + sides[w] for v, w in pairwise(row)] for row in rows]

    def sides(self) -> list[int]:
        """Returns the space that each cell keeps to either side."""
        return [0 if width == LANE else GAP_X // 2 for width in self.width]

    def spots(self) -> tuple[list[float], list[float]]:
        """Returns where on its upper, and on its lower, cell each link ends: from -.45 at the left border to .45."""
        leave = [0.9 * (x / (self.width[v] or 1) - 0.5) for v, x in zip(self.upper, self.leave, strict=True)]
        enter = [0.9 * (x / (self.width[v] or 1) - 0.5) for v, x in zip(self.lower, self.enter, strict=True)]
        return leave, enter

    def join(self) -> None:
        """Makes ``above`` and ``below``, once all links are there."""
        self.above, self.below = [[] for _ in self.row], [[] for _ in self.row]
        for number, (upper, lower) in enumerate(zip(self.upper, self.lower, strict=True)):
            self.below[upper].append(number)
            self.above[lower].append(number)


def build_grid(problem: Problem, row: list[int]) -> Grid:
    """Returns the block's cells and lanes, rows not yet ordered."""
    grid = Grid([], list(row), list(problem.width))
    grid.chains = [[] for _ in problem.wires]
    grid.ins = problem.ins
    by_lane: dict[int, list[int]] = {}
    for number, wire in enumerate(problem.wires):
        by_lane.setdefault(wire.lane, []).append(number)
    links: list[Link] = []
    for numbers in by_lane.values():
        source = problem.wires[numbers[0]].source
        one = all(problem.wires[i].source == source for i in numbers)
        (_branch if one else _gather)(grid, problem.wires, numbers, links)
    if links:
        grid.upper, grid.lower, grid.leave, grid.enter, grid.pull = (
            list(column) for column in zip(*links, strict=True)
        )
    grid.join()
    for number in _spine(problem):
        _straighten(grid, grid.chains[number], problem.wires[number])
    grid.rows = [[] for _ in range(max(row, default=-1) + 1)]
    for cell, r in enumerate(grid.row):
        grid.rows[r].append(cell)
    return grid


def _branch(grid: Grid, wires: list[Wire], numbers: list[int], links: list[Link]) -> None:
    """One source: its lane runs down to the lowest target, and the wires leave it on the way."""
    row, middle = grid.row, LANE // 2
    source, leave = wires[numbers[0]].source, wires[numbers[0]].leave
    top = row[source]
    if len(numbers) > 1:
        numbers = sorted(numbers, key=lambda i: (row[wires[i].target], wires[i].target))
    lane = grid.lane(top + 1, row[wires[numbers[-1]].target])
    if lane:
        links.append((source, lane[0], leave, middle, PLAIN))
        links += [(upper, upper + 1, middle, middle, PASSING) for upper in lane[:-1]]
    for i in numbers:
        _, target, _, own, enter, _ = wires[i]
        passed = lane[: row[target] - top - 1]
        links.append((passed[-1], target, middle, enter, PLAIN) if passed else (source, target, own, enter, PLAIN))
        grid.chains[i] = [source, *passed, target]


def _gather(grid: Grid, wires: list[Wire], numbers: list[int], links: list[Link]) -> None:
    """Many sources, one target: the wires meet in one lane that runs down to it."""
    row, middle = grid.row, LANE // 2
    target, enter = wires[numbers[0]].target, wires[numbers[0]].enter
    top = min([row[wires[i].source] for i in numbers]) + 1
    lane = grid.lane(top, row[target])
    links += [(upper, upper + 1, middle, middle, PASSING) for upper in lane[:-1]]
    if lane:
        links.append((lane[-1], target, middle, enter, PLAIN))
    for i in numbers:
        wire = wires[i]
        rest = lane[row[wire.source] + 1 - top :]
        links.append((wire.source, rest[0] if rest else target, wire.leave, middle if rest else enter, PLAIN))
        grid.chains[i] = [wire.source, *rest, target]


def _straighten(grid: Grid, chain: list[int], wire: Wire) -> None:
    """Gives every link of a wire the spine's pull."""
    direct = len(chain) == 2
    for upper, lower in pairwise(chain):
        for link in grid.above[lower]:
            if grid.upper[link] == upper and (not direct or (grid.leave[link], grid.enter[link]) == wire[3:5]):
                grid.pull[link] = SPINE


def _spine(problem: Problem) -> list[int]:
    """Returns the wires of the block's longest path, which takes in the whole graph's where that passes."""
    cells = len(problem.width)
    length, via = [0] * cells, [-1] * cells
    for source, target, number, spine in sorted([(w[0], w[1], i, w[5]) for i, w in enumerate(problem.wires)]):
        found = length[source] + (1 + cells if spine else 1)
        if found > length[target]:
            length[target], via[target] = found, number
    numbers = []
    at = length.index(max(length)) if length else -1
    while at >= 0 and via[at] >= 0:
        numbers.append(via[at])
        at = problem.wires[via[at]].source
    alone = len(numbers) == 1 and not problem.wires[numbers[0]].spine
    return [] if alone else numbers
