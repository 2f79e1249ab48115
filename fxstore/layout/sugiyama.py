"""A second opinion on the order of rows, from the fast-sugiyama library.

The library (0.5.3) hangs on repeated edges, dies on self loops, and is silently wrong on unconnected graphs and on ids
with gaps. On connected, acyclic graphs without repeats, of under a hundred nodes numbered from 0, none of this was
seen; only those are given to it.
"""

from __future__ import annotations

from fast_sugiyama import from_edges

from fxstore.layout.grid import Grid
from fxstore.layout.order import Lists

MAX_CELLS = 100


def suggested_rows(grid: Grid, rows: Lists) -> Lists | None:
    """Returns the rows in the order in which fast-sugiyama would draw them, or None where it is not safe to ask."""
    edges = sorted(set(zip(grid.upper, grid.lower, strict=True)))
    if not _is_safe(len(grid.row), edges):
        return None
    layouts = from_edges(
        edges, dummy_vertices=False, ranking_type="up", crossing_minimization="barycenter", transpose=False
    )
    if len(layouts) != 1:
        return None
    x = {int(v): float(place[0]) for v, place in layouts[0][0]}
    if len(x) != len(grid.row):
        return None
    return [sorted(row, key=lambda v: x[v]) for row in rows]


def _is_safe(cells: int, edges: list[tuple[int, int]]) -> bool:
    """Tells whether a graph without repeats, whose edges all go one row down, is small and connected."""
    if not 2 <= cells < MAX_CELLS:
        return False
    part = list(range(cells))
    parts = cells
    for a, b in edges:
        while part[a] != a:
            a = part[a]
        while part[b] != b:
            b = part[b]
        if a != b:
            part[max(a, b)] = min(a, b)
            parts -= 1
    return parts == 1
