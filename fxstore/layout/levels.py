"""Rows that keep what stood above what in another drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fxstore.layout.order import Lists

Doubles = npt.NDArray[np.float64]
Span = tuple[int, int]
"""Where an item's upper and its lower border stood, as places among the heights of all borders of its block."""


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
