"""Components side by side, and what stands alone in a grid under the largest of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from fxstore.layout.model import GAP_PARTS

ASPECT, GRID_ASPECT = 1.6, 2.0
"""Width over height that many small components together have, and that those of one node have under a larger one."""

Corners = list[tuple[int, int]]


def pack(extents: Sequence[tuple[int, int]], alone: Sequence[bool], stem: int) -> Corners:
    """Stacks components in columns, the largest first.

    Those of one node stand in a grid under the first column, if there are others. Its middle is below the longest path
    however wide its component is, and no column reaches above it.

    Args:
        extents: Width and height of each.
        alone: Whether each is of one node.
        stem: x at which the longest path of the largest ends.

    Returns:
        The top left corner of each.
    """
    order = sorted(range(len(extents)), key=lambda i: (-extents[i][0] * extents[i][1], i))
    whole = [i for i in order if not alone[i]] or order
    loose = sorted(set(order) - set(whole))
    columns, step = _grid_columns([extents[i] for i in loose])
    begin = stem - columns * step // 4 * 2
    corners, foot = _stack([extents[i] for i in whole], begin + columns * step)
    out = [(0, 0)] * len(order)
    for i, corner in zip(whole, corners, strict=True):
        out[i] = corner
    for place, i in enumerate(loose):
        above = loose[place - columns] if place >= columns else whole[foot]
        y = out[above][1] + extents[above][1] + GAP_PARTS
        out[i] = begin + place % columns * step, y
    left = min([x for x, _ in out], default=0)
    return [(x - left, y) for x, y in out]


def _grid_columns(extents: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Returns how many columns a grid has, and how far apart they are."""
    step = max([w for w, _ in extents], default=0) + GAP_PARTS
    height = sum(h + GAP_PARTS for _, h in extents)
    return max(1, ceil(sqrt(GRID_ASPECT * height / step))), step


def _stack(extents: Sequence[tuple[int, int]], first: int) -> tuple[Corners, int]:
    """Returns the corner of each, and the last one of the first column.

    Args:
        extents: Width and height of each, in the order in which they are stacked.
        first: Where the second column may begin at the earliest.
    """
    area = sum((w + GAP_PARTS) * (h + GAP_PARTS) for w, h in extents)
    limit = max([h for _, h in extents] + [sqrt(area / ASPECT)], default=0)
    corners: Corners = []
    x = y = foot = 0
    column = first - GAP_PARTS
    for i, (width, height) in enumerate(extents):
        if y and y + height > limit:
            x, y, column = x + column + GAP_PARTS, 0, 0
        corners.append((x, y))
        y, column = y + height + GAP_PARTS, max(column, width)
        foot = i if not x else foot
    return corners, foot
