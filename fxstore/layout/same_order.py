r"""Drawings beside each other in one order: whether they have it, and rows that keep what stood above what.

Two stages of one model stand side by side. A reader follows a layer from pane to pane, so counterparts keep their order
in a row, and what stood above something stays above it::

    left pane      right pane
     a    b         a    b         a, b in one order; q is new; c stays below both
      \  /          |   q
       c             \ /
                      c

The second is a longest path with more constraints (:func:`level_rows`): besides cells there are points in time, one
for each height at which a counterpart's box begins or ends. A cell follows the time at which its counterpart began, and
a time follows all cells whose counterparts had ended. Where this has a cycle, the other drawing has something upside
down, and rows are left as they are. Cost is linear in cells, links and heights, but for sorting the heights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fxstore.layout.model import Doubles, Drawing, Lists

Span = tuple[int, int]
"""Where an item's upper and its lower border stood, as places among the heights of all borders of its block."""


def agrees(drawing: Drawing, wishes: npt.ArrayLike, heights: npt.ArrayLike) -> bool:
    """Tells whether rows have the order of their counterparts, sidewards and downwards: no new drawing is needed.

    Args:
        drawing: Any drawing that ``draw`` made; one that cannot be folded has no rows, and agrees.
        wishes: (n, 2) place of each node's counterpart in another drawing, NaN where it has none; a block's x is the
            mean of what it holds, and it reaches from the highest border to the lowest.
        heights: (n) of the nodes' boxes.
    """
    folding, n = drawing.folding, len(drawing.x)
    blocks = len(folding.parent)
    wish, x = np.full(n + blocks, np.nan), np.empty(n + blocks)
    places, tall = np.asarray(wishes, np.float64).reshape(-1, 2), 2 * np.maximum(np.ceil(np.asarray(heights) / 2), 1)
    wish[:n], x[:n] = places[:, 0], drawing.x
    low, high = (np.concatenate([places[:, 1] + side * tall / 2, np.full(blocks, np.nan)]) for side in (-1, 1))
    x[n:] = folding.closed[:, 0] + folding.closed[:, 1] / 2
    home = np.searchsorted(folding.first_row, folding.row, side="right") - 1
    inner = np.flatnonzero(folding.row >= 0)
    inner = inner[np.argsort(home[inner], kind="stable")]
    starts = np.searchsorted(home[inner], np.arange(blocks + 1))
    for block in range(blocks - 1, -1, -1):
        held = inner[starts[block] : starts[block + 1]]
        held = held[~np.isnan(wish[held])]
        if len(held):
            wish[n + block], low[n + block], high[n + block] = (
                wish[held].mean(),
                np.fmin.reduce(low[held]),
                np.fmax.reduce(high[held]),
            )
            held = held[~np.isnan(low[held])]
            if not keeps_levels(low[held], high[held], folding.row[held]):
                return False
    shown = inner[~np.isnan(wish[inner])]
    shown = shown[np.lexsort((x[shown], folding.row[shown]))]
    same_row = folding.row[shown][1:] == folding.row[shown][:-1]
    return bool((np.diff(wish[shown])[same_row] >= 0).all())


def keeps_levels(low: Doubles, high: Doubles, row: npt.NDArray[np.integer]) -> bool:
    """Tells whether what stood above something is in a higher row, and what stood at one height in one row.

    Args:
        low, high: (k) upper and lower border of each item in the other drawing.
        row: (k) its row in this one.
    """
    by_foot = np.argsort(high, kind="stable")
    lowest = np.maximum.accumulate(row[by_foot]) if len(row) else row
    above = np.searchsorted(high[by_foot], low, side="left")
    if (lowest[above[above > 0] - 1] >= row[above > 0]).any():
        return False
    order = np.lexsort((row, high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    return not (same & (np.diff(row[order]) != 0)).any()


def spans(low: Doubles, high: Doubles) -> tuple[Span | None, ...]:
    """Returns the span of each item of a block, None where a border is NaN."""
    heights = np.unique(np.concatenate([low, high]))
    tops, feet = np.searchsorted(heights, low).tolist(), np.searchsorted(heights, high).tolist()
    unknown = np.isnan(low).tolist()
    return tuple(None if none else (top, foot) for none, top, foot in zip(unknown, tops, feet, strict=True))


def level_rows(pred: Lists, span: Sequence[Span | None], base: int, ins: int) -> list[int] | None:
    """Returns the row of each cell: below all that it follows, and below all that its counterpart stood below.

    Args:
        pred: The cells above each cell.
        span: Of each cell, None where it has no counterpart.
        base: The first row of what is no input port.
        ins: How many are input ports, the first cells.

    Returns:
        The rows, or None where both cannot be: then the other drawing has something upside down.
    """
    cells = len(pred)
    times = 1 + max([foot for pair in span if pair for foot in pair], default=-1)
    leader = list(range(cells))
    first: dict[Span, int] = {}
    for v, pair in enumerate(span):
        if pair:
            leader[v] = first.setdefault(pair, v)
    # After the cells come points in time, one per border's height: each as low as all that has ended before it.
    after: list[list[tuple[int, int]]] = [[] for _ in range(cells + times + 1)]
    for v in range(cells):
        for u in pred[v]:
            after[leader[u]].append((leader[v], 1))
    for pair, v in first.items():
        after[v].append((cells + pair[1] + 1, 1))
        after[cells + pair[0]].append((v, 0))
    for t in range(cells, cells + times):
        after[t].append((t + 1, 0))
    row = _longest(after, [0 if v < ins or v >= cells else base for v in range(cells + times + 1)])
    return None if row is None else [row[leader[v]] for v in range(cells)]


def _longest(after: list[list[tuple[int, int]]], row: list[int]) -> list[int] | None:
    """Returns the longest way to each vertex, at least its ``row``; None where there is a cycle."""
    missing = [0] * len(after)
    for links in after:
        for w, _ in links:
            missing[w] += 1
    ready = [v for v, count in enumerate(missing) if not count]
    done = 0
    while ready:
        v = ready.pop()
        done += 1
        for w, step in after[v]:
            row[w] = max(row[w], row[v] + step)
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return row if done == len(after) else None
