"""Checks of the graphs of a file together: their ids, and which of them lead to which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fxstore.model_explorer.names import PROTOTYPE
from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.edges import check_edges
from fxstore.model_explorer.validation.layers import check_layers
from fxstore.model_explorer.validation.nodes import check_nodes
from fxstore.model_explorer.validation.read import Graph

_MOST_WAYS: Final = 10_000
_DEEPEST: Final = 1000
_MOST_TEXT: Final = 50_000_000


def check_collections(collections: Sequence[Sequence[Graph]], findings: Findings) -> None:
    """Checks all graphs of a file."""
    seen: set[str] = set()
    for graphs in collections:
        for graph in graphs:
            _check_id(graph.id, seen, findings)
            seen.add(graph.id)
            if _too_deep(graph, findings):
                continue
            check_nodes(graph, findings)
            check_edges(graph, findings)
            check_layers(graph, findings)
        _check_calls(graphs, findings)


def _check_id(name: str, seen: set[str], findings: Findings) -> None:
    if not name:
        findings.add("bad_graph_id", "the id of a graph is empty", name)
    elif name in PROTOTYPE:
        findings.add("bad_graph_id", "every JavaScript object has that name", name)
    if name in seen:
        findings.add("duplicate_graph_id", "a graph before it has this id", name)


def _too_deep(graph: Graph, findings: Findings) -> bool:
    """Tells whether the names of all layers of a graph, each with all those around it, are too much text."""
    given = {node.namespace: node.namespace.count("/") for node in graph.nodes}
    deepest, text = max(given.values(), default=0), sum(len(name) * depth for name, depth in given.items())
    if deepest > _DEEPEST or text > _MOST_TEXT:
        findings.add("deep_namespace", f"{deepest} layers in each other, {len(given)} namespaces", graph.id)
    return deepest > _DEEPEST or text > _MOST_TEXT


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
        findings.add("graph_paths", f"{_count(ways[most])} ways lead to {quoted(most)}", most)


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


def _count(number: int) -> str:
    return str(number) if number < 10**9 else "more than a thousand million"
