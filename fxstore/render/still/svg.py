"""A picture as SVG: our own layout, made without any program; with nothing in it that runs or loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fxstore.colors.palettes import ink_on
from fxstore.render.still import legend
from fxstore.render.still.legend import Element, document, filled, hatches, number, shape, text, tip, written
from fxstore.render.still.scene import MOST_TITLE, NAME_SIZE, PlacedGraph, PlacedPane, Scene, label, tooltip
from fxstore.render.still.wording import cut

_MARGIN: Final = 20.0
_LEAST_WIDTH: Final = 460.0
_USUAL_WIDTH, _MOST_ZOOM = 2_400.0, 2.0
"""The head of a wider picture is larger, up to so much: it is looked at from farther away."""
_STUB: Final = 26.0


def svg(scene: Scene) -> str:
    """Returns an SVG document: the same text for the same scene in any process."""
    inner = max(scene.width, _LEAST_WIDTH)
    zoom = min(_MOST_ZOOM, max(1.0, inner / _USUAL_WIDTH))
    top = _MARGIN + zoom * legend.height_of(scene, inner / zoom)
    width, height = inner + 2 * _MARGIN, top + scene.height + _MARGIN
    root = document(width, height, scene.title)
    hatches(root, scene.palette)
    shape(root, "rect", width=width, height=height, fill=scene.palette.graph["paper"])
    place = f"translate({_MARGIN:g} {_MARGIN:g}) scale({number(zoom)})"
    legend.head(shape(root, "g", transform=place), scene, inner / zoom)
    for pane in scene.panes:
        _pane(shape(root, "g", transform=f"translate({number(_MARGIN + pane.left)} {number(top)})"), scene, pane)
    return written(root)


def _pane(group: Element, scene: Scene, pane: PlacedPane) -> None:
    chrome = scene.palette.chrome
    shape(group, "rect", width=pane.width, height=scene.height, rx=6, fill="none", stroke=chrome["line"])
    room = pane.width - 24
    text(group, 12, 22, cut(pane.pane.title, room, 15, bold=True), 15, chrome["ink"], bold=True)
    text(group, 12, 38, cut(pane.pane.subtitle, room, 11), 11, chrome["muted"])
    for placed in pane.graphs:
        _graph(group, scene, placed)


def _graph(group: Element, scene: Scene, placed: PlacedGraph) -> None:
    if placed.title:
        muted = scene.palette.chrome["muted"]
        shown = cut(placed.title, max(placed.graph.drawing.width, MOST_TITLE), NAME_SIZE, bold=True)
        tip(text(group, placed.left, placed.top - 8, shown, NAME_SIZE, muted, bold=True), placed.title)
    inner = shape(group, "g", transform=f"translate({number(placed.left)} {number(placed.top)})")
    _blocks(inner, scene, placed)
    _edges(inner, scene, placed)
    for i, node in enumerate(placed.graph.nodes.to_pylist()):
        _box(inner, scene, node, float(placed.graph.drawing.x[i]), float(placed.graph.drawing.y[i]))


def _blocks(group: Element, scene: Scene, placed: PlacedGraph) -> None:
    drawing, color = placed.graph.drawing, scene.palette.graph["block"]
    for path, (left, top, width, height) in zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True):
        frame = shape(group, "rect", x=left, y=top, width=width, height=height, rx=4, fill=color, fill_opacity=0.06,
                      stroke=color, stroke_opacity=0.4)  # fmt: skip
        tip(frame, path)
        text(group, left + 5, top + 11, cut(path.rpartition(".")[2], width - 8, 9.5), 9.5, scene.palette.graph["label"])


def _edges(group: Element, scene: Scene, placed: PlacedGraph) -> None:
    drawing, colors = placed.graph.drawing, scene.palette.graph
    ends = list(zip(*(placed.graph.edges[end].to_pylist() for end in ("src", "dst")), strict=True))
    sizes = list(zip(*(placed.graph.nodes[side].to_pylist() for side in ("width", "height")), strict=True))
    stubs = drawing.stub.tolist() if len(drawing.stub) else [False] * len(ends)
    for e, (first, last) in enumerate(zip(drawing.offsets[:-1].tolist(), drawing.offsets[1:].tolist(), strict=True)):
        source, target = ends[e]
        x, y = float(drawing.x[source]), float(drawing.y[source])
        if source == target:
            path = f"M{number(x + sizes[source][0] / 2)} {number(y - 5)}c16 -8 16 18 0 10"
            shape(group, "path", d=path, fill="none", stroke=colors["edge"])
        elif first != last:
            feedback = bool(drawing.feedback[e])
            _edge(group, drawing.points[first:last].tolist(), colors["feedback" if feedback else "edge"], feedback)
        elif stubs[e]:
            bottom = y + sizes[source][1] / 2
            top = float(drawing.y[target]) - sizes[target][1] / 2
            _stub(group, x, bottom, float(drawing.x[target]), top, colors["edge"])


def _edge(group: Element, points: list[list[float]], color: str, dashed: bool) -> None:
    corners = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    one = shape(group, "polyline", points=corners, fill="none", stroke=color, stroke_width=1.1)
    if dashed:
        one.set("stroke-dasharray", "3 3")
    _arrow(group, points[-1][0], points[-1][1], -1 if points[-2][1] > points[-1][1] else 1, color)


def _stub(group: Element, x: float, bottom: float, to: float, top: float, color: str) -> None:
    """Adds a short piece at both ends of an edge, each towards the other end."""
    lean = max(-0.6, min(0.6, (to - x) / max(1.0, abs(top - bottom)))) * _STUB
    for path in (
        f"M{number(x)} {number(bottom)}l{number(lean)} {number(_STUB)}",
        f"M{number(to - lean)} {number(top - _STUB)}L{number(to)} {number(top)}",
    ):
        shape(group, "path", d=path, fill="none", stroke=color, stroke_dasharray="2 3")
    _arrow(group, to, top, 1, color)


def _arrow(group: Element, x: float, y: float, down: int, color: str) -> None:
    shape(group, "path", d=f"M{number(x)} {number(y)}l-3.5 {-6 * down:g}h7z", fill=color)


def _box(group: Element, scene: Scene, node: Mapping[str, Any], x: float, y: float) -> None:
    colors, fill = scene.palette.graph, scene.coloring.fills[node["nid"]]
    one = shape(group, "g")
    tip(one, tooltip(scene, node))
    width, height = node["width"], node["height"]
    box = filled(one, scene.palette, fill, x - width / 2, y - height / 2, width, height)
    rank = scene.ranks.get(node["nid"])
    if rank is not None:
        box.set("stroke", colors["select"])
        box.set("stroke-width", "3")
    ink, (title, name) = ink_on(fill.color), label(node)
    two = bool(name)
    halo = colors["paper"] if fill.hatch == "dot" else fill.color
    for told, below, size, bold in ((title, -3 if two else 4, 12, True), (name, 11, 10.5, False))[: 2 if two else 1]:
        drawn = text(one, x, y + below, cut(told, width - 8, size, bold), size, ink, bold, "middle")
        if fill.hatch:
            drawn.set("stroke", halo)
            drawn.set("stroke-width", "3")
            drawn.set("paint-order", "stroke")
    if rank is not None:
        _badge(one, str(rank), x - width / 2, y - height / 2, colors["select"])
    if scene.more.get(node["nid"]):
        more = f"+{scene.more[node['nid']]:,}"
        text(one, x + width / 2 - 3, y + height / 2 + 9, more, 8.5, scene.palette.chrome["muted"], True, "end")


def _badge(group: Element, told: str, x: float, y: float, color: str) -> None:
    half = 4 + 3 * len(told)
    shape(group, "rect", x=x - half, y=y - 7, width=2 * half, height=14, rx=7, fill=color)
    text(group, x, y + 3.5, told, 9.5, ink_on(color), True, "middle")
