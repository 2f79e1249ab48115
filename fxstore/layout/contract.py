"""Rows that only go on from the row above, taken together while cells are ordered and placed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fxstore.layout.grid import Grid
from fxstore.layout.order import Lists


class Contracted(Grid):
    """A grid whose runs of rows, each cell of which goes on in one cell of its own in the next, are one row each.

    Whatever the order of that row, the rows of its run have no crossing among them when they take it over; and the
    cells of a run stand so that its links are straight. A cell reaches from the leftmost border in its run to the
    rightmost one.
    """

    def __init__(self, full: Grid, rank: Sequence[int] = ()) -> None:
        """Contracts a grid whose rows are set, in any order.

        Args:
            full: The grid.
            rank: Of each cell its place in the order that rows must have, -1 for one that may stand anywhere; or
                nothing. Of the rows of a run, no more than one says anything about their order.
        """
        above, below = full.above, full.below
        single_above, single_below = ([len(links) == 1 for links in side] for side in (above, below))
        head, shift = list(range(len(full.row))), [0] * len(full.row)
        kept: list[int] = []
        ranked = [bool(rank) and sum([rank[v] >= 0 for v in row]) > 1 for row in full.rows]
        says = goes_on = False
        size = 0
        for r, row in enumerate(full.rows):
            goes_on = goes_on and len(row) == size and all(map(single_above.__getitem__, row))
            if goes_on and not (says and ranked[r]):
                says = says or ranked[r]
                for v in row:
                    link = above[v][0]
                    u = full.upper[link]
                    head[v] = head[u]
                    shift[v] = shift[u] + full.leave[link] - full.enter[link]
            else:
                says = ranked[r]
                kept.append(r)
            goes_on, size = all(map(single_below.__getitem__, row)), len(row)
        heads = sorted([v for r in kept for v in full.rows[r]])
        number = [0] * len(head)
        for i, v in enumerate(heads):
            number[v] = i
        of = [number[v] for v in head]
        low, high = [0] * len(heads), [0] * len(heads)
        for i, at, width in zip(of, shift, full.width, strict=True):
            if at < low[i]:
                low[i] = at
            if at + width > high[i]:
                high[i] = at + width
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
