"""A drawing that is much taller than wide, as columns beside each other.

::

    ┌─┐           ┌─┐┌─┐┌─┐        1. cut where no box is, near equal shares, where the fewest edges
    │ │           │1││2││3│           and module boxes are
    │ │    ->     └─┘└─┘└─┘        2. shift: column c stands at c * (width + GAP_PARTS)
    │ │                            3. an edge that a cut meets goes on at the top of the next column,
    └─┘                               by way of the space between the two

The invariant: within a column nothing moves, so no box overlaps another and every piece of an edge still points down.
Drawings beside each other are cut at the same heights. Time is linear but for sorting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from fxstore.layout.drawing import FAR
from fxstore.layout.model import GAP_PARTS, HEAD, NO_FOLDING, Doubles, Drawing, Longs

MOST_ASPECT = 3
"""A drawing up to so many times as tall as wide stays one column."""
SEARCH = 0.1
"""A column may be this part shorter or longer than its share for the sake of a better cut."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Columns:
    """Where a drawing is cut, and where its parts go.

    No box of a node is cut. A module's box, and an edge, that reaches over a cut goes on at the top of the next
    column, at the same x within it; so every piece of an edge still points down.

    Attributes:
        cuts: (C + 1) height at which each column begins, and the last one ends.
        width: Of each column; column ``c`` stands at ``c * (width + GAP_PARTS)``.
    """

    cuts: Doubles
    width: float

    def of(self, y: npt.NDArray[np.floating]) -> Longs:
        """Returns the column of what stands at each height."""
        found = np.searchsorted(self.cuts[1:-1], y, side="right")
        return np.asarray(found, np.int64)

    def place(self, x: npt.NDArray[np.floating], y: npt.NDArray[np.floating]) -> tuple[Doubles, Doubles]:
        """Returns where points of the drawing stand in its columns."""
        column = self.of(y)
        return np.asarray(x + column * (self.width + GAP_PARTS), np.float64), np.asarray(
            y - self.cuts[column], np.float64
        )


def columns(drawing: Drawing, sizes: npt.ArrayLike) -> Columns:
    """Returns the columns of a drawing: one, unless it is too tall for its width.

    Cuts run where no node is, of the places near the wanted one where the fewest edges and module boxes are.

    Args:
        drawing: The drawing.
        sizes: (n, 2) width and height of each node's box.
    """
    return Columns(cut_together([drawing], [sizes]), drawing.width)


def cut_together(drawings: Sequence[Drawing], sizes: Sequence[npt.ArrayLike]) -> Doubles:
    """Returns the heights at which drawings that stand beside each other are cut, the first 0, the last the end.

    Args:
        drawings: The drawings, brought to equal heights.
        sizes: Per drawing the (n, 2) widths and heights of its boxes.
    """
    width, height = sum(d.width for d in drawings), max([d.height for d in drawings], default=0.0)
    cuts = [0.0]
    if height > MOST_ASPECT * width:
        places, cost = _places(drawings, sizes)
        count = ceil(sqrt(height / (width + GAP_PARTS * len(drawings))))
        share = height / count
        while height - cuts[-1] > share * (1 + SEARCH):
            low, high = np.searchsorted(places, [cuts[-1] + share * (1 - SEARCH), cuts[-1] + share * (1 + SEARCH)])
            if low == len(places):
                break
            best = low + np.argmin(cost[low : max(high, low + 1)])
            cuts.append(float(places[best]))
    return np.array([*cuts, height])


def _places(drawings: Sequence[Drawing], sizes: Sequence[npt.ArrayLike]) -> tuple[Doubles, Longs]:
    """Returns the heights that no node's box is at, and how many lines and module boxes are there."""
    half = np.concatenate([np.asarray(own, np.float64).reshape(-1, 2)[:, 1] for own in sizes]) / 2
    y = np.concatenate([d.y for d in drawings]).astype(np.float64)
    top, bottom = np.sort(y - half), np.sort(y + half)
    clear = np.searchsorted(top, bottom, side="right") == np.arange(1, len(bottom) + 1)
    middles = bottom[clear][:-1]
    places = np.unique((middles + top[np.minimum(np.searchsorted(top, middles), len(top) - 1)]) / 2)
    boxes = np.concatenate([d.block_boxes for d in drawings]).astype(np.float64)
    cost = np.searchsorted(np.sort(boxes[:, 1]), places) - np.searchsorted(np.sort(boxes[:, 1] + boxes[:, 3]), places)
    lines = [(d.points[:, 1], d.offsets, np.flatnonzero(np.diff(d.offsets) > 0)) for d in drawings]
    first = np.concatenate([y[offsets[drawn]] for y, offsets, drawn in lines])
    last = np.concatenate([y[offsets[drawn + 1] - 1] for y, offsets, drawn in lines])
    begun = np.searchsorted(np.sort(np.minimum(first, last)), places)
    ended = np.searchsorted(np.sort(np.maximum(first, last)), places)
    return places, np.asarray(cost + begun - ended, np.int64)


def wrapped(drawings: Sequence[Drawing], sizes: Sequence[np.typing.ArrayLike], ends: Sequence[Longs]) -> list[Drawing]:
    """Returns drawings that stand beside each other in columns, all cut at the same heights.

    What was at one height in all of them still is. An edge that a cut meets goes on at the top of the next column, by
    way of the space between the two, where no box is; it is a stub if it was one or is long. A module's box that a cut
    meets is one in each column. Such a drawing cannot be folded row by row.

    Args:
        drawings: As ``draw`` or ``stretched`` made them.
        sizes: Per drawing the (n, 2) widths and heights of its boxes.
        ends: Per drawing the (E, 2) source and target of its edges.
    """
    cuts = cut_together(drawings, sizes)
    if len(cuts) < 3:
        return list(drawings)
    return [_wrapped(drawing, Columns(cuts, drawing.width), own) for drawing, own in zip(drawings, ends, strict=True)]


def _wrapped(drawing: Drawing, columns: Columns, ends: Longs) -> Drawing:
    x, y = columns.place(drawing.x, drawing.y)
    lines, stub = _lines(drawing, columns, ends)
    names, boxes = [], []
    for name, box in zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True):
        for piece in _slices(box, columns):
            names.append(name)
            boxes.append(piece)
    count = len(columns.cuts) - 1
    return replace(
        drawing,
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        points=np.array([point for line in lines for point in line], np.float32).reshape(-1, 2),
        offsets=np.cumsum([0, *map(len, lines)], dtype=np.int32),
        blocks=tuple(names),
        block_boxes=np.array(boxes, np.float32).reshape(-1, 4),
        width=count * (columns.width + GAP_PARTS) - GAP_PARTS,
        height=float(np.diff(columns.cuts).max()),
        folding=NO_FOLDING,
        stub=stub,
    )


def _lines(drawing: Drawing, columns: Columns, ends: Longs) -> tuple[list[list[Point]], np.ndarray]:
    points = drawing.points.astype(np.float64)
    placed = np.stack(columns.place(points[:, 0], points[:, 1]), axis=1).reshape(-1, 2).tolist()
    column = columns.of(points[:, 1])
    stub = np.resize(drawing.stub, len(ends)) if len(drawing.stub) else np.zeros(len(ends), np.bool_)
    lines: list[list[Point]] = []
    for e, (begin, end) in enumerate(pairwise(drawing.offsets.tolist())):
        if begin == end or column[begin] == column[end - 1]:
            lines.append([(x, y) for x, y in placed[begin:end]])
            continue
        line = [(x, y) for x, y in points[begin:end].tolist()]
        up = line[0][1] > line[-1][1]
        cut = [point for pair in pairwise(line[:: -1 if up else 1]) for point in _pieces(pair, columns)]
        last = line[0] if up else line[-1]
        cut.append(_at(last, int(columns.of(np.array([last[1]]))[0]), columns))
        lines.append(cut[:: -1 if up else 1])
        stub[e] |= not up and last[1] - (line[-1] if up else line[0])[1] > FAR
    return lines, stub


def _at(point: Point, column: int, columns: Columns) -> Point:
    return point[0] + column * (columns.width + GAP_PARTS), point[1] - float(columns.cuts[column])


def _pieces(pair: tuple[Point, Point], columns: Columns) -> Iterator[Point]:
    """Yields where a piece of a line begins and, at each cut that it meets, its way to the top of the next column."""
    (x0, y0), (x1, y1) = pair
    first, last = columns.of(np.array([y0, y1])).tolist()
    yield _at((x0, y0), first, columns)
    for column in range(first, last):
        cut = float(columns.cuts[column + 1])
        x = x0 + (x1 - x0) * (cut - y0) / (y1 - y0)
        foot, head = _at((x, cut), column, columns), _at((x, cut), column + 1, columns)
        between = head[0] - x - GAP_PARTS / 2
        yield from (foot, (between, foot[1]), (between, head[1]), head)


def _slices(box: Sequence[float], columns: Columns) -> Iterator[tuple[float, float, float, float]]:
    """Yields a module's box, cut; a slice lower than a title is left out, unless nothing is cut."""
    left, top, width, height = box
    for column, (low, high) in enumerate(pairwise(columns.cuts.tolist())):
        upper, lower = max(top, low), min(top + height, high)
        whole = upper == top and lower == top + height
        if lower > upper and (whole or lower - upper >= HEAD):
            x, y = _at((left, upper), column, columns)
            yield x, y, width, lower - upper
