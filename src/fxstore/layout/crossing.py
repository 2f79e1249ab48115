"""The order of cells in their rows: few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable

from fxstore.layout.grid import Grid
from fxstore.layout.order import Lists
from fxstore.layout.sugiyama import suggested_rows

SMALL, MEDIUM, LARGE = 200, 3000, 20000
"""Numbers of cells above which less is tried."""
SWAP_COST = 400
"""Neighbours with more pairs of links than this are not swapped."""


class Ordering:
    """Rows being ordered. Ends of links lie at ``position`` of the cell plus their place on it, from -.45 to .45."""

    def __init__(self, grid: Grid) -> None:
        """Begins with all cells at 0; the rows are set by ``take``."""
        self.grid = grid
        self.position = [0] * len(grid.row)
        self.upper_place = [0.9 * x / (grid.width[v] or 1) - 0.45 for v, x in zip(grid.upper, grid.leave, strict=True)]
        self.lower_place = [0.9 * x / (grid.width[v] or 1) - 0.45 for v, x in zip(grid.lower, grid.enter, strict=True)]
        self.links: Lists = [[] for _ in grid.rows]
        for link, v in enumerate(grid.upper):
            self.links[grid.row[v]].append(link)

    def take(self, rows: Lists) -> None:
        """Makes these the rows."""
        for row in rows:
            self.place(row)

    def place(self, row: list[int]) -> None:
        """Takes over the order of one row."""
        for i, v in enumerate(row):
            self.position[v] = i

    def crossings(self) -> int:
        """Counts the crossings of all rows."""
        grid, at, total = self.grid, self.position, 0
        for links in self.links:
            ends = sorted(
                (at[grid.upper[k]] + self.upper_place[k], at[grid.lower[k]] + self.lower_place[k]) for k in links
            )
            seen: list[float] = []
            for _, end in ends:
                total += len(seen) - bisect_right(seen, end)
                insort(seen, end)
        return total

    def ends(self, v: int, down: bool) -> list[float]:
        """Returns where the links of a cell end in the row below it, or above it."""
        grid, at = self.grid, self.position
        if down:
            return [at[grid.lower[k]] + self.lower_place[k] for k in grid.below[v]]
        return [at[grid.upper[k]] + self.upper_place[k] for k in grid.above[v]]

    def gain(self, a: int, b: int) -> int:
        """Returns how many crossings go if two neighbours change places; 0 where that takes too long to count."""
        above, below = self.grid.above, self.grid.below
        if not 0 < len(above[a]) * len(above[b]) + len(below[a]) * len(below[b]) <= SWAP_COST:
            return 0
        return sum(_gain(self.ends(a, down), self.ends(b, down)) for down in (False, True))

    def wishes(self, v: int, down: bool) -> list[float]:
        """Returns where the cell would have to lie for each of these links to be straight."""
        grid, at, upper, lower = self.grid, self.position, self.upper_place, self.lower_place
        if down:
            return [at[grid.lower[k]] + lower[k] - upper[k] for k in grid.below[v]]
        return [at[grid.upper[k]] + upper[k] - lower[k] for k in grid.above[v]]


def candidate_rows(grid: Grid) -> list[tuple[int, Lists]]:
    """Returns ways to order the cells of each row, and the crossings that each has; the fewest first.

    Several starts are improved by sweeps of barycentres and medians and by swaps of neighbours. In a small block the
    first start, which keeps inputs beside each other, and what fast-sugiyama would do are in the list as well.
    """
    cells = len(grid.row)
    state = Ordering(grid)
    sweeps = 8 if cells <= MEDIUM else 4 if cells <= LARGE else 2
    found = []
    for start in _starts(grid, cells <= SMALL):
        rows, count = _sweep(state, start, sweeps)
        if count and cells <= LARGE:
            count -= _swap_neighbours(state, rows)
        if not count:
            return [(0, rows)]
        found.append((count, rows))
        if cells <= SMALL and len(found) == 1:
            found.append(_swapped(state, start))
    other = suggested_rows(grid, found[0][1])
    if other is not None:
        found.append(_swapped(state, other))
    distinct = [option for i, option in enumerate(found) if option not in found[:i]]
    return sorted(distinct, key=lambda option: option[0])


def _swapped(state: Ordering, rows: Lists) -> tuple[int, Lists]:
    rows = [list(row) for row in rows]
    state.take(rows)
    count = state.crossings()
    return count - _swap_neighbours(state, rows), rows


def _starts(grid: Grid, several: bool) -> list[Lists]:
    cells = range(len(grid.row))
    ports_last_first = [*reversed(cells[: grid.ins]), *cells[grid.ins :]]
    down = _visit(grid, ports_last_first, lambda v: _around(grid, v), lambda v: not grid.above[v])
    if not several:
        return [down]
    back = reversed(cells)
    up = _visit(grid, back, lambda v: [grid.upper[k] for k in grid.above[v]], lambda v: not grid.below[v])
    return [down, up, [sorted(row) for row in grid.rows]]


def _around(grid: Grid, v: int) -> list[int]:
    """Returns the cells above one, then those below; a lane among leaves stands in the middle, as stem of a fan."""
    cells = [grid.lower[k] for k in grid.below[v]]
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


def _sweep(state: Ordering, start: Lists, sweeps: int) -> tuple[Lists, int]:
    rows = [list(row) for row in start]
    state.take(rows)
    best, least = [list(row) for row in rows], state.crossings()
    failed = 0
    for turn in range(sweeps):
        if not least or failed == 4:
            break
        down = turn % 2 == 0
        middle = _mean if turn % 4 < 2 else _median
        for row in rows[1:] if down else rows[-2::-1]:
            _sort_row(state, row, down, middle)
        count = state.crossings()
        failed += 1
        if count < least:
            best, least, failed = [list(row) for row in rows], count, 0
    state.take(best)
    return best, least


def _sort_row(state: Ordering, row: list[int], down: bool, middle: Callable[[list[float]], float]) -> None:
    at = state.position
    keys = {}
    for v in row:
        ends = state.wishes(v, not down)
        keys[v] = (middle(ends) if ends else float(at[v]), at[v])
    row.sort(key=keys.__getitem__)
    state.place(row)


def _mean(ends: list[float]) -> float:
    return sum(ends) / len(ends)


def _median(ends: list[float]) -> float:
    ends.sort()
    half = len(ends) // 2
    return ends[half] if len(ends) % 2 else (ends[half - 1] + ends[half]) / 2


def _swap_neighbours(state: Ordering, rows: Lists) -> int:
    """Swaps neighbours while that helps, in place; returns how many crossings are gone."""
    at = state.position
    gone = 0
    for _ in range(4):
        before = gone
        for row in rows:
            for i in range(len(row) - 1):
                a, b = row[i], row[i + 1]
                gain = state.gain(a, b)
                if gain > 0:
                    row[i], row[i + 1] = b, a
                    at[a], at[b] = i + 1, i
                    gone += gain
        if gone == before:
            break
    return gone


def _gain(left: list[float], right: list[float]) -> int:
    """Returns how many crossings of the links of two neighbours a swap takes away."""
    gain = 0
    for x in left:
        for y in right:
            gain += (x > y) - (x < y)
    return gain
