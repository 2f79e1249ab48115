"""Links the stages of a run: neighbours first, others through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import pyarrow as pa

from fxstore import tables
from fxstore.gc_paused import at_rest
from fxstore.link.boundary import body_input, delegate_call, delegate_input, ports, signature
from fxstore.link.boundary import memberships as delegate_memberships
from fxstore.link.handles import handle
from fxstore.link.inferred import as_it_ran, folded, merged, read_in_place, rewritten, same_name, same_place
from fxstore.link.packing import constant, layout, observer, pieces
from fxstore.link.pair import Link, Pair
from fxstore.link.recorded import common_source, exact_source, identity, sequence_links
from fxstore.link.run import NOTHING, Run, rows
from fxstore.link.sets import sync_sets
from fxstore.link.unmatched import unmatched
from fxstore.link.values import memberships, value_classes
from fxstore.records import Stage, Structure

# The rules that link two stages, in the order of their strength. A lower rule never overrides a higher one.
#
# Each rule returns links for nodes that have none yet; see :data:`RULES`.


Rule = Callable[[Pair], Iterator[Link]]

RECORDED: tuple[Rule, ...] = (identity, exact_source, common_source, signature)
RULES: tuple[Rule, ...] = (
    *RECORDED,
    handle,
    constant,
    layout,
    delegate_call,
    delegate_input,
    body_input,
    observer,
    as_it_ran,
    folded,
    merged,
    read_in_place,
    pieces,
    rewritten,
    same_place,
    same_name,
)


def link_pair(run: Run, earlier: Iterable[int], later: Iterable[int], *, recorded_only: bool = False) -> Pair:
    """Links two stages; every rule sees what the rules before it found, and so do those who read an output of that.

    Args:
        recorded_only: Follow only what the compiler recorded about the nodes themselves.
    """
    pair = Pair(run, list(earlier), list(later))
    for rule in RECORDED if recorded_only else RULES:
        pair.add(list(rule(pair)))
        pair.add(list(ports(pair)))
    return pair


@at_rest()
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
    links += delegate_memberships(run)
    links.sort(key=lambda link: (link.src, link.dst))
    told = sorted([*links, *sequence_links(run)], key=lambda link: (link.src, link.dst))
    classes = value_classes(run, pairs)
    columns: dict[str, Sequence[Sequence[object]]] = {
        "graphs": _columns(_graphs(run, stages)),
        "links": _columns(told)[:5],
        "sync_sets": sync_sets(run, links, classes),
        "value_classes": memberships(run, classes),
        "ancestors": _columns(_ancestors(run)),
        "unmatched": _columns(unmatched(run, stages, neighbours)),
    }
    found = {name: _table(schema, columns[name]) for name, schema in tables.STRUCTURE_TABLES.items()}
    return Structure(run.graphs, found)


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
        open_nodes = [b for b in pair.open() if run.lineage.head[b] != NOTHING or run.boundary[b]]
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
    homes: dict[int, list[int]] = defaultdict(list)
    for number, graph in enumerate(run.graphs):
        for cited in graph.identities:
            homes[cited].append(number)
    positions = cache(lambda number: {name: i for i, name in enumerate(run.graphs[number].nodes["name"].to_pylist())})
    found = []
    for number, graph in enumerate(run.graphs):
        earlier = [
            [home for home in reversed(homes[source]) if run.stage_of_graph[home] < run.stage_of_graph[number]]
            for source in graph.source_graphs
        ]
        for source, name, cited in rows(graph.tables["sources"], "source", "name", "graph"):
            home = next((home for home in earlier[cited] if name in positions(home)), None)
            if home is not None:
                found.append((number, source, run.base[home] + positions(home)[name]))
    return found


def _columns(found: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    return list(zip(*found, strict=True))


def _table(schema: pa.Schema, columns: Sequence[Sequence[object]]) -> pa.Table:
    columns = columns or [()] * len(schema)
    return pa.table([pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
