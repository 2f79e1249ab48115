"""Graphs and node data in Model Explorer's JSON, whoever wrote them.

A file holds a collection ``{"label", "graphs"}``, a list of ``{"label", "subgraphs"}``, or a list of graphs; node data
is ``{graph id: {"results": {node id: {"value"}}}}`` or one such ``{"results"}``. Follows the vendor's ``graph_builder``
and ``node_data_builder``; what is wrong with a graph (an id that stands twice, an edge from nowhere) is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from fxstore.ingest.build import NO_VALUE, NOWHERE, Place, Value
from fxstore.ingest.described import Node, Use, graph_of
from fxstore.ingest.names import op_type
from fxstore.ingest.overlays import Laid, NodeOverlay, RunNodes
from fxstore.ingest.typed_json import Malformed, each, member, optional, typed
from fxstore.records import Graph, Stage

_SHAPE: Final = re.compile(r"^(?:torch\.)?([a-z]\w*)\[(.*)\]$")
_CALL: Final = re.compile(r"^(.*):(\d{1,6})$")
_ESCAPED: Final = re.compile(r"^(?:[^%]|%[0-9A-Fa-f]{2})*$")
_HIDDEN: Final = "__"


def is_graphs(document: object) -> bool:
    """Tells whether a document is one of the shapes that graphs come in."""
    return bool(_collections(document))


def is_node_data(document: object) -> bool:
    """Tells whether a document is node data."""
    return bool(_results(document))


def stages_of(document: object) -> list[Stage]:
    """Returns one stage per graph that no other graph's node leads to; those that one leads to are nested in it.

    Raises:
        Malformed: A graph does not follow the schema.
    """
    collections = _collections(document)
    stages: list[Stage] = []
    for label, graphs in collections:
        prefix = f"{label}/" if len(collections) > 1 else ""
        stages += _Collection(graphs).stages(prefix)
    taken: dict[str, int] = {}
    named = []
    for stage in stages:
        taken[stage.name] = count = taken.get(stage.name, 0) + 1
        name = stage.name if count == 1 else f"{stage.name}#{count}"
        named.append(Stage(name, stage.graphs, stage.kind, stage.status, stage.note))
    return named


def _collections(document: object) -> list[tuple[str, list[dict[str, object]]]]:
    if isinstance(document, dict) and isinstance(document.get("graphCollections"), list):
        return [found for item in document["graphCollections"] for found in _collections(item)]
    if isinstance(document, dict) and isinstance(document.get("graphs"), list):
        graphs = document["graphs"]
        return [(str(document.get("label") or ""), graphs)] if _are_graphs(graphs) else []
    if not isinstance(document, list) or not document or not isinstance(document[0], dict):
        return []
    if all(isinstance(item, dict) and _are_graphs(item.get("subgraphs")) for item in document):
        return [(str(item.get("label") or ""), item["subgraphs"]) for item in document]
    return [("", document)] if _are_graphs(document) else []


def _are_graphs(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "id" in one and isinstance(one.get("nodes"), list) for one in value)
    )


class _Collection:
    """The graphs of one collection; which of them is nested in which."""

    def __init__(self, graphs: list[dict[str, object]]) -> None:
        self.graphs: dict[str, dict[str, object]] = {}
        for graph in graphs:
            name, count = member(graph, "id", str), 1
            while name in self.graphs:
                count += 1
                name = f"{member(graph, 'id', str)}#{count}"
            self.graphs[name] = graph
        self.inner = {
            inner: (outer, member(node, "id", str))
            for outer, graph in self.graphs.items()
            for node in each(member(graph, "nodes", list), dict, "a node")
            for inner in each(optional(node, "subgraphIds", list) or [], str, "the id of a subgraph")
            if inner in self.graphs and inner != outer
        }

    def stages(self, prefix: str) -> Iterator[Stage]:
        tops = [name for name in self.graphs if name not in self.inner] or list(self.graphs)[:1]
        for name in tops:
            notes: list[str] = []
            graphs = tuple(self._graphs(name, "", None, notes, {name}))
            note = "; ".join(notes) or None
            yield Stage(prefix + name, graphs, "graph", "partial" if notes else "complete", note)

    def _graphs(
        self, name: str, path: str, parent: tuple[str, int] | None, notes: list[str], seen: set[str]
    ) -> Iterator[Graph]:
        rows = list(each(member(self.graphs[name], "nodes", list), dict, "a node"))
        ports = {member(row, "id", str): _ports(row) for row in rows}
        undeclared: list[str] = []
        graph, found = graph_of([_node(row, ports, undeclared) for row in rows], "forward", path, parent)
        if undeclared:
            found.append(
                f"{len(undeclared)} edges read an output that their source does not declare, as port 0: "
                f"the first {undeclared[0]}"
            )
        notes += [f"{path or name}: {note}" for note in found]
        yield graph
        positions = dict(zip(graph.nodes["name"].to_pylist(), range(len(graph.nodes)), strict=True))
        for inner, (outer, caller) in self.inner.items():
            if outer == name and inner not in seen and caller in positions:
                seen.add(inner)
                deeper = f"{path}/{inner}" if path else inner
                yield from self._graphs(inner, deeper, (path, positions[caller]), notes, seen)


def _node(row: dict[str, object], ports: Mapping[str, Mapping[str, int]], undeclared: list[str]) -> Node:
    name = member(row, "id", str)
    label = optional(row, "label", str) or name
    attrs = _attributes(optional(row, "attrs", list) or [])
    namespace = optional(row, "namespace", str) or ""
    op = str(attrs.get("op") or attrs.get("kind") or "")
    role = _role(namespace, label, op)
    return Node(
        name,
        label if role in ("input", "output") else op_type(label),
        [_use(edge, ports, undeclared) for edge in each(optional(row, "incomingEdges", list) or [], dict, "an edge")],
        _values(row) or [NO_VALUE],
        role,
        target=label,
        place=_place("" if role == "input" and namespace.lower() in _INPUTS else namespace),
        attrs={"attrs": attrs} if attrs else {},
    )


_INPUTS: Final = frozenset({"inputs", "input", "graphinputs"})
_OUTPUTS: Final = frozenset({"outputs", "output", "graphoutputs"})


def _role(namespace: str, label: str, op: str) -> str:
    """Inputs and outputs stand in a namespace of their own, by every adapter of the vendor's."""
    if op == "placeholder" or (namespace.lower() in _INPUTS) or label in ("GraphInputs", "placeholder"):
        return "input"
    if op == "output" or namespace.lower() in _OUTPUTS or label in ("GraphOutputs", "output"):
        return "output"
    return "op"


def _use(edge: dict[str, object], ports: Mapping[str, Mapping[str, int]], undeclared: list[str]) -> Use:
    source = member(edge, "sourceNodeId", str)
    output = _id(edge.get("sourceNodeOutputId"))
    declared = ports.get(source, {})
    port = declared.get(output, 0)
    if output not in declared and output != "0":
        undeclared.append(f"{source}:{output}")
    argument = edge.get("targetNodeInputId")
    return Use(source, port, None if argument is None else _id(argument))


def _id(value: object) -> str:
    return str(value) if isinstance(value, int) else typed("0" if value is None else value, str, "the id of a port")


def _ports(row: dict[str, object]) -> dict[str, int]:
    """Returns the outputs that a node declares: numbers by the number that they are, others in order."""
    given = each(optional(row, "outputsMetadata", list) or [], dict, "an output")
    names = list(dict.fromkeys(_id(item.get("id")) for item in given))
    if all(name.isdecimal() and len(name) <= 4 for name in names):
        return {name: int(name) for name in names}
    return {name: i for i, name in enumerate(names)}


def _values(row: dict[str, object]) -> list[Value]:
    ports = _ports(row)
    values = [NO_VALUE] * (max(ports.values(), default=-1) + 1)
    for item in each(optional(row, "outputsMetadata", list) or [], dict, "an output"):
        values[ports[_id(item.get("id"))]] = _value(_attributes(optional(item, "attrs", list) or []))
    return values


def _value(attrs: Mapping[str, object]) -> Value:
    dtype, shape = attrs.get("dtype"), attrs.get("shape")
    match = _SHAPE.match(str(attrs.get("tensor_shape") or ""))
    if match and not isinstance(dtype, str):
        dtype, shape = match[1], match[2]
    if not isinstance(dtype, str):
        return NO_VALUE
    sizes = [part.strip(" []()'\"") for part in str(shape or "").split(",")]
    return Value(dtype.removeprefix("torch."), tuple(size for size in sizes if size))


def _attributes(items: Iterable[object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in each(items, dict, "an attribute"):
        key, value = member(item, "key", str), item.get("value")
        if not (key.startswith(_HIDDEN) and key != "__tensor_tag"):
            found[key] = value
    return found


def _place(namespace: str) -> Place:
    """Returns the module that a namespace stands for; ``blk:2`` is its second call."""
    parts = [unquote(part) if _ESCAPED.match(part) else part for part in namespace.split("/") if part]
    call = None
    if parts and (match := _CALL.match(parts[-1])):
        call = int(match[2])
    path = ".".join(match[1] if (match := _CALL.match(part)) else part for part in parts)
    return Place(path, None, call) if path else NOWHERE


def _results(document: object) -> dict[str | None, dict[str, object]]:
    """Returns the node data of a document by graph id; None for a document that names no graph."""
    if not isinstance(document, dict) or not document:
        return {}
    if isinstance(document.get("results"), dict):
        return {None: document}
    if all(isinstance(one, dict) and isinstance(one.get("results"), dict) for one in document.values()):
        return dict(document)
    return {}


@dataclass(frozen=True)
class NodeData:
    """Node data: one overlay per graph that it names, laid on the stage of that graph's id."""

    document: object
    name: str

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlays; a graph whose id is no stage is looked for in all stages."""
        stages = {stage.name for stage in run.stages}
        for graph, data in _results(self.document).items():
            stage = graph if graph in stages else _ending(stages, graph)
            for overlay in _overlays(data, self.name, stage):
                yield from overlay.lay(run)


def _ending(stages: set[str], graph: str | None) -> str | None:
    found = [stage for stage in stages if graph is not None and stage.rpartition("/")[2] == graph]
    return found[0] if len(found) == 1 else None


def _overlays(data: dict[str, object], name: str, stage: str | None) -> Iterator[NodeOverlay]:
    label = optional(data, "name", str) or name
    rows = [
        {"stage": stage, "node": node, "port": 0, "metric": label, "sample": 0, **_result(result)}
        for node, result in member(data, "results", dict).items()
    ]
    kind = "category" if rows and all(row["value"] is None for row in rows) else "statistics"
    yield NodeOverlay.of(label, kind, rows, source="Model Explorer node data")


def _result(result: object) -> dict[str, object]:
    value = result.get("value") if isinstance(result, dict) else result
    if isinstance(value, bool) or value is None:
        return {"value": None, "text": None if value is None else str(value).lower()}
    if isinstance(value, (int, float)):
        return {"value": float(value), "text": None}
    if isinstance(value, str):
        return {"value": None, "text": value}
    raise Malformed("a value should be a number or a text")
