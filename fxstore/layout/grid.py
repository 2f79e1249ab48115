r"""A block as rows of cells whose links join neighbouring rows only, and the same with runs of rows taken together.

A wire that passes rows gets a lane, a narrow cell, in each of them (Sugiyama, Tagawa and Toda, IEEE SMC 1981). All
wires of one value share a lane::

    row 0      a                  a
              /│\                / \
    row 1    b │ │      ->      b   ┊       ┊ is the lane in which the wires
               │ │                 / \        to ``c`` and ``d`` pass row 1
    row 2      c d                c   d

The invariant: every link goes exactly one row down. So ordering and placing look at two rows at a time, and cost is
linear in cells and links. :class:`Contracted` makes both fewer where nothing can cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fxstore.layout.model import GAP_X, LANE, Lists, Problem, Wire

PLAIN, PASSING, SPINE = 0, 1, 2
"""How much a link wants to be straight: a wire's end, the middle of a long wire, the longest path. As in graphviz's
dot: a bend in the middle of a long wire is seen first, one in the longest path before all."""

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


class Contracted(Grid):
    """A grid whose runs of rows, each cell of which goes on in one cell of its own in the next, are one row each.

    Whatever the order of that row, the rows of its run have no crossing among them when they take it over; and the
    cells of a run stand so that its links are straight. A cell reaches from the leftmost border in its run to the
    rightmost one::

         a  b                  ┌─┐ ┌─┐
         │  │                  │a│ │b│
        aaa b    is one row:   │a│ │b│    a cell as wide as the widest of its column,
         │  │                  │a│ │b│    ``_offset`` pixels right of whose border each lies
         a  b                  └─┘ └─┘
    """

    def __init__(self, full: Grid, rank: Sequence[int] = ()) -> None:
        """Contracts a grid whose rows are set, in any order.

        Args:
            full: The grid.
            rank: Of each cell its place in the order that rows must have, -1 for one that may stand anywhere; or
                nothing. Of the rows of a run, no more than one says anything about their order.
        """
        ranked = [bool(rank) and sum([rank[v] >= 0 for v in row]) > 1 for row in full.rows]
        kept, head, shift = _runs(full, ranked)
        heads = sorted([v for r in kept for v in full.rows[r]])
        number = {v: i for i, v in enumerate(heads)}
        of = [number[v] for v in head]
        low, high = [0] * len(heads), [0] * len(heads)
        for i, at, width in zip(of, shift, full.width, strict=True):
            low[i], high[i] = min(low[i], at), max(high[i], at + width)
        new_row = {r: i for i, r in enumerate(kept)}
        super().__init__(
            [[number[v] for v in full.rows[r]] for r in kept],
            [new_row[full.row[v]] for v in heads],
            [b - a for a, b in zip(low, high, strict=True)],
        )
        self._full, self._of = full, of
        self._offset = offset = [at - low[i] for i, at in zip(of, shift, strict=True)]
        self._runs = [list(range(a, b)) for a, b in pairwise([*kept, len(full.rows)])]
        self._cells = [{of[v]: v for v in row} for row in full.rows]
        self.ins = full.ins
        if rank:
            self.rank = [-1] * len(heads)
            for v in [v for r, row in enumerate(full.rows) if ranked[r] for v in row]:
                self.rank[of[v]] = rank[v]
        self.lanes = sum([v >= len(full.row) - full.lanes for v in heads])
        self._links = [k for k, (a, b) in enumerate(zip(full.upper, full.lower, strict=True)) if of[a] != of[b]]
        self.upper, self.lower = [of[full.upper[k]] for k in self._links], [of[full.lower[k]] for k in self._links]
        self.leave = [full.leave[k] + offset[full.upper[k]] for k in self._links]
        self.enter = [full.enter[k] + offset[full.lower[k]] for k in self._links]
        self.pull = [full.pull[k] for k in self._links]
        self.join()

    def spots(self) -> tuple[list[float], list[float]]:
        """Returns where each link ends, on the cells of the full grid that it joins."""
        leave, enter = self._full.spots()
        return [leave[k] for k in self._links], [enter[k] for k in self._links]

    def gaps(self, rows: Lists) -> Lists:
        """Returns for each row the least distances between the left borders of neighbours, in all rows of its run."""
        sides = self._full.sides()
        ahead = [w + side + at for w, side, at in zip(self._full.width, sides, self._offset, strict=True)]
        behind = [side - at for side, at in zip(sides, self._offset, strict=True)]
        out: Lists = []
        for row, run in zip(rows, self._runs, strict=True):
            least = [0] * (len(row) - 1)
            for r in run if least else ():
                cells = [self._cells[r][v] for v in row]
                least = [max(gap, ahead[a] + behind[b]) for gap, (a, b) in zip(least, pairwise(cells), strict=True)]
            out.append(least)
        return out

    def expanded(self, rows: Lists) -> Lists:
        """Returns the rows of the full grid in the order of these."""
        return [[self._cells[r][v] for v in row] for row, run in zip(rows, self._runs, strict=True) for r in run]

    def spread(self, left: list[int]) -> list[int]:
        """Returns the left border of each cell of the full grid, given those of the cells of this one."""
        return [left[i] + offset for i, offset in zip(self._of, self._offset, strict=True)]


def _runs(full: Grid, ranked: Sequence[bool]) -> tuple[list[int], list[int], list[int]]:
    """Returns the first row of each run, the cell there that each cell goes back to, and how far right of it it lies.

    A row goes on from the one above where every cell of either has one link to the other. A run ends before a second
    row that says something about the order (``ranked``).
    """
    head, shift = list(range(len(full.row))), [0] * len(full.row)
    kept: list[int] = []
    says = goes_on = False
    size = 0
    for r, row in enumerate(full.rows):
        goes_on = goes_on and len(row) == size and all(len(full.above[v]) == 1 for v in row)
        if goes_on and not (says and ranked[r]):
            says = says or ranked[r]
            for v in row:
                link = full.above[v][0]
                u = full.upper[link]
                head[v], shift[v] = head[u], shift[u] + full.leave[link] - full.enter[link]
        else:
            says = ranked[r]
            kept.append(r)
        goes_on, size = all(len(full.below[v]) == 1 for v in row), len(row)
    return kept, head, shift
