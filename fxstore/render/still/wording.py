"""Text in pictures: how wide it is about, and what of it fits."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_MOST: Final = 2_000
_AVERAGE, _BOLD, _WIDE = 0.56, 0.6, 1.05
"""Advance of a character in parts of the font's size: of the widest of the usual sans-serif fonts, rounded up."""


def printable(text: str, most: int = _MOST) -> str:
    """Returns a text without what no picture can show, cut to some characters."""
    shown = text if len(text) <= most else f"{text[: most - 1]}…"
    return _UNPRINTABLE.sub("\ufffd", shown)


def line(text: str) -> str:
    """Returns a text as one line."""
    return " ".join(printable(text).split())


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Returns about how wide a line is in a sans-serif font, in pixels."""
    plain = _BOLD if bold else _AVERAGE
    return size * sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else plain for c in text)


def cut(text: str, width: float, size: float, bold: bool = False) -> str:
    """Returns what of a line fits into a width, with an ellipsis where something is left out."""
    shown = line(text)
    if width_of(shown, size, bold) <= width:
        return shown
    room = width - width_of("…", size, bold)
    kept = 0
    while kept < len(shown) and (room := room - width_of(shown[kept], size, bold)) >= 0:
        kept += 1
    return f"{shown[: max(1, kept)].rstrip()}…"
