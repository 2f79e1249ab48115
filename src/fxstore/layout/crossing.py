"""The order of cells in their rows: few crossings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from fxstore.layout.grid import Grid
from fxstore.layout.order import Lists
from fxstore.layout.sugiyama import suggested_rows

SMALL, MEDIUM, LARGE = 100, 3000, 20000
"""Numbers of cells above which less is tried."""
SWAP_COST = 400
"""Neighbours with more pairs of links than this are not swapped."""
PATIENCE = 2
"""After so many sweeps without fewer crossings there are no more."""
HOPELESS = 4
"""An order with so many times the crossings of the best one is not improved by swaps alone."""

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

    def take(self, rows: Lists) -> None:
        """Makes these the rows, and counts their crossings."""
        self.rows = [list(row) for row in rows]
        for row in self.rows:
            self._obey(row)
            self._place(row)
        self.counts = [self._count(row) for row in self.rows]

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

    def crossings(self) -> int:
        """Returns the crossings of all rows."""
        return sum(self.counts)

    def _count(self, row: list[int]) -> int:
        """Counts the crossings between a row and the next."""
        at, total = self.position, 0
        seen: list[float] = []
        for v in row:
            links = self._below[v]
            if len(links) == 1:
                ends = [at[links[0][0]] + links[0][1]]
            else:
                ends = [end for _, end in sorted([(own, at[w] + place) for w, place, own in links])]
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
        keys: dict[int, float] = {}
        for i, v in enumerate(row):
            links = links_of[v]
            if len(links) == 1:
                w, far, own = links[0]
                keys[v] = at[w] + far - own
            else:
                keys[v] = middle([at[w] + far - own for w, far, own in links]) if links else i
        order = sorted(row, key=keys.__getitem__)
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


def candidate_rows(grid: Grid) -> list[tuple[int, Lists]]:
    """Returns ways to order the cells of each row, and the crossings that each has; the fewest first.

    Several starts are improved by sweeps of barycentres and medians and by swaps of neighbours. In a small block the
    first start, which keeps inputs beside each other, and what fast-sugiyama would do are in the list as well.
    """
    cells = len(grid.row)
    state = Ordering(grid)
    sweeps = 8 if cells <= MEDIUM else 4 if cells <= LARGE else 2
    found: list[tuple[int, Lists]] = []
    for start in _starts(grid, cells <= SMALL):
        option = _sweep(state, start, sweeps, cells <= LARGE)
        if not option[0]:
            return [option]
        found.append(option)
        if cells <= SMALL and len(found) == 1:
            found += _swapped(state, start, option[0])
    other = suggested_rows(grid, found[0][1])
    if other is not None:
        found += _swapped(state, other, min([count for count, _ in found]))
    distinct = [option for i, option in enumerate(found) if option not in found[:i]]
    return sorted(distinct, key=lambda option: option[0])


def _swapped(state: Ordering, start: Lists, least: int) -> list[tuple[int, Lists]]:
    """Improves an order by swaps of neighbours, if it is not hopeless: returns its crossings and its rows."""
    state.take(start)
    if state.crossings() > HOPELESS * least:
        return []
    state.swap_neighbours()
    return [(state.crossings(), state.rows)]


def _sweep(state: Ordering, start: Lists, sweeps: int, swaps: bool) -> tuple[int, Lists]:
    """Improves an order; returns its crossings and its rows."""
    state.take(start)
    best, least, failed = [list(row) for row in state.rows], state.crossings(), 0
    for turn in range(sweeps):
        if not least or failed == PATIENCE:
            break
        state.sweep(turn % 2 == 0, _mean if turn % 4 < 2 else _median)
        failed += 1
        if state.crossings() < least:
            best, least, failed = [list(row) for row in state.rows], state.crossings(), 0
    if swaps and least:
        if failed:
            state.take(best)
        state.swap_neighbours()
        return state.crossings(), state.rows
    return least, best


def _starts(grid: Grid, several: bool) -> Iterator[Lists]:
    cells = range(len(grid.row))
    ports_last_first = [*reversed(cells[: grid.ins]), *cells[grid.ins :]]
    yield _visit(grid, ports_last_first, lambda v: _around(grid, v), lambda v: not grid.above[v])
    if several:
        back = reversed(cells)
        yield _visit(grid, back, lambda v: [grid.upper[k] for k in grid.above[v]], lambda v: not grid.below[v])


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
