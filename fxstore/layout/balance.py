"""Side inputs, such as weights and biases, on both sides of what they join."""

from __future__ import annotations

from collections.abc import Iterator

from fxstore.layout.grid import SPINE, Grid
from fxstore.layout.ordering import Ordering

MOST_BESIDE = 120
"""In a block with more cells in a row side inputs stay where they are: each would take time for all of them."""


def joins(grid: Grid) -> list[tuple[int, int, list[int]]]:
    """Returns cells that several side inputs join, the lowest first.

    A side input is a tree: it has one link down, and above it are only cells that have one, too. What is on the
    longest path is none.

    Returns:
        For each such cell, the cell above it that the longest path or, without one, another link comes from, and its
        side inputs.
    """
    free = [False] * len(grid.row)
    found: list[tuple[int, int, list[int]]] = []
    if max(map(len, grid.rows), default=0) > MOST_BESIDE:
        return found
    for row in grid.rows:
        for v in row:
            above = [grid.upper[k] for k in grid.above[v]]
            side = [u for u in above if free[u]]
            if len(side) == len(above) and len(grid.below[v]) == 1 and grid.pull[grid.below[v][0]] != SPINE:
                free[v] = v >= grid.ins
            elif 1 < len(side) < len(above):
                _, stem = max((grid.pull[k], -grid.upper[k]) for k in grid.above[v] if not free[grid.upper[k]])
                found.append((v, -stem, side))
    return found[::-1]


def balance(state: Ordering, grid: Grid, found: list[tuple[int, int, list[int]]]) -> None:
    """Brings half of the side inputs of each cell to the left of its stem, or all to one side: what adds no crossing.

    Lanes, which come from higher rows and are narrow, are next to the stem. What has a rank keeps its side.

    Args:
        state: Rows in order.
        grid: The cells.
        found: As ``joins`` has it.
    """
    for v, stem, side in found:
        for left, right in _arrangements(state, grid, v, stem, side):
            wanted = [*left, stem, *right]
            if sorted(wanted, key=state.position.__getitem__) == wanted or _shift(state, grid, stem, left, right):
                break


def _arrangements(
    state: Ordering, grid: Grid, v: int, stem: int, side: list[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yields what to put left and right of a stem: half of it each, all to the right, all to the left."""
    side = sorted(side, key=state.position.__getitem__)
    nodes = len(grid.row) - grid.lanes
    wide, lanes = [u for u in side if u < nodes], [u for u in side if u >= nodes]
    if grid.rank:
        goes_left = {u: _goes_left(state, grid, v, stem, u) for u in side}
        yield [u for u in [*wide, *lanes] if goes_left[u]], [u for u in [*lanes, *wide] if not goes_left[u]]
        return
    half, more = len(wide) // 2, (len(lanes) + 1) // 2
    yield [*wide[:half], *lanes[:more]], [*lanes[more:], *wide[half:]]
    yield [], [*lanes, *wide]
    yield [*wide, *lanes], []


def _goes_left(state: Ordering, grid: Grid, v: int, stem: int, tree: int) -> bool:
    """Tells whether a tree's rank is less than that of what it joins; where there is none, whether it is left of it."""
    middle, cells = grid.rank[v] if grid.rank[stem] < 0 else grid.rank[stem], [tree]
    for u in cells:
        cells += [grid.upper[k] for k in grid.above[u]]
    rank = next((grid.rank[u] for u in cells if grid.rank[u] >= 0), -1)
    return rank < middle if min(rank, middle) >= 0 else state.position[tree] < state.position[stem]


def _shift(state: Ordering, grid: Grid, stem: int, left: list[int], right: list[int]) -> bool:
    """Moves trees next to a cell of their lowest row, unless that makes a crossing; tells whether it did."""
    r, before = grid.row[stem], dict[int, list[int]]()
    first, last = [stem], [stem]
    while left or right:
        row = before[r] = state.rows[r]
        moved = {*left, *right}
        rest = [v for v in row if v not in moved]
        begin = min([rest.index(v) for v in first], default=len(rest))
        end = max(max([rest.index(v) for v in last], default=-1) + 1, begin)
        state.set_row(r, [*rest[:begin], *left, *rest[begin:end], *right, *rest[end:]])
        first, last = _next_above(grid, rest[begin:]), _next_above(grid, rest[:end][::-1])
        left, right = ([u for v in part for u in _above(state, grid, v)] for part in (left, right))
        r -= 1
    if not any(state.disobeys(state.rows[r]) for r in before) and state.recount(before):
        return True
    for r, row in before.items():
        state.set_row(r, row)
    return False


def _above(state: Ordering, grid: Grid, v: int) -> list[int]:
    """Returns the cells above one from left to right."""
    return sorted([grid.upper[k] for k in grid.above[v]], key=state.position.__getitem__)


def _next_above(grid: Grid, cells: list[int]) -> list[int]:
    """Returns the cells above the first that has any."""
    return next(([grid.upper[k] for k in grid.above[v]] for v in cells if grid.above[v]), [])
