"""A graph of Model Explorer's as plain data; what has a wrong type in it is noted and left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fxstore.model_explorer.validation.checks import KINDS, Findings, quoted

_T = TypeVar("_T")
Pair = tuple[str, object]

_ENDS = ("sourceNodeId", "targetNodeId")


@dataclass(frozen=True)
class Edge:
    """One use of a value: by which node, from which of its outputs, into which input."""

    source: str
    output: str
    target: str


@dataclass(frozen=True)
class Port:
    """What is said of one output or input."""

    id: str
    attrs: list[Pair]


@dataclass(frozen=True)
class Node:
    """One node; ``pinned`` says whether it asks for a place at the top of its layer."""

    id: str
    label: str
    namespace: str
    attrs: list[Pair] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    subgraphs: list[str] = field(default_factory=list)
    pinned: bool = False


@dataclass(frozen=True)
class Graph:
    """One graph.

    Attributes:
        rows: ``groupNodeAttributes``: keys and values by namespace.
        hidden: Labels that the graph itself hides; None where it leaves that to the app.
        patterns: The regular expressions of ``groupNodeConfigs``.
        distances: ``layoutConfigs``.
        overlays: The ends of each edge of an overlay, by the overlay's name.
    """

    id: str
    nodes: list[Node]
    rows: Mapping[str, Mapping[str, object]]
    hidden: list[str] | None
    patterns: list[str]
    distances: Mapping[str, object]
    overlays: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Reader:
    """Takes typed parts out of JSON; each that is missing or of another type is a finding of ``shape``."""

    findings: Findings
    graph: str | None = None
    node: str | None = None

    def wrong(self, what: str, wanted: type, found: object) -> None:
        """Notes that something is of a wrong type."""
        said = "is missing" if found is None else f"is {quoted(found) if isinstance(found, str) else _kind(found)}"
        self.findings.add("shape", f"{what} {said}, and should be {KINDS[wanted]}", self.graph, self.node)

    def take(self, row: Mapping[str, Any], key: str, kind: type[_T], what: str, needed: bool = False) -> _T | None:
        """Returns a part of an object; None where it is not there or not of that type."""
        value = row.get(key)
        if isinstance(value, kind):
            return value
        if value is not None or needed:
            self.wrong(f"{key} of {what}", kind, value)
        return None

    def rows(self, row: Mapping[str, Any], key: str, what: str) -> Iterator[dict[str, Any]]:
        """Yields the objects of a list of an object."""
        for item in self.take(row, key, list, what) or []:
            if isinstance(item, dict):
                yield item
            else:
                self.wrong(f"an item of {key} of {what}", dict, item)

    def texts(self, row: Mapping[str, Any], key: str, what: str) -> list[str]:
        """Returns the texts of a list of an object."""
        given = self.take(row, key, list, what) or []
        for item in given:
            if not isinstance(item, str):
                self.wrong(f"an item of {key} of {what}", str, item)
        return [item for item in given if isinstance(item, str)]


def _kind(value: object) -> str:
    return "a number" if type(value) in (int, float) else KINDS.get(type(value), type(value).__name__)


def graph_of(row: Mapping[str, Any], findings: Findings) -> Graph:
    """Returns what a graph holds."""
    name = row.get("id") if isinstance(row.get("id"), str) else None
    read = Reader(findings, name)
    read.take(row, "id", str, "a graph", needed=True)
    if row.get("nodes") is None:
        read.wrong("nodes of a graph", list, None)
    nodes = [_node(node, findings, name) for node in read.rows(row, "nodes", "a graph")]
    rows = read.take(row, "groupNodeAttributes", dict, "a graph") or {}
    hidden = read.texts(row, "nodeLabelsToHide", "a graph") if row.get("nodeLabelsToHide") is not None else None
    configs = read.rows(row, "groupNodeConfigs", "a graph")
    patterns = [read.take(one, "namespaceRegex", str, "a group's config", needed=True) for one in configs]
    return Graph(
        name or "",
        [node for node in nodes if node is not None],
        {namespace: _row(namespace, one, read) for namespace, one in rows.items()},
        hidden,
        [pattern for pattern in patterns if pattern is not None],
        read.take(row, "layoutConfigs", dict, "a graph") or {},
        list(_overlays(row, read)),
    )


def _row(namespace: str, row: object, read: Reader) -> dict[str, object]:
    if not isinstance(row, dict):
        read.wrong(f"the row of {quoted(namespace)} in groupNodeAttributes", dict, row)
        return {}
    for key, value in row.items():
        if not isinstance(value, str):
            read.wrong(f"{quoted(key)} of the row of {quoted(namespace)} in groupNodeAttributes", str, value)
    return row


def _node(row: Mapping[str, Any], findings: Findings, graph: str | None) -> Node | None:
    name = row.get("id")
    read = Reader(findings, graph, name if isinstance(name, str) else None)
    parts = [read.take(row, key, str, "a node", needed=True) for key in ("id", "label", "namespace")]
    if parts[0] is None:
        return None
    config = read.take(row, "config", dict, "a node") or {}
    style = read.take(row, "style", dict, "a node") or {}
    for key in style:
        read.take(style, key, str, "a style")
    return Node(
        parts[0],
        parts[0] if parts[1] is None else parts[1],
        parts[2] or "",
        list(_pairs(row, "attrs", "a node", read)),
        list(_edges(row, read)),
        list(_ports(row, "inputsMetadata", read)),
        list(_ports(row, "outputsMetadata", read)),
        read.texts(row, "subgraphIds", "a node"),
        bool(config.get("pinToGroupTop") or config.get("pinToGroupBottom")),
    )


def _pairs(row: Mapping[str, Any], key: str, what: str, read: Reader) -> Iterator[Pair]:
    for item in read.rows(row, key, what):
        name = read.take(item, "key", str, "an attribute", needed=True)
        if name is not None:
            yield name, item.get("value")


def _edges(row: Mapping[str, Any], read: Reader) -> Iterator[Edge]:
    for item in read.rows(row, "incomingEdges", "a node"):
        keys = ("sourceNodeId", "sourceNodeOutputId", "targetNodeInputId")
        source, output, target = (read.take(item, key, str, "an edge", needed=True) for key in keys)
        if source is not None and output is not None and target is not None:
            yield Edge(source, output, target)


def _ports(row: Mapping[str, Any], key: str, read: Reader) -> Iterator[Port]:
    for item in read.rows(row, key, "a node"):
        name = read.take(item, "id", str, f"an item of {key}", needed=True)
        if item.get("attrs") is None:
            read.wrong(f"attrs of an item of {key}", list, None)
        pairs = list(_pairs(item, "attrs", f"an item of {key}", read))
        for attr, value in pairs:
            if not isinstance(value, str):
                read.wrong(f"{quoted(attr)} of an item of {key}", str, value)
        if name is not None:
            yield Port(name, [pair for pair in pairs if isinstance(pair[1], str)])


def _overlays(row: Mapping[str, Any], read: Reader) -> Iterator[tuple[str, str, str]]:
    tasks = read.take(row, "tasksData", dict, "a graph") or {}
    for key in ("edgeOverlaysDataListLeftPane", "edgeOverlaysDataListRightPane"):
        for data in read.rows(tasks, key, "tasksData"):
            for overlay in read.rows(data, "overlays", "an overlay of edges"):
                name = read.take(overlay, "name", str, "an overlay of edges", needed=True) or ""
                for edge in read.rows(overlay, "edges", "an overlay of edges"):
                    ends = [read.take(edge, end, str, "an edge of an overlay", needed=True) for end in _ENDS]
                    if ends[0] is not None and ends[1] is not None:
                        yield name, ends[0], ends[1]
