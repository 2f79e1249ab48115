"""Which kind of file a document is, and the checks of the file: its values, its graphs, the calls between them.

One pass per graph: :func:`check_nodes`, :func:`check_edges`, :func:`check_layers`. Node data and sync files are checked
against the graphs of other files, if there are any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from fxstore.model_explorer.names import PROTOTYPE
from fxstore.model_explorer.validation.checks import KINDS, Finding, Findings, listed, quoted
from fxstore.model_explorer.validation.edges import check_edges, check_layers
from fxstore.model_explorer.validation.nodes import check_nodes
from fxstore.model_explorer.validation.overlays import check_node_data, check_sync, is_node_data
from fxstore.model_explorer.validation.read import Graph, Reader, graph_of

Kind = Literal["graphs", "node data", "sync"]
_EXACT: Final = 2**53
_DEEPEST: Final = 500

_MOST_WAYS: Final = 10_000
_MOST_LAYERS: Final = 1000
_MOST_TEXT: Final = 50_000_000


def validate(
    payload: object, strict: bool = False, graphs: Sequence[object] = (), repeated: Iterable[str] = ()
) -> list[Finding]:
    """Checks a file of Model Explorer's: graphs, node data or a sync file.

    Args:
        payload: A collection, a list of collections or of graphs, node data, or a sync file; as parsed from its JSON.
        strict: Takes warnings for errors, too.
        graphs: The payloads that node data or a sync file is for; the left pane's first, then the right one's.
        repeated: Keys that stood twice in one object of the file; parsed JSON does not show them any more.

    Returns:
        What was found, in the order of the file; an empty list says that the app loses nothing of it.
    """
    findings = Findings(strict)
    for key in repeated:
        findings.add("repeated_key", quoted(key))
    if not _check_values(payload, findings):
        return findings.all()
    kind = kind_of(payload)
    if kind == "graphs":
        check_collections(_collections(payload, findings), findings)
        return findings.all()
    assert isinstance(payload, dict)
    known = [[graph for one in _collections(given, Findings()) for graph in one] for given in graphs]
    if kind == "sync":
        check_sync(payload, known, findings)
    else:
        check_node_data(payload, [graph for one in known for graph in one], findings)
    return findings.all()


def kind_of(payload: object) -> Kind:
    """Returns what kind of file a document is; what is none of them is judged as graphs."""
    if isinstance(payload, dict) and not {"graphs", "graphCollections"} & payload.keys():
        if {"mappingEntries", "mapping"} & payload.keys():
            return "sync"
        if is_node_data(payload):
            return "node data"
    return "graphs"


def _check_values(payload: object, findings: Findings) -> bool:
    """Checks each number; tells whether the nesting can be followed."""
    stack: list[tuple[object, int]] = [(payload, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > _DEEPEST:
            findings.add("shape", f"is nested deeper than {_DEEPEST}")
            return False
        if isinstance(value, dict):
            stack += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list):
            stack += [(one, depth + 1) for one in value]
        elif isinstance(value, float) and not math.isfinite(value):
            findings.add("non_finite", str(value))
        elif isinstance(value, int) and abs(value) > _EXACT and (abs(value) >= 10**300 or int(float(value)) != value):
            findings.add("inexact_number", str(value) if abs(value) < 10**30 else "more than 30 digits")
    return True


def _collections(payload: object, findings: Findings) -> list[list[Graph]]:
    """Returns the graphs of each collection of a payload."""
    if isinstance(payload, dict):
        if "graphCollections" in payload:
            said = "is an adapter's answer, which the app does not read from a file: take one collection out of it"
            findings.add("shape", said)
            rows = Reader(findings).rows(payload, "graphCollections", "the file")
            return [_graphs(one, "graphs", findings) for one in rows]
        return [_graphs(payload, "graphs", findings)]
    if not isinstance(payload, list):
        said = KINDS.get(type(payload), "a number")
        findings.add("shape", f"is {said}, and should be a collection, or a list of collections or graphs")
        return []
    if not payload:
        findings.add("shape", "is an empty list")
    if any(isinstance(one, dict) and "subgraphs" in one for one in payload):
        rows = Reader(findings).rows({"collections": payload}, "collections", "the file")
        return [_graphs(one, "subgraphs", findings) for one in rows]
    return [_graphs({"label": "", "graphs": payload}, "graphs", findings)]


def _graphs(collection: dict[str, Any], key: str, findings: Findings) -> list[Graph]:
    read = Reader(findings)
    read.take(collection, "label", str, "a collection", needed=True)
    if collection.get(key) is None:
        read.wrong(f"{key} of a collection", list, None)
    return [graph_of(row, findings) for row in read.rows(collection, key, "a collection")]


def check_collections(collections: Sequence[Sequence[Graph]], findings: Findings) -> None:
    """Checks all graphs of a file."""
    seen: set[str] = set()
    for graphs in collections:
        for graph in graphs:
            if not graph.id:
                findings.add("bad_graph_id", "the id of a graph is empty", graph.id)
            elif graph.id in PROTOTYPE:
                findings.add("bad_graph_id", "every JavaScript object has that name", graph.id)
            if graph.id in seen:
                findings.add("duplicate_graph_id", "a graph before it has this id", graph.id)
            seen.add(graph.id)
            # The app names each layer with all those around it, so deep ones are much text.
            given = {node.namespace: node.namespace.count("/") for node in graph.nodes}
            deepest, text = max(given.values(), default=0), sum(len(name) * depth for name, depth in given.items())
            if deepest > _MOST_LAYERS or text > _MOST_TEXT:
                findings.add("deep_namespace", f"{deepest} layers in each other, {len(given)} namespaces", graph.id)
                continue
            check_nodes(graph, findings)
            check_edges(graph, findings)
            check_layers(graph, findings)
        _check_calls(graphs, findings)


def _check_calls(graphs: Sequence[Graph], findings: Findings) -> None:
    calls: dict[str, dict[str, None]] = {graph.id: {} for graph in graphs}
    for graph in graphs:
        for node in graph.nodes:
            missing = [called for called in node.subgraphs if called not in calls]
            if missing:
                findings.add("unresolved_subgraph", f"it leads to {listed(missing)}", graph.id, node.id)
            calls[graph.id].update((called, None) for called in node.subgraphs if called in calls)
    ways = dict(_ways(calls))
    for name in calls:
        if name not in ways:
            findings.add("graph_cycle", f"it leads to {listed(calls[name])}", name)
    if sum(ways.values()) > _MOST_WAYS:
        most = max(ways, key=lambda name: ways[name])
        count = ways[most] if ways[most] < 10**9 else "more than a thousand million"
        findings.add("graph_paths", f"{count} ways lead to {quoted(most)}", most)


def _ways(calls: Mapping[str, Mapping[str, None]]) -> Iterator[tuple[str, int]]:
    """Yields each graph that no cycle leads to, with how many ways lead to it from those that nothing leads to."""
    waiting = Counter(called for found in calls.values() for called in found)
    ways = dict.fromkeys(calls, 0)
    ready = [name for name in calls if not waiting[name]]
    ways.update(dict.fromkeys(ready, 1))
    while ready:
        name = ready.pop()
        yield name, ways[name]
        for called in calls[name]:
            ways[called] += ways[name]
            waiting[called] -= 1
            if not waiting[called]:
                ready.append(called)
