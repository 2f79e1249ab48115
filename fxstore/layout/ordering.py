r"""Rows while they are being ordered, and the crossings that they have.

Two links between neighbouring rows cross where their upper ends have one order and their lower ends the other. Read
the lower ends in the order of the upper ones: crossings are the inversions of that list (Barth, Jünger and Mutzel, GD
2002), counted here by insertion::

    upper   a     b          ends in the order a, b:  2, 1
             \   /
              \ /           one inversion: one crossing
              / \
    lower   1     2

``counts`` holds them per pair of rows, and every move keeps it right: after a change only the two pairs around that
row are counted again. Sorting a row by barycentres or medians (Eades and Wormald, Algorithmica 1994) and swapping
neighbours are the moves. Counting is near to linear while rows are nearly sorted, and quadratic in a row at worst.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from fxstore.layout.grid import Grid
from fxstore.layout.model import Lists

SWAP_COST = 400
"""Neighbours with more pairs of links than this are not swapped: each pair is looked at."""

Link = tuple[int, float, float]
"""The cell at a link's other end, the link's place there, and its place at this end."""
Middle = Callable[[list[float]], float]


class Ordering:
    """Rows being ordered.

    An end of a link lies at ``position`` of its cell plus its place on it, from -.45 to .45.

    Attributes:
        rows: The cells of each row, in order.
        position: Of each cell in its row.
        counts: Crossings between each row and the next.
    """

    def __init__(self, grid: Grid) -> None:
        """Begins without an order; ``take`` sets one."""
        self.rows: Lists = []
        self.position = [0] * len(grid.row)
        self.counts: list[int] = []
        self._rank = grid.rank
        leave, enter = grid.spots()
        self._above = [[(grid.upper[k], leave[k], enter[k]) for k in links] for links in grid.above]
        self._below = [[(grid.lower[k], enter[k], leave[k]) for k in links] for links in grid.below]

    def take(self, rows: Lists, counts: list[int] | None = None) -> None:
        """Makes these the rows, and counts their crossings if they are not known."""
        self.rows = [list(row) for row in rows]
        for row in self.rows:
            if counts is None:
                self._obey(row)
            self._place(row)
        self.counts = [self._count(row) for row in self.rows] if counts is None else list(counts)

    def _place(self, row: list[int]) -> None:
        for i, v in enumerate(row):
            self.position[v] = i

    def _obey(self, row: list[int]) -> None:
        """Puts those cells of a row whose order is given into that order, in the places that they have together."""
        if not self._rank or len(row) < 2:
            return
        places = [i for i, v in enumerate(row) if self._rank[v] >= 0]
        for i, v in zip(places, sorted([row[i] for i in places], key=self._rank.__getitem__), strict=True):
            row[i] = v

    def set_row(self, r: int, row: list[int]) -> None:
        """Makes this the order of a row; crossings are not counted anew."""
        self.rows[r] = row
        self._place(row)

    def recount(self, rows: Iterable[int]) -> bool:
        """Counts the crossings below some rows; keeps the new counts, and returns true, if they are no more."""
        counts = {r: self._count(self.rows[r]) for r in rows}
        if sum(counts.values()) > sum([self.counts[r] for r in counts]):
            return False
        for r, count in counts.items():
            self.counts[r] = count
        return True

    def disobeys(self, row: list[int]) -> bool:
        """Tells whether cells of a row whose order is given have another one."""
        ranks = [self._rank[v] for v in row if self._rank[v] >= 0] if self._rank else []
        return ranks != sorted(ranks)

    def crossings(self) -> int:
        """Returns the crossings of all rows."""
        return sum(self.counts)

    def _count(self, row: list[int]) -> int:
        """Counts the crossings between a row and the next."""
        at, below = self.position, self._below
        ends: list[float] = []
        for v in row:
            links = below[v]
            if len(links) == 1:
                w, place, _ = links[0]
                ends.append(at[w] + place)
            elif links:
                ends += [end for _, end in sorted([(own, at[w] + place) for w, place, own in links])]
        if ends == sorted(ends):
            return 0
        total = 0
        seen: list[float] = []
        for end in ends:
            if not seen or end >= seen[-1]:
                seen.append(end)
            else:
                i = bisect_right(seen, end)
                total += len(seen) - i
                seen.insert(i, end)
        return total

    def sweep(self, down: bool, middle: Middle) -> None:
        """Sorts each row by the middle of where its links come from, from the top down or from the bottom up."""
        links_of = self._above if down else self._below
        last = len(self.rows) - 1
        stale = set()
        for r in range(1, last + 1) if down else range(last - 1, -1, -1):
            if self._sort(self.rows[r], links_of, middle):
                stale |= {r - 1, r}
        for r in stale:
            if r >= 0:
                self.counts[r] = self._count(self.rows[r])

    def _sort(self, row: list[int], links_of: list[list[Link]], middle: Middle) -> bool:
        """Sorts a row by where each cell would have to lie for its links to be straight; tells if that changed it."""
        if len(row) < 2:
            return False
        at = self.position
        keys: list[float] = []
        for i, v in enumerate(row):
            links = links_of[v]
            if len(links) == 1:
                w, far, own = links[0]
                keys.append(at[w] + far - own)
            else:
                keys.append(middle([at[w] + far - own for w, far, own in links]) if links else i)
        if not self._rank and keys == sorted(keys):
            return False
        order = [row[i] for i in sorted(range(len(row)), key=keys.__getitem__)]
        self._obey(order)
        if order == row:
            return False
        row[:] = order
        self._place(row)
        return True

    def swap_neighbours(self) -> None:
        """Swaps neighbours while that takes crossings away."""
        stale = set(range(len(self.rows)))
        for _ in range(4):
            changed: set[int] = set()
            for r, row in enumerate(self.rows):
                near = r in stale or r - 1 in changed
                if near and len(row) > 1 and (self.counts[r] or self.counts[r - 1]) and self._swap_row(r, row):
                    changed |= {r - 1, r, r + 1}
            if not changed:
                return
            stale = changed

    def _swap_row(self, r: int, row: list[int]) -> bool:
        at, swapped = self.position, False
        above = {v: _ends(at, self._above[v]) for v in row}
        below = {v: _ends(at, self._below[v]) for v in row}
        for i in range(len(row) - 1):
            a, b = row[i], row[i + 1]
            if self._rank and -1 < self._rank[a] < self._rank[b]:
                continue
            if len(above[a]) * len(above[b]) + len(below[a]) * len(below[b]) > SWAP_COST:
                continue
            up, down = _gain(above[a], above[b]), _gain(below[a], below[b])
            if up + down > 0:
                row[i], row[i + 1] = b, a
                at[a], at[b] = i + 1, i
                self.counts[r - 1] -= up
                self.counts[r] -= down
                swapped = True
        return swapped


def _ends(at: list[int], links: list[Link]) -> list[float]:
    if len(links) == 1:
        return [at[links[0][0]] + links[0][1]]
    return sorted([at[w] + place for w, place, _ in links])


def _gain(left: list[float], right: list[float]) -> int:
    """Returns how many crossings go if two neighbours, whose links end here in order, change places."""
    if not left or not right:
        return 0
    if left[-1] <= right[0]:
        return left.count(right[0]) * right.count(right[0]) - len(left) * len(right)
    gain = 0
    for x in left:
        for y in right:
            gain += (x > y) - (x < y)
    return gain
