"""Graphs in Model Explorer's JSON, whoever wrote them.

A file holds a collection ``{"label", "graphs"}``, a list of ``{"label", "subgraphs"}``, or a list of graphs, as the
vendor's ``graph_builder`` has them; what is wrong with one (an id that stands twice, an edge from nowhere) is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fxstore.ingest.described import Node, graph_of
from fxstore.ingest.model_explorer_data import KEYS, KIND
from fxstore.ingest.model_explorer_nodes import Reader, attributes_of, tensor_names
from fxstore.ingest.model_explorer_pytorch import ProgramReader, is_programs
from fxstore.ingest.torchlens_files import is_execution
from fxstore.ingest.typed_json import each, member, optional
from fxstore.records import EXECUTED, Graph, Stage


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
