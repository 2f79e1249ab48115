"""SVG elements: text that is text only, and nothing that runs or loads."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from fxstore.colors.palettes import Palette
from fxstore.render.still.coloring import Fill
from fxstore.render.still.wording import printable

Element = ElementTree.Element
FONTS: Final = (
    "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, 'DejaVu Sans', "
    "'DejaVu Sans Mono', sans-serif"
)
"""The last but one is what the maker of PNG and PDF has where a machine has no fonts at all."""
_NAMESPACE: Final = "http://www.w3.org/2000/svg"


def document(width: float, height: float, title: str) -> Element:
    """Returns the root of a picture."""
    size = {"width": number(width), "height": number(height), "viewBox": f"0 0 {number(width)} {number(height)}"}
    root = Element("svg", {"xmlns": _NAMESPACE, **size, "font-family": FONTS, "role": "img"})
    tip(root, title)
    return root


def written(root: Element) -> str:
    """Returns a picture as the text of a file."""
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def number(value: float) -> str:
    """Returns a length with at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def shape(parent: Element, kind: str, /, **attributes: str | float) -> Element:
    """Adds an element; ``stroke_width`` is ``stroke-width``."""
    given = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else number(value)
        for name, value in attributes.items()
    }
    return ElementTree.SubElement(parent, kind, given)


def text(
    parent: Element, x: float, y: float, told: str, size: float, fill: str, bold: bool = False, anchor: str = ""
) -> Element:
    """Adds a line of text."""
    element = shape(parent, "text", x=x, y=y, font_size=size, fill=fill)
    if bold:
        element.set("font-weight", "600")
    if anchor:
        element.set("text-anchor", anchor)
    element.text = printable(told)
    return element


def tip(parent: Element, told: str) -> None:
    """Says what a pointer on the element shows."""
    ElementTree.SubElement(parent, "title").text = printable(told)


def hatches(root: Element, palette: Palette) -> None:
    """Defines the hatches of one palette; pictures in both themes may stand on one page."""
    defs = ElementTree.SubElement(root, "defs")
    paper, border = palette.graph["paper"], palette.graph["border"]
    for hatch, path in (("stripe", "M-1 1l2-2M0 6l6-6M5 7l2-2"), ("cross", "M0 0l6 6M0 6l6-6")):
        pattern = shape(defs, "pattern", id=_id(palette, hatch), width=6, height=6, patternUnits="userSpaceOnUse")
        shape(pattern, "path", d=path, stroke=paper, stroke_width=1.2)
    pattern = shape(defs, "pattern", id=_id(palette, "dot"), width=5, height=5, patternUnits="userSpaceOnUse")
    shape(pattern, "circle", cx=1.5, cy=1.5, r=0.8, fill=border)


def filled(
    parent: Element, palette: Palette, fill: Fill, x: float, y: float, width: float, height: float, rx: float = 4
) -> Element:
    """Adds a box with a border, and the hatch over it."""
    place = {"x": x, "y": y, "width": width, "height": height, "rx": rx}
    box = shape(parent, "rect", **place, fill=fill.color, stroke=palette.graph["border"])
    if fill.hatch:
        shape(parent, "rect", **place, fill=f"url(#{_id(palette, fill.hatch)})")
    if fill.hatch == "dot":
        box.set("stroke-dasharray", "3 2")
    return box


def _id(palette: Palette, hatch: str) -> str:
    return f"fxstore-{palette.name}-{hatch}"
