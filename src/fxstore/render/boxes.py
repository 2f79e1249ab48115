"""How large a node's box must be for its label: layout needs it, the page draws it."""

from __future__ import annotations

from typing import Final

_TITLE_PX: Final = 8.2
"""Average advance of the label's first line, 12 px bold."""
_NAME_PX: Final = 6.4
"""Average advance of its second line, 10.5 px."""
_PADDING: Final = 16
_LEAST, _MOST = 72, 220


def box_size(title: str, name: str) -> tuple[float, float]:
    """Returns width and height in pixels; the page cuts what does not fit.

    Args:
        title: First line: the operator's type, else the role.
        name: Second line, left out where it equals the first.
    """
    width = max(len(title) * _TITLE_PX, len(name) * _NAME_PX) + _PADDING
    return float(min(_MOST, max(_LEAST, 2 * round(width / 2)))), 24.0 if name == title else 36.0
