"""The head of a picture: title, what was asked, and the legend, in as many lines as the picture is wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from fxstore.colors.palettes import Palette
from fxstore.render.still.coloring import Fill, Key, Scale
from fxstore.render.still.scene import Scene
from fxstore.render.still.wording import cut, line, printable, width_of

# SVG elements: text that is text only, and nothing that runs or loads.


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


_TITLE, _NOTE, _LINE = 26.0, 18.0, 24.0
_SIZE, _SWATCH, _GAP, _BAR = 12.0, 13.0, 18.0, 230.0


@dataclass(frozen=True)
class Sign:
    """What a mark on boxes or edges means: ``rank``, ``more``, ``stub`` or ``feedback``."""

    kind: str
    text: str


Entry = Key | Scale | Sign


def entries(scene: Scene) -> list[Entry]:
    """Returns what the legend explains: the colours, then the marks that the picture has."""
    found: list[Entry] = [scene.coloring.scale] if scene.coloring.scale else []
    found += scene.coloring.keys
    drawings = [placed.graph.drawing for pane in scene.panes for placed in pane.graphs]
    if scene.ranks:
        found.append(Sign("rank", "in the answer" if len(scene.ranks) > 1 else "the answer"))
    if scene.more:
        found.append(Sign("more", "neighbours left out"))
    if any(drawing.stub.any() for drawing in drawings):
        found.append(Sign("stub", "an edge of which only the ends are drawn"))
    if any(drawing.feedback.any() for drawing in drawings):
        found.append(Sign("feedback", "an edge against the flow"))
    return found


def height_of(scene: Scene, width: float) -> float:
    """Returns the height of the head for a picture of some width."""
    return _TITLE + _NOTE * len(scene.note) + _LINE * len(_lines(scene, width)) + 8


def head(parent: Element, scene: Scene, width: float) -> None:
    """Adds the head, from (0, 0) on."""
    ink, muted = scene.palette.chrome["ink"], scene.palette.chrome["muted"]
    text(parent, 0, 18, cut(scene.title, width, 18, bold=True), 18, ink, bold=True)
    y = _TITLE
    for note in scene.note:
        text(parent, 0, y + 12, cut(note, width, 11.5), 11.5, muted)
        y += _NOTE
    for row in _lines(scene, width):
        x = 0.0
        for entry in row:
            _entry(parent, scene, entry, x, y + 4)
            x += _width(scene, entry) + _GAP
        y += _LINE


def _lines(scene: Scene, width: float) -> list[list[Entry | str]]:
    """Returns the entries as lines, after the name of the colouring."""
    lines: list[list[Entry | str]] = [[scene.coloring.title]]
    used = _width(scene, scene.coloring.title)
    for entry in entries(scene):
        need = _GAP + _width(scene, entry)
        if used + need > width and lines[-1]:
            lines.append([])
            used = -_GAP
        lines[-1].append(entry)
        used += need
    return lines


def _width(scene: Scene, entry: Entry | str) -> float:
    if isinstance(entry, str):
        return width_of(_short(entry), _SIZE, bold=True)
    if isinstance(entry, Scale):
        ends = sum(width_of(one, _SIZE) for one in entry.ends)
        return ends + _BAR + 12 + (width_of(entry.note, _SIZE) + 8 if entry.note else 0)
    return _SWATCH + 6 + width_of(_short(entry.text), _SIZE)


def _short(told: str) -> str:
    return cut(told, 320, _SIZE, bold=True)


def _entry(parent: Element, scene: Scene, entry: Entry | str, x: float, y: float) -> None:
    ink = scene.palette.chrome["ink"]
    if isinstance(entry, str):
        text(parent, x, y + 11, _short(entry), _SIZE, ink, bold=True)
    elif isinstance(entry, Scale):
        _scale(parent, scene.palette, entry, x, y)
    else:
        if isinstance(entry, Key):
            filled(parent, scene.palette, entry.fill, x, y, _SWATCH, _SWATCH, rx=3)
        else:
            _sign(parent, scene.palette, entry.kind, x, y)
        text(parent, x + _SWATCH + 6, y + 11, _short(entry.text), _SIZE, ink)


def _sign(parent: Element, palette: Palette, kind: str, x: float, y: float) -> None:
    colors = palette.graph
    if kind == "rank":
        shape(parent, "rect", x=x, y=y, width=_SWATCH, height=_SWATCH, rx=3, fill="none", stroke=colors["select"],
              stroke_width=2.5)  # fmt: skip
    elif kind == "more":
        text(parent, x + _SWATCH / 2, y + 11, "+N", 10, palette.chrome["muted"], bold=True, anchor="middle")
    else:
        color = colors["edge"] if kind == "stub" else colors["feedback"]
        shape(parent, "path", d=f"M{x:g} {y + 7:g}h{_SWATCH:g}", stroke=color, stroke_width=1.5, stroke_dasharray="3 3")


def _scale(parent: Element, palette: Palette, scale: Scale, x: float, y: float) -> None:
    ink, muted = palette.chrome["ink"], palette.chrome["muted"]
    text(parent, x, y + 11, scale.ends[0], _SIZE, ink)
    left = x + width_of(scale.ends[0], _SIZE) + 6
    step = _BAR / len(scale.stops)
    for i, color in enumerate(scale.stops):
        shape(parent, "rect", x=left + i * step, y=y - 2, width=step + 0.3, height=8, fill=color)
    for at, tick in scale.ticks:
        anchor = "start" if at < 0.02 else "end" if at > 0.98 else "middle"
        text(parent, left + at * _BAR, y + 16, tick, 9.5, muted, anchor=anchor)
    text(parent, left + _BAR + 6, y + 11, scale.ends[1], _SIZE, ink)
    if scale.note:
        text(parent, left + _BAR + 12 + width_of(scale.ends[1], _SIZE), y + 11, line(scale.note), _SIZE, muted)
