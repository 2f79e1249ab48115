"""How large a node's box must be for its label: layout needs it, the page draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_TITLE_PX: Final = 8.2
"""Average advance of the label's first line, 12 px bold."""
_NAME_PX: Final = 6.4
"""Average advance of its second line, 10.5 px."""
_PADDING: Final = 16
_LEAST, _MOST = 72, 220


_LINE_PX: Final = 14
"""Height of each line under the first."""


def lines_size(title: str, lines: Sequence[str]) -> tuple[float, float]:
    """Returns width and height in pixels of a box with a title and any number of lines under it."""
    width = max(len(title) * _TITLE_PX, *(len(line) * _NAME_PX for line in lines), 0.0) + _PADDING
    return float(min(2 * _MOST, max(_LEAST, 2 * round(width / 2)))), float(24 + _LINE_PX * len(lines))


def box_size(title: str, name: str) -> tuple[float, float]:
    """Returns width and height in pixels; the page cuts what does not fit.

    Args:
        title: First line: the operator's type, else the role.
        name: Second line, left out where it equals the first.
    """
    width = max(len(title) * _TITLE_PX, len(name) * _NAME_PX) + _PADDING
    return float(min(_MOST, max(_LEAST, 2 * round(width / 2)))), 24.0 if name == title else 36.0
