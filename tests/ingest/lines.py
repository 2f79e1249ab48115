"""Small graphs without torch."""

from __future__ import annotations

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.node_table import Node, graph_of
from fxstore.records import Graph, Stage


def chain_graph(*operators: str) -> Graph:
    """An input ``x``, each operator on the one before it, and the output."""
    before = ["x", *operators]
    nodes = [Node("x", "placeholder", role="input")]
    nodes += [Node(name, name, [source]) for name, source in zip(operators, before, strict=False)]
    graph, notes = graph_of([*nodes, Node("output", "output", [before[-1]], role="output")])
    assert notes == []
    return graph


def chain(*operators: str) -> Ingested:
    """The same as a source."""
    return Ingested((Stage("", (chain_graph(*operators),)),))
