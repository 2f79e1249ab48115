"""A drawing with its columns beside each other, as one drawing again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from fxstore.layout.columns import Columns, cut_together
from fxstore.layout.model import GAP_PARTS, NO_FOLDING, Drawing
from fxstore.layout.order import Longs
from fxstore.layout.spacing import HEAD
from fxstore.layout.stubs import FAR

Point = tuple[float, float]


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
