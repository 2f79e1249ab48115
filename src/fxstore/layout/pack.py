"""Components side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from fxstore.layout.model import GAP_PARTS

ASPECT = 1.6
"""Width over height that many small components together have."""


def pack(extents: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Stacks components in columns, the largest first.

    Args:
        extents: Width and height of each.

    Returns:
        The top left corner of each, and the one right above it, or -1.
    """
    area = sum((w + GAP_PARTS) * (h + GAP_PARTS) for w, h in extents)
    limit = max([h for _, h in extents] + [sqrt(area / ASPECT)], default=0)
    corners, under = [(0, 0)] * len(extents), [-1] * len(extents)
    x = y = column = 0
    above = -1
    for i in sorted(range(len(extents)), key=lambda i: (-extents[i][0] * extents[i][1], i)):
        width, height = extents[i]
        if y and y + height > limit:
            x, y, column, above = x + column + GAP_PARTS, 0, 0, -1
        corners[i], under[i], above = (x, y), above, i
        y += height + GAP_PARTS
        column = max(column, width)
    return corners, under
