"""PNG and PDF of a picture, by typst: a wheel that needs no program, loads nothing, and gives the same bytes again."""

from __future__ import annotations

import math
from typing import Any, Final
from xml.etree import ElementTree

from fxstore.errors import MissingExtraError, UsageError
from fxstore.render.still.wording import printable

_MOST_PIXELS: Final = 64_000_000
_USUAL_SCALE, _LEAST_SCALE = 2.0, 0.5
_POINTS: Final = 0.75
"""Of a CSS pixel."""
_MOST_POINTS: Final = 14_400.0
"""Of a side of a page, in what reads PDF."""
_PAGE: Final = """\
#set document(title: sys.inputs.title, date: none)
#set page(width: float(sys.inputs.width) * 1pt, height: float(sys.inputs.height) * 1pt, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg", width: 100%, height: 100%)
"""
_SMALLER: Final = "draw less (stages, hops), wrap it (columns), or write svg or pdf"


def png(svg: str, title: str = "", scale: float | None = None) -> bytes:
    """Returns a picture as PNG.

    Args:
        svg: One of our own.
        scale: Pixels per CSS pixel; by default 2, and less for what would be larger than 64 megapixels.

    Raises:
        UsageError: It would be larger than that, or, by default, too small to be read.
        MissingExtraError: typst is not installed.
    """
    width, height = _size(svg)
    largest = math.sqrt(_MOST_PIXELS / (width * height))
    if scale is not None and not (math.isfinite(scale) and 0 < scale <= largest):
        raise UsageError(
            f"no PNG of {width:,.0f} by {height:,.0f} pixels times {scale:g}",
            hint=f"a scale of at most {largest:.2g}; or {_SMALLER}",
        )
    if scale is None and largest < _LEAST_SCALE:
        raise UsageError(f"{width:,.0f} by {height:,.0f} pixels are too many for a PNG that can be read", hint=_SMALLER)
    return _made(svg, title, width, height, format="png", ppi=72.0 * (scale or min(_USUAL_SCALE, largest)))


def pdf(svg: str, title: str = "") -> bytes:
    """Returns a picture as PDF: one page of its size; 200 inches where it would be larger.

    Raises:
        MissingExtraError: typst is not installed.
    """
    width, height = _size(svg)
    scale = min(_POINTS, _MOST_POINTS / max(width, height))
    return _made(svg, title, width * scale, height * scale, format="pdf", pdf_tags=False)


def _made(svg: str, title: str, width: float, height: float, **options: Any) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise MissingExtraError("a picture as PNG or PDF", "pictures") from error
    given = {"svg": svg, "title": printable(title), "width": f"{width:.2f}", "height": f"{height:.2f}"}
    made: bytes = typst.compile(_PAGE.encode(), sys_inputs=given, **options)
    return made


def _size(svg: str) -> tuple[float, float]:
    root = ElementTree.fromstring(svg)
    return float(root.get("width", 0)), float(root.get("height", 0))
