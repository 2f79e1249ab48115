r"""The row of every cell of a block.

1. *Longest path*: a cell stands one row below the lowest that it follows. It makes the fewest rows.
2. *Tighten*: a cell with more users than inputs, or a tree of sources, moves down to its users: shorter wires.
3. *Lift*: a cell with many weights has two of them in the row above it; others go higher where that is narrower.
4. *Keep*: beside another drawing, what stood above something still does (``same_order``).
5. *Fold*: a row that is much wider than a screen is broken into several.

::

    w1 w2 w3 w4          w3 w4
      \ \ / /     ->    w1 w2
        add                add

The invariant after each step: every wire goes at least one row down. Each step is linear in cells and wires.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from fxstore.layout.model import GAP_X, GAP_Y, Lists, Problem
from fxstore.layout.same_order import keeps_levels, level_rows

ROUNDS = 4
"""How often edges are shortened; more has no effect on real graphs."""
SIDES = 2
"""So many side inputs of a cell are in the row above it: one on either side of its stem."""
LIFTS = 2
"""The others are at most so many rows higher, so that they are still seen with what takes them."""
MOST_PASSED = 120
"""Nothing is lifted past a row with a cell of more pixels: its wire would be longer than what it saves."""
WHOLE_ROW = 3000
"""A row up to this many pixels wide is never folded: two screens."""
ROW_WIDTH = 1500
"""Folded rows are at least about this many pixels wide: one screen."""
ROW_SHARE = 1.5
"""Folded rows are about so many times as wide as a square that would hold the block's items."""


def assign_rows(problem: Problem) -> list[int]:
    """Returns the row of each cell: every wire goes down, input ports are first, output ports last."""
    succ, pred = _neighbours(problem)
    row = [0] * len(pred)
    for v in range(problem.ins, len(pred)):
        row[v] = max([row[u] + 1 for u in pred[v]], default=1 if problem.ins else 0)
    _tighten(problem, row, succ, pred, ())
    _lift(problem, row, succ, pred, ())
    if problem.span and not _keeps(problem, row):
        span = [*[None] * problem.ins, *problem.span, *[None] * problem.outs]
        found = level_rows(pred, span, 1 if problem.ins else 0, problem.ins)
        if found is not None:
            row = found
            _tighten(problem, row, succ, pred, span)
            _lift(problem, row, succ, pred, span)
    return _fold(problem, row)


def _keeps(problem: Problem, row: list[int]) -> bool:
    known = [(*pair, row[problem.ins + i]) for i, pair in enumerate(problem.span) if pair]
    table = np.array(known, np.int64).reshape(-1, 3)
    return keeps_levels(table[:, 0].astype(np.float64), table[:, 1].astype(np.float64), table[:, 2])


def _neighbours(problem: Problem) -> tuple[Lists, Lists]:
    cells = range(len(problem.width))
    succ: Lists = [[] for _ in cells]
    pred: Lists = [[] for _ in cells]
    for source, target in sorted({(w.source, w.target) for w in problem.wires}):
        succ[source].append(target)
        pred[target].append(source)
    return succ, pred


def _tighten(problem: Problem, row: list[int], succ: Lists, pred: Lists, kept: Sequence[object]) -> None:
    """Moves cells down where that makes wires shorter: trees of sources, and what has more users than inputs.

    What has anything in ``kept`` stays in its row.
    """
    last = len(row) - problem.outs
    bottom = max(row[:last], default=0) + 1
    row[last:] = [bottom] * problem.outs
    free = [False] * len(row)
    for v in range(problem.ins, last):
        free[v] = len(succ[v]) == 1 and all(free[u] for u in pred[v])
    loose = []
    for v in range(last - 1, problem.ins - 1, -1):
        if succ[v] and (free[v] or len(succ[v]) > sum([not free[u] for u in pred[v]])) and not (kept and kept[v]):
            loose.append(v)
    for _ in range(ROUNDS):
        moved = False
        for v in loose:
            lowest = min([row[w] for w in succ[v]]) - 1
            if lowest > row[v]:
                row[v] = lowest
                moved = True
        if not moved:
            return


def _lift(problem: Problem, row: list[int], succ: Lists, pred: Lists, kept: Sequence[object]) -> None:
    """Moves single sources of a cell that has several to the rows above, where these are less wide.

    What has anything in ``kept`` stays in its row.
    """
    wide = [t for t, inputs in enumerate(pred) if len(inputs) > SIDES]
    if not wide:
        return
    used: dict[int, int] = {}
    for v, r in enumerate(row):
        used[r] = used.get(r, 0) + problem.width[v] + GAP_X
    first = 1 if problem.ins else 0
    tall = {row[v] for v in range(len(row)) if problem.height[v] > MOST_PASSED}
    for t in sorted(wide, key=lambda t: -row[t]):
        near = row[t] - 1
        loose = [u for u in pred[t] if row[u] == near and u >= problem.ins and not pred[u] and len(succ[u]) == 1]
        for u in reversed(loose[SIDES:] if len(loose) < len(pred[t]) else []):
            if kept and kept[u]:
                continue
            width, best = problem.width[u] + GAP_X, near
            for r in range(near - 1, max(first, near - LIFTS) - 1, -1):
                if r + 1 in tall:
                    break
                if used.get(r, 0) + width <= used[best] - width:
                    best = r
            used[near] -= width
            used[best] = used.get(best, 0) + width
            row[u] = best


def _fold(problem: Problem, row: list[int]) -> list[int]:
    """Breaks rows that are too wide for the block into several, and numbers the rows that are left from 0."""
    members: dict[int, list[int]] = {}
    for v, r in enumerate(row):
        members.setdefault(r, []).append(v)
    folded = [0] * len(row)
    number = 0
    for r in sorted(members):
        for part in _parts(problem, members[r]):
            for v in part:
                folded[v] = number
            number += 1
    return folded


def _parts(problem: Problem, members: list[int]) -> Lists:
    """Cuts a row of items into parts of about equal width; a row of ports is never cut."""
    total = sum([problem.width[v] for v in members]) + GAP_X * len(members)
    if total <= WHOLE_ROW or not problem.is_item(members[0]):
        return [members]
    items = range(problem.ins, len(problem.width) - problem.outs)
    area = sum([(problem.width[v] + GAP_X) * (problem.height[v] + GAP_Y) for v in items])
    widest = max([problem.width[v] for v in items])
    limit = int(max(ROW_WIDTH, ROW_SHARE * sqrt(area), 1.2 * widest))
    if total <= limit:
        return [members]
    share = total / ceil(total / limit)
    parts: Lists = [[]]
    used = 0
    for v in members:
        width = problem.width[v] + GAP_X
        if parts[-1] and used + width / 2 > share * len(parts):
            parts.append([])
        parts[-1].append(v)
        used += width
    return parts
