"""A block of more wires than lanes can be ordered for: rows, and all longer wires beside them.

No model looks like that; random graphs do. Boxes are packed in rows, ordered by barycentres. A wire to the next row is
drawn straight; a longer one runs down a track at the left or the right end of the rows::

    │ ┌─┐ ┌─┐ ┌─┐
    ├─┘a│ │b│ │c├─┐      a and c have wires that pass a row: on tracks
    │ └─┘ └┬┘ └─┘ │
    │     ┌┴┐     │      b's next row is near: a straight wire
    │     │d│     │
    └─┐   └─┘   ┌─┘
     ┌┴┐       ┌┴┐

So the time is linear in nodes and wires, and no wire crosses a box. Tracks are numbered as intervals are coloured, with
as few as can be (a sweep with a heap of free ones).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from fxstore.layout.model import GAP_PORTS, GAP_X, GAP_Y, HEAD, LANE, PAD, Doubles, Ints, Longs, Marks, Problem, Shape

SWEEPS = 8
"""How often rows are sorted."""
TRACK_SHARE = 4
"""The tracks of one side take at most this part of the rows' width; wires then share them."""
LEAST_TRACKS = 60


@dataclass(frozen=True)
class _Ends:
    """Both ends of each wire, and where on its cell each end is."""

    source: Longs
    target: Longs
    lane: Longs
    leave: Longs
    enter: Longs


def solve_tangle(problem: Problem, row: list[int]) -> Shape:
    """Lays out one block whose cells have their rows."""
    rows = np.array(row, np.int64)
    ends = _Ends(*np.array([w[:5] for w in problem.wires], np.int64).reshape(-1, 5).T)
    width, height = np.array(problem.width, np.int64), np.array(problem.height, np.int64)
    left = _pack(rows, _ordered(rows, width, ends), width)
    side, head = (PAD, HEAD) if problem.boxed else (0, 0)
    track = _tracks(rows, left, width, ends)
    least = min(left.min(initial=0), track.min(initial=0) - LANE // 2) - side
    left, track = left - least, track - least
    upper, lower = _borders(rows, height, head)
    has_above = np.bincount(ends.target, minlength=len(rows)) > 0
    has_below = np.bincount(ends.source, minlength=len(rows)) > 0
    lie = np.where(has_above, np.where(has_below, 1, 0), 2)  # in the middle, at the top, at the bottom of its row
    top = upper[rows] + (lower[rows] - upper[rows] - height) * lie // 2
    corners, offsets = _corners(problem, ends, rows, left, top + height, top, track, (upper, lower, lower[-1] + side))
    items, last = slice(problem.ins, len(rows) - problem.outs), len(rows) - problem.outs
    return Shape(
        int(max((left + width).max(initial=0), track.max(initial=0) + LANE // 2)) + side,
        int(lower[-1]) + side,
        (left[: problem.ins] + LANE // 2).tolist(),
        (left[last:] + LANE // 2).tolist(),
        left[items].astype(np.int32),
        top[items].astype(np.int32),
        rows[items].astype(np.int32),
        len(upper),
        corners,
        offsets,
    )


def _ordered(rows: Longs, width: Longs, ends: _Ends) -> Doubles:
    """Returns keys that sort each row: where the neighbours of each cell are."""
    cells = len(rows)
    key = np.arange(cells, dtype=np.float64)
    for turn in range(SWEEPS):
        middle = _pack(rows, key, width) + width / 2
        near, far = (ends.target, ends.source) if turn % 2 == 0 else (ends.source, ends.target)
        count = np.bincount(near, minlength=cells)
        total = np.bincount(near, weights=middle[far], minlength=cells)
        key = np.where(count > 0, total / np.maximum(count, 1), middle)
    return key


def _pack(rows: Longs, key: Doubles, width: Longs) -> Longs:
    """Returns the left border of each cell: rows in the order of the keys, centred around 0."""
    order = np.lexsort((key, rows))
    step = width[order] + GAP_X
    at = np.cumsum(step) - step
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    length = np.add.reduceat(step, starts) if len(order) else step
    of = np.cumsum(np.diff(rows[order], prepend=-1) != 0) - 1
    left = np.empty(len(rows), np.int64)
    left[order] = at - at[starts][of] - length[of] // 4 * 2
    return left


def _borders(rows: Longs, height: Longs, head: int) -> tuple[Longs, Longs]:
    """Returns the upper and the lower border of each row."""
    tall = np.zeros(int(rows.max(initial=0)) + 1, np.int64)
    np.maximum.at(tall, rows, height)
    gap = np.full(len(tall), GAP_Y)
    gap[1:][(tall[1:] == 0) | (tall[:-1] == 0)] = GAP_PORTS
    gap[0] = head
    lower = np.cumsum(tall + gap)
    return lower - tall, lower


def _tracks(rows: Longs, left: Longs, width: Longs, ends: _Ends) -> Longs:
    """Returns the x of the track of each wire; of those of wires to the next row too, which do not use it."""
    long: Marks = rows[ends.target] > rows[ends.source] + 1
    lanes, of = np.unique(ends.lane[long], return_inverse=True)
    first, last = np.full(len(lanes), len(rows)), np.zeros(len(lanes), np.int64)
    np.minimum.at(first, of, rows[ends.source[long]] + 1)
    np.maximum.at(last, of, rows[ends.target[long]] - 1)
    x = np.bincount(of, weights=left[ends.source[long]] + left[ends.target[long]], minlength=len(lanes))
    right, edge = x >= 0, int((left + width).max(initial=0))
    most = max(LEAST_TRACKS, edge // TRACK_SHARE // LANE)
    place = np.zeros(len(lanes), np.int64)
    for side in (right, ~right):
        place[side] = _first_free(first[side], last[side])
    place = edge + GAP_X + LANE * (place % most)
    track = np.full(len(rows[ends.source]), edge)
    track[long] = np.where(right, place, -place)[of]
    return track


def _first_free(first: Longs, last: Longs) -> Longs:
    """Numbers intervals so that those with a row in common differ, with as few numbers as can be."""
    number = np.zeros(len(first), np.int64)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for i in np.argsort(first, kind="stable").tolist():
        while busy and busy[0][0] < first[i]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        number[i] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (int(last[i]), int(number[i])))
    return number


def _corners(
    problem: Problem,
    ends: _Ends,
    rows: Longs,
    left: Longs,
    bottom: Longs,
    top: Longs,
    track: Longs,
    borders: tuple[Longs, Longs, int],
) -> tuple[Ints, Ints]:
    """Returns x and y of the corners of all wires, and where each wire's begin."""
    upper, lower, height = borders
    s, t = ends.source, ends.target
    begin, end = left[s] + ends.leave, left[t] + ends.enter
    inner_s, inner_t = s >= problem.ins, t < len(rows) - problem.outs
    after, before = rows[s] + 1, rows[t] - 1
    columns = [
        (begin, np.where(inner_s, bottom[s], 0)),
        (begin, lower[rows[s]]),
        (track, upper[after]),
        (track, lower[before]),
        (end, upper[rows[t]]),
        (end, np.where(inner_t, top[t], height)),
    ]
    corners = np.stack([np.stack(column, axis=1) for column in columns], axis=1).astype(np.int32)
    used = np.ones(corners.shape[:2], np.bool_)
    used[:, 2:4] = (after <= before)[:, None]
    return corners[used], np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
