"""One graph: from its source to a payload, a page, a script."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fxstore.errors import nearest
from fxstore.fx_viewer.capture import Captured, CapturedPane, Source, capture
from fxstore.fx_viewer.color_rules import ColorRule, applied, checked_rule
from fxstore.fx_viewer.drawing import DrawnPane, draw_panes
from fxstore.fx_viewer.extension import GraphExtension, checked_lines
from fxstore.fx_viewer.infos import live_infos, stored_infos
from fxstore.fx_viewer.models import BaseGraphPayload, GraphNode, GraphPayload
from fxstore.fx_viewer.plain import text_of
from fxstore.render import embedded
from fxstore.render.page import inline


class FXGraphExporter:
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

    def export_json(self, output_path: str | os.PathLike[str]) -> None:
        """Writes the payload; ``fxstore compare --payload`` makes a page of it again."""
        write_json(output_path, self.generate_json_payload())

    def export_js(self, container_id: str, *, runtime: bool = True) -> str:
        """Returns a script that shows the graph in the element of that id, on any page.

        Args:
            container_id: Id of the element.
            runtime: Whether the script carries the viewer, 290 KB. Without it the page loads that itself, once for all
                its graphs: :func:`fxstore.fx_viewer.runtime_js`.
        """
        return embedded.script(self.generate_json_payload(), container_id, runtime)

    def export_html(self, output_html: str | os.PathLike[str] = "model_graph.html") -> None:
        """Writes a page that needs neither a network nor a server; an existing file is replaced."""
        write_html(output_html, embedded.html(self.generate_json_payload(), "fxstore"))

    def _repr_html_(self) -> str:
        return inline(embedded.html(self.generate_json_payload(), "fxstore"))


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


def write_json(path: str | os.PathLike[str], payload: Mapping[str, Any]) -> None:
    """Writes a payload as JSON, and says so."""
    text = json.dumps(payload, indent=1, allow_nan=False)
    Path(path).write_text(text, encoding="utf-8")
    print(f"Wrote {os.fspath(path)}")


def write_html(path: str | os.PathLike[str], text: str) -> None:
    """Writes a page, and says so."""
    Path(path).write_text(text, encoding="utf-8", newline="\n")
    print(f"Wrote {os.fspath(path)}")
