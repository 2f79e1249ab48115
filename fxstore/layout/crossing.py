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
HOPEFUL = 1.5
"""Of two starts, one with so many times the crossings of the other is not swept."""
HOPELESS = 4
"""An order with so many times the crossings of the best one is not improved by swaps alone."""


def candidate_rows(grid: Grid) -> list[tuple[int, Lists]]:
    """Returns the orders of the cells of each row that have the fewest crossings found, and how many each has.

    A start is improved by sweeps of barycentres and medians and by swaps of neighbours. In a small block swaps alone,
    a second start and what fast-sugiyama would do are tried as well, until nothing crosses; swaps alone come last.
    """
    cells = len(grid.row)
    state = Ordering(grid)
    if cells > SMALL:
        sweeps = 8 if cells <= MEDIUM else 4 if cells <= LARGE else 2
        return _balanced(state, grid, [_sweep(state, _from_inputs(grid), sweeps, cells <= LARGE)])
    found, starts = list[tuple[int, Lists]](), list[tuple[int, Lists]]()
    for option in _tries(state, grid, starts, found):
        if not option[0]:
            return _balanced(state, grid, [option])
        found.append(option)
    return _balanced(state, grid, [*found[1:], found[0]])


def _tries(
    state: Ordering, grid: Grid, starts: list[tuple[int, Lists]], found: list[tuple[int, Lists]]
) -> Iterator[tuple[int, Lists]]:
    """Yields orders and their crossings; ``found`` are those that were yielded, ``starts`` becomes those begun with."""
    for start in (_from_inputs, _from_outputs):
        state.take(start(grid))
        starts.append((state.crossings(), [list(row) for row in state.rows]))
        if start is _from_outputs and starts[-1][0]:
            break
        state.swap_neighbours()
        yield state.crossings(), state.rows
    least = min(starts)[0]
    for count, rows in sorted(starts, key=lambda option: option[0]):
        if count <= HOPEFUL * least:
            yield _sweep(state, rows, 8, True)
    other = suggested_rows(grid, starts[0][1])
    if other is not None:
        state.take(other)
        if state.crossings() <= HOPELESS * min(found)[0]:
            state.swap_neighbours()
            yield state.crossings(), state.rows


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


def _sweep(state: Ordering, start: Lists, sweeps: int, swaps: bool) -> tuple[int, Lists]:
    """Improves an order; returns its crossings and its rows."""
    state.take(start)
    best, counts, least, failed = [list(row) for row in state.rows], list(state.counts), state.crossings(), 0
    for turn in range(sweeps):
        if not least or failed == PATIENCE:
            break
        state.sweep(turn % 2 == 0, _mean if turn % 4 < 2 else _median)
        failed += 1
        if state.crossings() < least:
            best, counts, least, failed = [list(row) for row in state.rows], list(state.counts), state.crossings(), 0
    if swaps and least:
        if failed:
            state.take(best, counts)
        state.swap_neighbours()
        return state.crossings(), state.rows
    return least, best


def _from_inputs(grid: Grid) -> Lists:
    """Returns the order of a walk down: the longest path's input port first, the other ports from last to first."""
    cells = range(len(grid.row))
    ports = sorted(cells[: grid.ins], key=lambda v: (all(grid.pull[k] != SPINE for k in grid.below[v]), -v))
    return _visit(grid, [*ports, *cells[grid.ins :]], lambda v: _around(grid, v), lambda v: not grid.above[v])


def _from_outputs(grid: Grid) -> Lists:
    """Returns the order of a walk up."""
    cells = reversed(range(len(grid.row)))
    return _visit(grid, cells, lambda v: [grid.upper[k] for k in grid.above[v]], lambda v: not grid.below[v])


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
