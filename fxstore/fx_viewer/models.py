"""What a payload is made of. Field names are those of the JSON (``payload.schema.json``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Legend = list[dict[str, str]]


@dataclass
class GraphNode:
    """One node, as formatters get it.

    Attributes:
        id: The node's name; in a nested graph its path and name.
        label: The first line of its box.
        x: Centre of the box, in pixels.
        y: Centre of the box, in pixels; down is positive.
        topo_index: Its place in the graph.
        info: What is known of it: at least name, op, target.
        tooltip: Lines shown beside the pointer.
        fill_color: ``#rrggbb``, or None for the theme's.
    """

    id: str
    label: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 100.0
    height: float = 40.0
    topo_index: int = 0
    info: dict[str, Any] = field(default_factory=dict)
    tooltip: list[str] = field(default_factory=list)
    fill_color: str | None = None


@dataclass
class GraphEdge:
    """One use of a value.

    Attributes:
        v: Id of the node that gives it.
        w: Id of the node that takes it.
        points: Corners of the line, as ``{"x", "y"}``.
        src_port: Which of the giver's values it is.
        dst_arg: Path of the argument, ``0[1]``.
    """

    v: str
    w: str
    points: list[dict[str, float]] = field(default_factory=list)
    src_port: int = 0
    dst_arg: str = ""
    feedback: bool = False


@dataclass
class GraphPart:
    """One of a payload's graphs; ``parent`` is the id of the node that calls it, or None."""

    title: str
    parent: str | None
    nodes: int
    edges: int
    left: float
    top: float
    width: float
    height: float


@dataclass
class GraphBlock:
    """The box around a module of graph number ``graph``."""

    path: str
    graph: int
    left: float
    top: float
    width: float
    height: float


@dataclass
class BaseGraphPayload:
    """Nodes in topological order, graph by graph."""

    legend: Legend
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    graphs: list[GraphPart] = field(default_factory=list)
    blocks: list[GraphBlock] = field(default_factory=list)


@dataclass
class GraphExtensionNodePayload:
    """What an extension says of one node."""

    info: dict[str, Any] = field(default_factory=dict)
    tooltip: list[str] = field(default_factory=list)
    label_append: list[str] = field(default_factory=list)
    fill_color: str | None = None


@dataclass
class GraphExtensionPayload:
    """One layer over a graph."""

    id: str
    name: str
    legend: Legend = field(default_factory=list)
    nodes: dict[str, GraphExtensionNodePayload] = field(default_factory=dict)
    sync_keys: list[str] = field(default_factory=list)
    has_label_formatter: bool = False


@dataclass
class GraphPayload:
    """One graph and its layers."""

    base: BaseGraphPayload
    extensions: dict[str, GraphExtensionPayload]
    layout: dict[str, Any] = field(default_factory=dict)
    schema: str = "fxstore.graph"
    version: int = 1
