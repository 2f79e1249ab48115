"""One graph: from its source to a payload, a page, a script.

Labels and layers are made first, since a box has room for all its lines. Then the panes are drawn, counterparts at
equal heights as far as can be, and each pane's graphs are put side by side.
"""

from __future__ import annotations

import json
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.errors import nearest
from fxstore.fx_viewer.capture import Captured, CapturedPane, Source, capture, live_infos, stored_infos
from fxstore.fx_viewer.color_rules import ColorRule, applied, checked_rule
from fxstore.fx_viewer.extension import GraphExtension, checked_lines
from fxstore.fx_viewer.models import (
    BaseGraphPayload,
    GraphBlock,
    GraphEdge,
    GraphNode,
    GraphPart,
    GraphPayload,
    text_of,
)
from fxstore.layout import draw
from fxstore.render import embedded
from fxstore.render.boxes import lines_size
from fxstore.render.html import inline
from fxstore.render.model import DrawnGraph, Pane
from fxstore.render.page.align import aligned
from fxstore.render.page.drawings import drawn_modules, sides, sides_of
from fxstore.render.page.run_tables import Sets, StoredGraph

_APART = 60.0
"""Pixels between two graphs of a pane."""


class Exporter(ABC):
    """What a graph and a comparison have in common: a payload, and the same payload as JSON, script or page."""

    _title = "fxstore"

    @abstractmethod
    def generate_json_payload(self) -> dict[str, Any]:
        """Returns what is shown, as ``payload.schema.json`` has it: the same for the same graphs in any process."""

    def export_json(self, output_path: str | os.PathLike[str]) -> None:
        """Writes the payload; ``fxstore compare --payload`` makes a page of it again."""
        self._write(output_path, json.dumps(self.generate_json_payload(), indent=1, allow_nan=False))

    def export_js(self, container_id: str, *, runtime: bool = True) -> str:
        """Returns a script that shows the payload in the element of that id, on any page.

        Args:
            container_id: Id of the element.
            runtime: Whether the script carries the viewer, 290 KB. Without it the page loads that itself, once for all
                its graphs: :func:`fxstore.fx_viewer.runtime_js`.
        """
        return embedded.script(self.generate_json_payload(), container_id, runtime)

    def _page(self) -> str:
        return embedded.html(self.generate_json_payload(), self._title)

    def _write(self, path: str | os.PathLike[str], text: str) -> None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
        print(f"Wrote {os.fspath(path)}")

    def _repr_html_(self) -> str:
        return inline(self._page())


class FXGraphExporter(Exporter):
    """Shows one graph of a compile. Nothing is read before something is asked for.

    Args:
        graph_module: A ``torch.fx.GraphModule``, or whatever else an adapter reads as one stage: an exported program,
            a program manager, a file. Nested graphs and delegates are drawn beside the graph that calls them.
    """

    def __init__(self, graph_module: object) -> None:
        self.graph_module = graph_module
        self.extensions: list[GraphExtension] = []
        self.base_label_formatter: Callable[[GraphNode], str] = _default_label
        self.base_tooltip_formatter: Callable[[GraphNode], list[str]] = _default_tooltip
        self.base_color_rule: ColorRule | None = None
        self._methods: frozenset[str] | None = None
        self._live: object = graph_module
        self._enrich = False

    @classmethod
    def of_stage(
        cls, source: object, methods: frozenset[str] | None = None, live: object = None, enrich: bool = False
    ) -> FXGraphExporter:
        """Returns an exporter of a part of a source.

        Args:
            methods: The methods to show; None for all.
            live: The graph module or exported program that the source was read from, where there is one.
            enrich: As ``enrich_missing_meta`` of :func:`build_compare_from_etrecord` has it.
        """
        exporter = cls(source)
        exporter._methods, exporter._live, exporter._enrich = methods, live, enrich
        return exporter

    @property
    def source(self) -> Source:
        """What is read."""
        return Source(self.graph_module, self._methods)

    def set_base_label_formatter(self, formatter: Callable[[GraphNode], str]) -> None:
        """Sets the first line of each box; by default the operator without namespace and default overload."""
        self.base_label_formatter = formatter

    def set_base_tooltip_formatter(self, formatter: Callable[[GraphNode], list[str]]) -> None:
        """Sets the lines shown beside the pointer; by default name, op and target."""
        self.base_tooltip_formatter = formatter

    def set_base_color_rule(self, rule: ColorRule) -> None:
        """Colours nodes by what ``GraphNode.info`` holds, where no layer colours them.

        Raises:
            TypeError: It is no colour rule.
        """
        self.base_color_rule = checked_rule(rule)

    def add_extension(self, extension: GraphExtension) -> None:
        """Adds a layer.

        Raises:
            TypeError: It is no GraphExtension.
            ValueError: There is one of the same id.
        """
        if not isinstance(extension, GraphExtension):
            raise TypeError("extension must be a GraphExtension")
        if any(known.id == extension.id for known in self.extensions):
            raise ValueError(f"duplicate extension id: {extension.id!r}")
        self.extensions.append(extension)

    def generate_json_payload(self) -> dict[str, Any]:
        """Returns the graph as ``payload.schema.json`` has it: the same for the same graph in any process."""
        captured = capture([("graph", self.source)])
        return payloads([("graph", self)], captured)[0]

    def export_html(self, output_html: str | os.PathLike[str] = "model_graph.html") -> None:
        """Writes a page that needs neither a network nor a server; an existing file is replaced."""
        self._write(output_html, self._page())


def payloads(viewers: Sequence[tuple[str, FXGraphExporter]], captured: Captured) -> list[dict[str, Any]]:
    """Returns the payload of each viewer, drawn so that counterparts stand at equal heights.

    Args:
        viewers: Name and exporter of each pane of ``captured``.
    """
    nodes = [_nodes(one, captured, pane) for (_, one), pane in zip(viewers, captured.panes, strict=True)]
    labels = [_lines(one, known) for (_, one), known in zip(viewers, nodes, strict=True)]
    drawn = draw_panes(captured.panes, labels, captured.sets)
    parts = zip(viewers, nodes, drawn, strict=True)
    return [_payload(name, one, known, where) for (name, one), known, where in parts]


def _nodes(exporter: FXGraphExporter, captured: Captured, pane: CapturedPane) -> dict[str, GraphNode]:
    infos = stored_infos(captured, pane, exporter._enrich)
    for node_id, live in live_infos(exporter._live).items():
        if node_id in infos:
            infos[node_id] = {**live, **infos[node_id]}
    nodes = {node_id: GraphNode(node_id, info=info) for node_id, info in infos.items()}
    for node in nodes.values():
        node.label = _label(exporter, node)
        what = f"base tooltip formatter for node {node.id!r}"
        node.tooltip = checked_lines(exporter.base_tooltip_formatter, node, what)
    return nodes


def _label(exporter: FXGraphExporter, node: GraphNode) -> str:
    try:
        label = exporter.base_label_formatter(node)
    except Exception as error:  # the user's own function
        warnings.warn(f"base label formatter for node {node.id!r} failed: {error!r}", RuntimeWarning, stacklevel=4)
        return _default_label(node)
    if not isinstance(label, str):
        what = type(label).__name__
        warnings.warn(f"base label formatter must return str, not {what}", RuntimeWarning, stacklevel=4)
    return text_of(label)


def _lines(exporter: FXGraphExporter, nodes: Mapping[str, GraphNode]) -> dict[str, tuple[str, list[str]]]:
    """Returns what each box must have room for: its label, its name, and the lines of every layer."""
    added = [extension.labels() for extension in exporter.extensions]
    lines: dict[str, tuple[str, list[str]]] = {}
    for node_id, node in nodes.items():
        name = [str(node.info["name"])] if node.info["name"] != node.label else []
        lines[node_id] = node.label, [*name, *(line for labels in added for line in labels.get(node_id, ()))]
    return lines


def _payload(name: str, exporter: FXGraphExporter, nodes: Mapping[str, GraphNode], where: DrawnPane) -> dict[str, Any]:
    colors: dict[str, str] = {}
    legend: list[dict[str, str]] = []
    if exporter.base_color_rule:
        infos = {node_id: node.info for node_id, node in nodes.items()}
        colors, legend = applied(exporter.base_color_rule, infos, f"the base of {name!r}")
    for place in where.nodes:
        node = nodes[place.id]
        place.label, place.info, place.tooltip = node.label, node.info, node.tooltip
        place.fill_color = colors.get(place.id)
    for extension in exporter.extensions:
        _warn_of_unknown(name, extension, nodes)
    base = BaseGraphPayload(legend, where.nodes, where.edges, where.graphs, where.blocks)
    extensions = {extension.id: extension.build_payload() for extension in exporter.extensions}
    return asdict(GraphPayload(base, extensions))


def _warn_of_unknown(name: str, extension: GraphExtension, nodes: Mapping[str, GraphNode]) -> None:
    unknown = [node_id for node_id in extension.nodes_data if node_id not in nodes]
    if unknown:
        hint = nearest(unknown[0], nodes)
        warnings.warn(
            f"extension {extension.id!r}: {len(unknown)} of {len(extension.nodes_data)} ids name no node of {name!r}, "
            f"such as {unknown[0]!r}{f'; {hint}' if hint else ''}",
            RuntimeWarning,
            stacklevel=5,
        )


def _default_label(node: GraphNode) -> str:
    target = str(node.info.get("target") or node.info.get("op") or "")
    return target.removeprefix("aten.").removesuffix(".default")


def _default_tooltip(node: GraphNode) -> list[str]:
    return [
        f"{title}: {node.info.get(key, 'n/a')}" for title, key in (("Name", "name"), ("Op", "op"), ("Target", "target"))
    ]


@dataclass(frozen=True)
class DrawnPane:
    """Where everything in a pane stands; nodes have neither label nor info yet."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    graphs: list[GraphPart]
    blocks: list[GraphBlock]


def draw_panes(
    panes: Sequence[CapturedPane],
    labels: Sequence[Mapping[str, tuple[str, Sequence[str]]]],
    sets: Sets,
) -> list[DrawnPane]:
    """Draws panes so that counterparts stand at equal heights, as far as can be.

    Args:
        labels: Per pane, each node's first line and the lines under it, by the node's id.
        sets: Members of each sync set as (nid, is_primary).
    """
    drawn = [
        Pane(str(i), tuple(_drawn(graph, pane, texts) for graph in pane.graphs))
        for i, (pane, texts) in enumerate(zip(panes, labels, strict=True))
    ]
    if len(panes) > 1:
        drawn = list(aligned(drawn, sets))
    return [_placed(one.graphs, pane) for one, pane in zip(drawn, panes, strict=True)]


def _drawn(graph: StoredGraph, pane: CapturedPane, labels: Mapping[str, tuple[str, Sequence[str]]]) -> DrawnGraph:
    sizes = [lines_size(*labels[pane.ids[nid]]) for nid in graph.nodes["nid"].to_pylist()]
    pairs = list(zip(graph.edges["src"].to_pylist(), graph.edges["dst"].to_pylist(), strict=True))
    roles = graph.nodes["role"].to_pylist()
    drawing = draw(sizes, pairs, drawn_modules(graph.nodes), sides(sides_of(roles)))
    boxes = np.array(sizes, np.float32).reshape(-1, 2)
    nodes = graph.nodes
    for axis, name in enumerate(("width", "height")):
        column = pa.Array.from_buffers(pa.float32(), len(boxes), [None, pa.py_buffer(boxes[:, axis].tobytes())])
        nodes = nodes.append_column(name, column)
    return DrawnGraph(graph.title, nodes, graph.edges, drawing, graph.parent_nid)


def _placed(graphs: Sequence[DrawnGraph], pane: CapturedPane) -> DrawnPane:
    """Puts the graphs side by side, all at the same height."""
    placed = DrawnPane([], [], [], [])
    left = 0.0
    for number, graph in enumerate(graphs):
        drawing = graph.drawing
        ids = [pane.ids[nid] for nid in graph.nodes["nid"].to_pylist()]
        boxes = zip(*(graph.nodes[name].to_pylist() for name in ("width", "height")), strict=True)
        for i, (id_, (width, height)) in enumerate(zip(ids, boxes, strict=True)):
            x, y = float(drawing.x[i]) + left, float(drawing.y[i])
            placed.nodes.append(GraphNode(id_, x=x, y=y, width=width, height=height, topo_index=i))
        placed.edges.extend(_edges(graph, ids, left))
        for path, box in zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True):
            placed.blocks.append(GraphBlock(path, number, box[0] + left, *box[1:]))
        parent = pane.ids.get(graph.parent_nid) if graph.parent_nid is not None else None
        extent = left, 0.0, float(drawing.width), float(drawing.height)
        placed.graphs.append(GraphPart(graph.title, parent, len(ids), graph.edges.num_rows, *extent))
        left += float(drawing.width) + _APART
    return placed


def _edges(graph: DrawnGraph, ids: Sequence[str], left: float) -> list[GraphEdge]:
    drawing = graph.drawing
    points = drawing.points.astype(np.float64).tolist()
    starts = drawing.offsets.tolist()
    return [
        GraphEdge(
            ids[row["src"]],
            ids[row["dst"]],
            [{"x": x + left, "y": y} for x, y in points[starts[i] : starts[i + 1]]],
            row["src_port"],
            row["dst_arg"] or "",
            bool(drawing.feedback[i]),
        )
        for i, row in enumerate(graph.edges.to_pylist())
    ]
