"""The x of every cell where straight lines would make a block too wide: near its neighbours, rows packed.

Each row in turn is put where the squared lengths of its links are least, cells keeping their distance: isotonic
regression by pooling adjacent violators (Ayer et al., Ann. Math. Stat. 1955), linear in the row.
"""

from __future__ import annotations

from fxstore.layout.grid import Grid

ROUNDS, MANY, FEW_ROUNDS = 6, 20_000, 2
"""How often each row is settled, and how often in a block of more than so many cells."""
PULL = (1, 2, 8)
"""Weight of a link by its pull."""


def relax_cells(grid: Grid, gaps: list[list[int]]) -> list[int]:
    """Returns the left border of each cell.

    Args:
        grid: The block, rows in order.
        gaps: For each row the least distances between the left borders of neighbours.
    """
    x = [0.0] * len(grid.row)
    starts = []
    for row, apart in zip(grid.rows, gaps, strict=True):
        at = [0]
        for step in apart:
            at.append(at[-1] + step)
        starts.append(at)
        middle = (at[-1] + grid.width[row[-1]]) / 2
        for v, left in zip(row, at, strict=True):
            x[v] = left - middle
    numbers = range(len(grid.rows))
    for turn in range(ROUNDS if len(x) <= MANY else FEW_ROUNDS):
        for r in numbers if turn % 2 == 0 else reversed(numbers):
            _settle(grid, x, grid.rows[r], starts[r])
    return _whole(grid, x, gaps)


def _settle(grid: Grid, x: list[float], row: list[int], at: list[int]) -> None:
    """Moves one row to the mean of its neighbours."""
    pools: list[list[float]] = []
    for v, offset in zip(row, at, strict=True):
        wish, weight = _wish(grid, x, v)
        pools.append([(wish - offset) * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            total, weight, count = pools.pop()
            pools[-1] = [pools[-1][0] + total, pools[-1][1] + weight, pools[-1][2] + count]
    i = 0
    for total, weight, count in pools:
        for _ in range(int(count)):
            x[row[i]] = total / weight + at[i]
            i += 1


def _wish(grid: Grid, x: list[float], v: int) -> tuple[float, float]:
    """Returns where a cell wants to be, and how much."""
    total = weight = 0.0
    for k in grid.above[v]:
        pull = PULL[grid.pull[k]]
        total += pull * (x[grid.upper[k]] + grid.leave[k] - grid.enter[k])
        weight += pull
    for k in grid.below[v]:
        pull = PULL[grid.pull[k]]
        total += pull * (x[grid.lower[k]] + grid.enter[k] - grid.leave[k])
        weight += pull
    return (total / weight, weight) if weight else (x[v], 0.1)


def _whole(grid: Grid, x: list[float], gaps: list[list[int]]) -> list[int]:
    """Rounds to whole pixels without bringing neighbours too near."""
    out = [int(a // 1) for a in x]
    for row, apart in zip(grid.rows, gaps, strict=True):
        for a, b, step in zip(row, row[1:], apart, strict=False):
            out[b] = max(out[b], out[a] + step)
    return out
