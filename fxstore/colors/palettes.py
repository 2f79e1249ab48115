"""The palettes: a picture has the colours of the page, which reads the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from fxstore.colors.shared import shared
from fxstore.errors import UsageError

THEMES: Final = ("light", "dark")


@dataclass(frozen=True)
class Palette:
    """The colours of one theme, as ``colors.json`` names them; each is ``#rrggbb``."""

    name: str
    chrome: Mapping[str, str]
    graph: Mapping[str, str]
    scale: Sequence[str]
    neutral: Sequence[str]
    diverging: Sequence[str]
    roles: Mapping[str, str]
    categories: Sequence[str]
    changes: Mapping[str, str]


def palette(theme: str) -> Palette:
    """Returns the colours of a theme.

    Raises:
        UsageError: There is no such theme.
    """
    if theme not in THEMES:
        raise UsageError(f"there is no theme {theme!r}", hint=f"one of {', '.join(THEMES)}")
    return _palettes()[theme]


@cache
def _palettes() -> dict[str, Palette]:
    return {
        name: Palette(**{f: theme[f] for f in Palette.__dataclass_fields__})
        for name, theme in shared()["themes"].items()
    }


def mixed(stops: Sequence[str], part: float) -> str:
    """Returns a colour between stops that are evenly spaced.

    Args:
        part: 0 to 1.
    """
    at = min(1.0, max(0.0, part)) * (len(stops) - 1)
    low = min(int(at), len(stops) - 2)
    pairs = zip(_channels(stops[low]), _channels(stops[low + 1]), strict=True)
    return "#" + "".join(f"{int(first + (last - first) * (at - low) + 0.5):02x}" for first, last in pairs)


def ink_on(fill: str) -> str:
    """Returns black or white, whichever reads better on a fill, by luminance as WCAG 2 defines it."""
    parts = [value / 255 for value in _channels(fill)]
    r, g, b = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#000000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#ffffff"


def _channels(color: str) -> list[int]:
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]
