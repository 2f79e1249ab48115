"""Graphs in Model Explorer's JSON, whoever wrote them.

A file holds a collection ``{"label", "graphs"}``, a list of ``{"label", "subgraphs"}``, or a list of graphs, as the
vendor's ``graph_builder`` has them; what is wrong with one (an id that stands twice, an edge from nowhere) is noted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fxstore.ingest.json_input import Malformed, each, member, optional
from fxstore.ingest.node_table import Node, graph_of
from fxstore.ingest.others.model_explorer_nodes import ProgramReader, Reader, attributes_of, is_programs, tensor_names
from fxstore.ingest.others.torchlens_files import is_execution
from fxstore.ingest.overlays import Laid, NodeOverlay, Place, RunNodes
from fxstore.records import EXECUTED, Graph, Stage

# Node data of Model Explorer's: values by the ids of nodes, or by the names of their outputs.
#
# A file holds ``{graph id: {"results": {node id: {"value"}}}}`` or one such ``{"results"}``, as the vendor's
# ``node_data_builder`` has them.


KIND = "graph"
"""Kind of the stages that are read from graphs as JSON."""
KEYS = "called"
"""Attribute of a node that was read from such a graph: its id and the names of its outputs, where not its own name."""


def is_node_data(document: object) -> bool:
    """Tells whether a document is node data."""
    return bool(_results(document))


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
    better: str | None = None

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlays; each on the stage or nested graph of its id, else on the graph that has its nodes."""
        for graph, data in _results(self.document).items():
            keys = member(data, "results", dict).keys()
            places = _places(run, graph, keys)
            names = _names(places)
            stages = {place.stage.name for place in places}
            for overlay in _overlays(data, self.name, stages.pop() if len(stages) == 1 else None, names):
                yield from replace(overlay, better=self.better).lay(run)


def _places(run: RunNodes, graph: str | None, keys: Iterable[str]) -> list[Place]:
    """Returns the graphs that data may be for.

    A stage is called as the graph, with all graphs nested in it; or a nested graph is; or a stage's name ends so.
    Where none is, it is any graph of Model Explorer's, and of these the one that has most of the nodes.
    """
    for known in (
        [place for place in run.places if place.stage.name == graph],
        [place for place in run.places if graph is not None and place.graph.path.rpartition("/")[2] == graph],
        [place for place in run.places if graph is not None and place.stage.name.rpartition("/")[2] == graph],
    ):
        if known and (known[0].graph.path or len({place.stage.name for place in known}) == 1):
            return known
    others = [place for place in run.places if place.stage.kind in (KIND, EXECUTED)]
    asked = set(keys)
    shared = {place.base: len(asked & (_names([place]).keys() | set(_called(place)))) for place in others}
    most = max(shared.values(), default=0)
    best = {place.stage.name for place in others if most and shared[place.base] == most}
    return [place for place in others if place.stage.name in best] if best else run.places


def _called(place: Place) -> list[str]:
    names: list[str] = place.graph.nodes["name"].to_pylist()
    return names


def _names(places: Iterable[Place]) -> dict[str, tuple[str, str, str]]:
    """Returns the stage, path and name of a node by what node data may call it where that is not its name."""
    found: dict[str, tuple[str, str, str]] = {}
    for place in places:
        for name, attrs in zip(_called(place), place.graph.nodes["attrs"].to_pylist(), strict=True):
            if attrs and f'"{KEYS}"' in attrs:
                keys = json.loads(attrs).get(KEYS)
                where = (place.stage.name, place.graph.path, name)
                found.update((key, where) for key in keys or () if isinstance(key, str))
    return found


def _overlays(
    data: dict[str, object], name: str, stage: str | None, names: Mapping[str, tuple[str, str, str]]
) -> Iterator[NodeOverlay]:
    label = optional(data, "name", str) or name
    rows = []
    for key, result in member(data, "results", dict).items():
        in_stage, path, node = names.get(key, (stage, None, key))
        where = {"stage": in_stage, "path": path, "node": node}
        rows.append({**where, "port": 0, "metric": label, "sample": 0, **_result(result)})
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


def is_graphs(document: object) -> bool:
    """Tells whether a document is one of the shapes that graphs come in."""
    return bool(_collections(document))


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
            rows = list(each(member(self.graphs[name], "nodes", list), dict, "a node"))
            kind = EXECUTED if is_execution(map(attributes_of, rows)) else KIND
            yield Stage(prefix + name, graphs, kind, "partial" if notes else "complete", note)

    def _graphs(
        self, name: str, path: str, parent: tuple[str, int] | None, notes: list[str], seen: set[str]
    ) -> Iterator[Graph]:
        rows = list(each(member(self.graphs[name], "nodes", list), dict, "a node"))
        types = _types(optional(self.graphs[name], "groupNodeAttributes", dict) or {})
        reader = ProgramReader(rows, types) if is_programs(rows) else Reader(rows, types)
        nodes = [_known(node, row) for node, row in zip(reader.nodes(), rows, strict=True)]
        graph, found = graph_of(nodes, "forward", path, parent)
        if reader.undeclared:
            found.append(
                f"{len(reader.undeclared)} edges read an output that their source does not declare, as port 0: "
                f"the first {reader.undeclared[0]}"
            )
        notes += [f"{path or name}: {note}" for note in found]
        yield graph
        names = reader.names
        positions = dict(zip(graph.nodes["name"].to_pylist(), range(len(graph.nodes)), strict=True))
        for inner, (outer, caller) in self.inner.items():
            if outer == name and inner not in seen and names.get(caller) in positions:
                seen.add(inner)
                deeper = f"{path}/{inner}" if path else inner
                yield from self._graphs(inner, deeper, (path, positions[names[caller]]), notes, seen)


def _known(node: Node, row: dict[str, object]) -> Node:
    """Keeps what node data may call a node where that is not its name."""
    keys = [key for key in (member(row, "id", str), *tensor_names(row)) if key != node.name]
    return replace(node, attrs={**node.attrs, KEYS: keys}) if keys else node


def _types(rows: Mapping[str, object]) -> dict[str, str]:
    """Returns the types of modules by namespace, where a file's rows of layers tell them."""
    found: dict[str, str] = {}
    for namespace, row in rows.items():
        said = row if isinstance(row, dict) else {}
        known = [said[key] for key in ("type", "module_type", "class") if isinstance(said.get(key), str)]
        found.update((namespace, kind) for kind in known[:1])
    return found
