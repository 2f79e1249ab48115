"""Rows that only go on from the row above, taken together while orders are sought."""

from __future__ import annotations

from fxstore.layout.grid import Grid
from fxstore.layout.order import Lists

WIDE = 1 << 16
"""Width of all cells of a contracted grid, of which the places of links are parts."""


class Contracted:
    """A grid whose runs of rows, each cell of which goes on in one cell of its own in the next, are one row each.

    Whatever the order of that row, the rows of its run have no crossing among them when they take it over.

    Attributes:
        grid: The smaller grid.
    """

    def __init__(self, full: Grid) -> None:
        """Contracts a grid whose rows are set, in any order."""
        head = list(range(len(full.row)))
        kept: list[int] = []
        for r, row in enumerate(full.rows):
            if r and _goes_on(full, full.rows[r - 1], row):
                for v in row:
                    head[v] = head[full.upper[full.above[v][0]]]
            else:
                kept.append(r)
        heads = sorted(v for r in kept for v in full.rows[r])
        number = {v: i for i, v in enumerate(heads)}
        new_row = {r: i for i, r in enumerate(kept)}
        self._cells = [{number[head[v]]: v for v in row} for row in full.rows]
        self._kept = new_row
        self.grid = Grid([[] for _ in kept], [new_row[full.row[v]] for v in heads], [WIDE] * len(heads))
        self.grid.rows = [[number[v] for v in full.rows[r]] for r in kept]
        self.grid.ins = full.ins
        nodes = len(full.row) - full.lanes
        if full.rank:
            self.grid.rank = [-1] * len(heads)
            for v in reversed(range(len(full.row))):
                if full.rank[v] >= 0:
                    self.grid.rank[number[head[v]]] = full.rank[v]
        self.grid.lanes = sum(v >= nodes for v in heads)
        wide = [WIDE / (width or 1) for width in full.width]
        self.grid.take_links(
            (number[head[a]], number[head[b]], int(leave * wide[a]), int(enter * wide[b]), pull)
            for a, b, leave, enter, pull in zip(full.upper, full.lower, full.leave, full.enter, full.pull, strict=True)
            if head[a] != head[b]
        )

    def expanded(self, rows: Lists) -> Lists:
        """Returns the rows of the full grid in the order of the contracted one's."""
        out: Lists = []
        at = -1
        for r, cells in enumerate(self._cells):
            at = self._kept.get(r, at)
            out.append([cells[v] for v in rows[at]])
        return out


def _goes_on(grid: Grid, upper: list[int], lower: list[int]) -> bool:
    return (
        len(upper) == len(lower)
        and all(len(grid.above[v]) == 1 for v in lower)
        and all(len(grid.below[v]) == 1 for v in upper)
    )
