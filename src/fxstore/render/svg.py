"""A still picture of one graph: a drawing as SVG, with nothing in it that runs or loads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from fxstore.layout import Drawing

_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TITLE_PX, _NAME_PX, _PADDING = 8.2, 6.4, 12
_MARGIN, _LEGEND_ROW, _SWATCH = 16, 20, 12
_LINE, _TEXT, _BLOCK = "#8a94a3", "#1b2330", "#f3f5f8"


@dataclass(frozen=True)
class Box:
    """One node as it is drawn.

    Attributes:
        title: First line: the operator's type.
        name: Second line, left out where it equals the first.
        fill: Any SVG colour.
        tip: What a pointer on the box shows.
    """

    title: str
    name: str
    width: float
    height: float
    fill: str
    tip: str = ""


def svg(
    drawing: Drawing,
    boxes: Sequence[Box],
    edges: Sequence[tuple[int, int]],
    legend: Sequence[tuple[str, str]] = (),
    heading: str = "",
) -> str:
    """Returns an SVG document.

    Args:
        drawing: Where everything stands.
        boxes: One per node of the drawing, of the size that it was drawn for.
        edges: Source and target of each edge of the drawing.
        legend: Text and fill of each kind of box, above the drawing.
        heading: Over all.
    """
    top = _MARGIN + _LEGEND_ROW * ((1 if heading else 0) + len(legend))
    labels = [heading, *(label for label, _ in legend)]
    width = max(drawing.width, max(map(len, labels), default=0) * _TITLE_PX) + 2 * _MARGIN
    height = drawing.height + top + 2 * _MARGIN
    root = ElementTree.Element(
        "svg", xmlns=_NAMESPACE, width=f"{width:g}", height=f"{height:g}", viewBox=f"0 0 {width:g} {height:g}"
    )
    root.set("font-family", "system-ui, sans-serif")
    _rect(root, 0, 0, width, height, "#ffffff")
    _legend(root, legend, heading)
    graph = ElementTree.SubElement(root, "g", transform=f"translate({_MARGIN} {top + _MARGIN})")
    _blocks(graph, drawing)
    _edges(graph, drawing)
    for i, box in enumerate(boxes):
        _box(graph, box, float(drawing.x[i]), float(drawing.y[i]))
    _loops(graph, drawing, boxes, edges)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _legend(root: ElementTree.Element, legend: Sequence[tuple[str, str]], heading: str) -> None:
    y = float(_MARGIN)
    if heading:
        _text(root, _MARGIN, y + _SWATCH, heading, 14, bold=True)
        y += _LEGEND_ROW
    for label, fill in legend:
        _rect(root, _MARGIN, y, _SWATCH, _SWATCH, fill, _LINE)
        _text(root, _MARGIN + _SWATCH + 6, y + _SWATCH - 2, label, 12)
        y += _LEGEND_ROW


def _blocks(graph: ElementTree.Element, drawing: Drawing) -> None:
    for path, (left, top, width, height) in zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True):
        shape = _rect(graph, left, top, width, height, _BLOCK, "#d5dae1")
        shape.set("fill-opacity", "0.6")
        _tip(shape, path)
        _text(graph, left + 4, top + 10, _cut(path.rpartition(".")[2], width - 8, _NAME_PX), 9)


def _edges(graph: ElementTree.Element, drawing: Drawing) -> None:
    stubs = drawing.stub if len(drawing.stub) else [False] * (len(drawing.offsets) - 1)
    for e, (first, last) in enumerate(zip(drawing.offsets[:-1], drawing.offsets[1:], strict=True)):
        if first == last:
            continue
        corners = " ".join(f"{x:g},{y:g}" for x, y in drawing.points[first:last].tolist())
        line = ElementTree.SubElement(graph, "polyline", points=corners, fill="none", stroke=_LINE)
        if stubs[e] or drawing.feedback[e]:
            line.set("stroke-dasharray", "3 3")
            line.set("stroke-opacity", "0.5" if stubs[e] else "1")
        _arrow(graph, *drawing.points[last - 2 : last].tolist())


def _arrow(graph: ElementTree.Element, before: Sequence[float], end: Sequence[float]) -> None:
    (x, y), up = end, -1 if before[1] > end[1] else 1
    ElementTree.SubElement(graph, "path", d=f"M{x:g} {y:g}l-3 {-5 * up}h6z", fill=_LINE)


def _loops(
    graph: ElementTree.Element, drawing: Drawing, boxes: Sequence[Box], edges: Sequence[tuple[int, int]]
) -> None:
    for node in {source for source, target in edges if source == target}:
        right, y = float(drawing.x[node]) + boxes[node].width / 2, float(drawing.y[node])
        path = f"M{right:g} {y - 4:g}c14 -8 14 16 0 8"
        ElementTree.SubElement(graph, "path", d=path, fill="none", stroke=_LINE)


def _box(graph: ElementTree.Element, box: Box, x: float, y: float) -> None:
    group = ElementTree.SubElement(graph, "g")
    _tip(group, box.tip or box.name)
    left, two = x - box.width / 2, box.name != box.title
    shape = _rect(group, left, y - box.height / 2, box.width, box.height, box.fill, "#5b6675")
    shape.set("rx", "4")
    _text(group, x, y + (-2 if two else 4), _cut(box.title, box.width - _PADDING, _TITLE_PX), 12, True, True)
    if two:
        _text(group, x, y + 12, _cut(box.name, box.width - _PADDING, _NAME_PX), 10.5, middle=True)


def _rect(
    parent: ElementTree.Element, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none"
) -> ElementTree.Element:
    place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return ElementTree.SubElement(parent, "rect", place, fill=_valid(fill), stroke=stroke)


def _text(
    parent: ElementTree.Element, x: float, y: float, text: str, size: float, bold: bool = False, middle: bool = False
) -> None:
    element = ElementTree.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "font-size": f"{size:g}"})
    element.set("fill", _TEXT)
    if bold:
        element.set("font-weight", "600")
    if middle:
        element.set("text-anchor", "middle")
    element.text = _valid(text)


def _tip(parent: ElementTree.Element, text: str) -> None:
    ElementTree.SubElement(parent, "title").text = _valid(text)


def _cut(text: str, width: float, advance: float) -> str:
    most = max(1, int(width / advance) + 1)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _valid(text: str) -> str:
    """Returns the text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
