"""A layer over a graph: data on some of its nodes, and how to show it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fxstore.fx_viewer.color_rules import ColorRule, applied, checked_rule
from fxstore.fx_viewer.models import GraphExtensionNodePayload, GraphExtensionPayload, Legend, plain

Lines = Callable[[dict[str, Any]], list[str]]


class GraphExtension:
    """Data on nodes of one graph, shown as a layer that can be switched on and off.

    Args:
        id: Names the layer in ``active_extensions``, ``color_by`` and the page's script.
        name: What the page calls it.

    Raises:
        ValueError: One of them is empty, or no text.
    """

    def __init__(self, id: str, name: str) -> None:
        for what, given in (("id", id), ("name", name)):
            if not isinstance(given, str) or not given.strip():
                raise ValueError(f"GraphExtension {what} must be non-empty text, not {given!r}")
        self.id = id.strip()
        self.name = name
        self.nodes_data: dict[str, dict[str, Any]] = {}
        self.sync_keys: list[str] = []
        self.color_rule: ColorRule | None = None
        self.label_formatter: Lines | None = None
        self.tooltip_formatter: Lines | None = None

    def add_node_data(self, node_id: object, data: dict[str, Any]) -> None:
        """Adds to what is known of a node.

        Args:
            node_id: The node's name, or the ``torch.fx.Node``; in a nested graph path and name, ``true_graph_0/add``.
            data: Added to what was given before; a key given again takes the new value.
        """
        self.nodes_data.setdefault(str(node_id), {}).update(data)

    def set_color_rule(self, rule: ColorRule) -> None:
        """Colours the nodes, where the page colours by this layer.

        Raises:
            TypeError: It is no colour rule.
        """
        self.color_rule = checked_rule(rule)

    def set_sync_key(self, field: str) -> None:
        """Offers a key of the data as one that nodes of several graphs can be matched by (sync mode ``layer``)."""
        if field not in self.sync_keys:
            self.sync_keys.append(field)

    def set_label_formatter(self, formatter: Lines) -> None:
        """Adds lines to a node's box; the formatter gets the node's data."""
        self.label_formatter = formatter

    def set_tooltip_formatter(self, formatter: Lines) -> None:
        """Adds lines to what is shown beside the pointer; the formatter gets the node's data."""
        self.tooltip_formatter = formatter

    def labels(self) -> dict[str, list[str]]:
        """Returns the lines that each node's box has more."""
        return self._lines(self.label_formatter, "label")

    def build_payload(self) -> GraphExtensionPayload:
        """Returns the layer as data."""
        colors: dict[str, str] = {}
        legend: Legend = []
        if self.color_rule:
            colors, legend = applied(self.color_rule, self.nodes_data, f"extension {self.id!r}")
        labels, tooltips = self.labels(), self._lines(self.tooltip_formatter, "tooltip")
        nodes = {
            node: GraphExtensionNodePayload(plain(data), tooltips.get(node, []), labels.get(node, []), colors.get(node))
            for node, data in self.nodes_data.items()
        }
        return GraphExtensionPayload(
            self.id, self.name, legend, nodes, list(self.sync_keys), self.label_formatter is not None
        )

    def build(self) -> dict[str, Any]:
        """Returns the layer as a dict."""
        return asdict(self.build_payload())

    def _lines(self, formatter: Lines | None, kind: str) -> dict[str, list[str]]:
        if formatter is None:
            return {}
        found = {}
        for node, data in self.nodes_data.items():
            lines = checked_lines(formatter, data, f"{kind} formatter of extension {self.id!r} for node {node!r}")
            if lines:
                found[node] = lines
        return found


def checked_lines(formatter: Callable[[Any], Any], argument: object, what: str) -> list[str]:
    """Returns the formatter's lines; none, with a RuntimeWarning, where it fails or gives something else."""
    try:
        lines = formatter(argument)
    except Exception as error:  # the user's own function
        warnings.warn(f"{what} failed: {error!r}", RuntimeWarning, stacklevel=3)
        return []
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        warnings.warn(f"{what} must return list[str], not {type(lines).__name__}", RuntimeWarning, stacklevel=3)
        return []
    return lines
