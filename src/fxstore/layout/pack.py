"""Components side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from fxstore.layout.spacing import GAP_PARTS

ASPECT = 1.6
"""Width over height that many small components together have."""


def pack(extents: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the top left corner of each component, given widths and heights: columns, the largest component first."""
    area = sum((w + GAP_PARTS) * (h + GAP_PARTS) for w, h in extents)
    limit = max([h for _, h in extents] + [sqrt(area / ASPECT)], default=0)
    corners = [(0, 0)] * len(extents)
    x = y = column = 0
    for i in sorted(range(len(extents)), key=lambda i: (-extents[i][0] * extents[i][1], i)):
        width, height = extents[i]
        if y and y + height > limit:
            x, y, column = x + column + GAP_PARTS, 0, 0
        corners[i] = (x, y)
        y += height + GAP_PARTS
        column = max(column, width)
    return corners
