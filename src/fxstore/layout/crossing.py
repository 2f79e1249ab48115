"""The order of cells in their rows: few crossings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fxstore.layout.balance import balance, joins
from fxstore.layout.grid import SPINE, Grid
from fxstore.layout.order import Lists
from fxstore.layout.ordering import Ordering
from fxstore.layout.sugiyama import suggested_rows

SMALL, MEDIUM, LARGE = 100, 3000, 20000
"""Numbers of cells above which less is tried."""
PATIENCE = 2
"""After so many sweeps without fewer crossings there are no more."""
HOPELESS = 4
"""An order with so many times the crossings of the best one is not improved by swaps alone."""


def candidate_rows(grid: Grid) -> list[tuple[int, Lists]]:
    """Returns the orders of the cells of each row that have the fewest crossings found, and how many each has.

    Several starts are improved by sweeps of barycentres and medians and by swaps of neighbours. In a small block the
    first start, which keeps inputs beside each other, and what fast-sugiyama would do are tried as well.
    """
    cells = len(grid.row)
    state = Ordering(grid)
    sweeps = 8 if cells <= MEDIUM else 4 if cells <= LARGE else 2
    found: list[tuple[int, Lists]] = []
    for start in _starts(grid, cells <= SMALL):
        option = _sweep(state, start, sweeps, cells <= LARGE)
        if not option[0]:
            return _balanced(state, grid, [option])
        found.append(option)
        if cells <= SMALL and len(found) == 1:
            found += _swapped(state, start, option[0])
    other = suggested_rows(grid, found[0][1])
    if other is not None:
        found += _swapped(state, other, min([count for count, _ in found]))
    return _balanced(state, grid, found)


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
    """Yields orders to begin with: from the inputs down, the longest path's first, the others last to first; and up."""
    cells = range(len(grid.row))
    ports = sorted(cells[: grid.ins], key=lambda v: (all(grid.pull[k] != SPINE for k in grid.below[v]), -v))
    yield _visit(grid, [*ports, *cells[grid.ins :]], lambda v: _around(grid, v), lambda v: not grid.above[v])
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
