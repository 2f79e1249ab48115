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
        head, shift = list(range(len(full.row))), [0] * len(full.row)
        kept: list[int] = []
        ranked = [bool(rank) and sum([rank[v] >= 0 for v in row]) > 1 for row in full.rows]
        says = False
        for r, row in enumerate(full.rows):
            if r and not (says and ranked[r]) and _goes_on(full, full.rows[r - 1], row):
                says = says or ranked[r]
                for v in row:
                    link = full.above[v][0]
                    u = full.upper[link]
                    head[v] = head[u]
                    shift[v] = shift[u] + full.leave[link] - full.enter[link]
            else:
                says = ranked[r]
                kept.append(r)
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
        self._offset = [at - low[i] for i, at in zip(of, shift, strict=True)]
        self._runs = [list(range(a, b)) for a, b in pairwise([*kept, len(full.rows)])]
        self._cells = [{of[v]: v for v in row} for row in full.rows]
        self.ins = full.ins
        if rank:
            self.rank = [-1] * len(heads)
            for v in [v for r, row in enumerate(full.rows) if ranked[r] for v in row]:
                self.rank[of[v]] = rank[v]
        self.lanes = sum([v >= len(full.row) - full.lanes for v in heads])
        self._links = [k for k, (a, b) in enumerate(zip(full.upper, full.lower, strict=True)) if of[a] != of[b]]
        offset = self._offset
        self.take_links(
            [
                (of[a], of[b], full.leave[k] + offset[a], full.enter[k] + offset[b], full.pull[k])
                for k in self._links
                for a, b in ((full.upper[k], full.lower[k]),)
            ]
        )

    def spots(self) -> tuple[list[float], list[float]]:
        """Returns where each link ends, on the cells of the full grid that it joins."""
        leave, enter = self._full.spots()
        return [leave[k] for k in self._links], [enter[k] for k in self._links]

    def gaps(self, rows: Lists) -> Lists:
        """Returns for each row the least distances between the left borders of neighbours, in all rows of its run."""
        offset, full = self._offset, self._full
        out: Lists = []
        for row, run in zip(rows, self._runs, strict=True):
            least = [0] * (len(row) - 1)
            for r in run if least else ():
                cells = [self._cells[r][v] for v in row]
                for i, apart in enumerate(full.gaps([cells])[0]):
                    least[i] = max(least[i], apart + offset[cells[i]] - offset[cells[i + 1]])
            out.append(least)
        return out

    def expanded(self, rows: Lists) -> Lists:
        """Returns the rows of the full grid in the order of these."""
        return [[self._cells[r][v] for v in row] for row, run in zip(rows, self._runs, strict=True) for r in run]

    def spread(self, left: list[int]) -> list[int]:
        """Returns the left border of each cell of the full grid, given those of the cells of this one."""
        return [left[i] + offset for i, offset in zip(self._of, self._offset, strict=True)]


def _goes_on(grid: Grid, upper: list[int], lower: list[int]) -> bool:
    if len(upper) != len(lower):
        return False
    above, below = grid.above, grid.below
    return all(len(above[v]) == 1 for v in lower) and all(len(below[v]) == 1 for v in upper)
