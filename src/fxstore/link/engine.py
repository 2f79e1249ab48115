"""Links the stages of a run: neighbours first, others through them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa

from fxstore import tables
from fxstore.link.rules import Link, Pair, link_pair
from fxstore.link.run import Run
from fxstore.link.sets import sync_sets
from fxstore.link.unmatched import unmatched
from fxstore.link.values import memberships, value_classes
from fxstore.records import Stage, Structure


def structure_of(stages: Sequence[Stage]) -> Structure:
    """Lays the graphs of a run end to end and computes what holds between them.

    Args:
        stages: The run's stages in pipeline order.

    Returns:
        The graphs in order, and the tables of :data:`fxstore.tables.STRUCTURE_TABLES`.
    """
    run = Run.of(stages)
    neighbours = _pairs(run, stages)
    pairs = [*neighbours, *_across(run, neighbours)]
    links = [link for pair in pairs for found in pair.to_earlier.values() for link in found]
    links += _memberships(run)
    links.sort(key=lambda link: (link.src, link.dst))
    classes = value_classes(run, pairs)
    sets, _ = sync_sets(run, links, classes)
    values = [(number, *member) for number, members in enumerate(memberships(run, classes)) for member in members]
    rows: dict[str, Sequence[tuple[object, ...]]] = {
        "graphs": _graphs(run, stages),
        "links": [(link.src, link.dst, link.evidence, link.inferred, link.note) for link in links],
        "sync_sets": sets,
        "value_classes": values,
        "ancestors": _ancestors(run),
        "unmatched": unmatched(run, stages, neighbours),
    }
    return Structure(run.graphs, {name: _table(tables.STRUCTURE_TABLES[name], found) for name, found in rows.items()})


def _pairs(run: Run, stages: Sequence[Stage]) -> list[Pair]:
    """Links each stage to the nearest earlier stage that has the method."""
    methods = dict.fromkeys(graph.method for graph in run.graphs)
    pairs = []
    for method in methods:
        having = [i for i, stage in enumerate(stages) if any(graph.method == method for graph in stage.graphs)]
        for earlier, later in pairwise(having):
            pairs.append(link_pair(run, run.nodes_of_stage(earlier, method), run.nodes_of_stage(later, method)))
    return pairs


def _across(run: Run, neighbours: Sequence[Pair]) -> list[Pair]:
    """Links what has no counterpart in the stage before it to the nearest earlier stage that it names itself.

    A stage without provenance (a graph that was rebuilt) must not cut those after it off from those before it.
    """
    found: list[Pair] = []
    for index, pair in enumerate(neighbours):
        method = _method(run, pair)
        open_nodes = [b for b in pair.open() if run.chain[b] or run.is_boundary(b)]
        for before in reversed(neighbours[:index]):
            if not open_nodes or _method(run, before) != method:
                break
            across = link_pair(run, before.earlier, open_nodes, recorded_only=True)
            open_nodes = across.open()
            if across.to_earlier:
                found.append(across)
    return found


def _method(run: Run, pair: Pair) -> str:
    return run.graphs[run.graph[pair.later[0]]].method


def _memberships(run: Run) -> list[Link]:
    """Links each operator inside a delegate to the call that runs it."""
    return [
        Link(node, call, "delegate")
        for call, graph in run.calls.items()
        if run.role[call] == "delegate"
        for node in range(run.base[graph], run.base[graph] + len(run.graphs[graph].nodes))
        if run.role[node] in ("op", "symint", "delegate")
    ]


def _graphs(run: Run, stages: Sequence[Stage]) -> list[tuple[object, ...]]:
    return [
        (
            index,
            stages[run.stage_of_graph[index]].name,
            run.stage_of_graph[index],
            graph.method,
            graph.path,
            run.parents.get(index),
            graph.fingerprint(),
            run.base[index],
            len(graph.nodes),
        )
        for index, graph in enumerate(run.graphs)
    ]


def _ancestors(run: Run) -> list[tuple[int, int, int]]:
    """Resolves the sources that are nodes of this run: in the latest stage before with that identity and name."""
    index: dict[tuple[int, str], list[int]] = {}
    for node in range(len(run)):
        for number in run.graphs[run.graph[node]].identities:
            index.setdefault((number, run.name[node]), []).append(node)
    found = []
    for number, graph in enumerate(run.graphs):
        sources = graph.tables["sources"]
        for source, name, home in zip(*(sources[c].to_pylist() for c in ("source", "name", "graph")), strict=True):
            nodes = index.get((graph.source_graphs[home], name), ())
            before = [node for node in nodes if run.stage(node) < run.stage_of_graph[number]]
            if before:
                found.append((number, source, before[-1]))
    return found


def _table(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
