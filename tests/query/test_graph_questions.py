"""ancestors, descendants, nodes_between: against brute force, and on the shapes that hurt."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import Store, connect, tables
from fxstore.errors import QueryError, UsageError
from fxstore.records import Graph
from tests.query.conftest import nid
from tests.store.records import chain, graph, metric, node, overlay, run

Edges = set[tuple[int, int]]


@pytest.fixture(scope="module")
def shared() -> Any:
    with connect(":memory:") as store:
        yield store


def distances(start: int, edges: Edges, backward: bool) -> dict[int, int]:
    found, frontier, hops = {start: 0}, [start], 0
    while frontier:
        hops += 1
        ends = [(d, s) if backward else (s, d) for s, d in edges]
        frontier = sorted({b for a, b in ends if a in frontier} - found.keys())
        found |= dict.fromkeys(frontier, hops)
    return {node: hops for node, hops in found.items() if node != start}


@st.composite
def dags(draw: Any) -> tuple[int, Edges]:
    count = draw(st.integers(2, 10))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda p: p[0] < p[1])
    return count, draw(st.sets(pairs, max_size=25))


def committed(store: Store, count: int, edges: Edges) -> int:
    """Commits a run with a graph before and after the one asked about, and returns the nid of that one's node 0."""
    labels = [f"op_{i}" for i in range(count)]
    made = graph(labels, [(labels[s], labels[d]) for s, d in sorted(edges)])
    other = graph(["a", "b", "c"], chain("a", "b", "c"))
    run_id = store.commit(run({"before": other, "here": made, "after": other}))
    return (int(run_id, 16) << 22) + 3


@settings(max_examples=30, deadline=None)
@given(dags(), st.integers(0, 9), st.integers(0, 9), st.sampled_from([None, 1, 2]))
def test_reachability_equals_brute_force(
    shared: Store, case: tuple[int, Edges], a: int, b: int, hops: int | None
) -> None:
    count, edges = case
    a, b = sorted((a % count, b % count))
    first = committed(shared, count, edges)
    for result, backward in ((shared.ancestors(first + b, hops), True), (shared.descendants(first + b, hops), False)):
        expected = {n: h for n, h in distances(b, edges, backward).items() if hops is None or h <= hops}
        rows = {row[0]: row[3] for row in result}
        assert rows == {first + n: h for n, h in expected.items()}
        assert {row[1] for row in result} <= {"here"}
    down, up = {a: 0} | distances(a, edges, False), {b, *distances(b, edges, True)}
    between = [(row[0] - first, row[3]) for row in shared.nodes_between(first + a, first + b)]  # type: ignore[operator]
    assert between == [(n, down[n]) for n in sorted(down.keys() & up)]


@pytest.mark.parametrize(("diamonds", "seconds"), [(40, 2.0), (2000, 20.0)])
def test_stacked_diamonds_are_not_walked_path_by_path(shared: Store, diamonds: int, seconds: float) -> None:
    edges = {(3 * i + a, 3 * i + b) for i in range(diamonds) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))}
    first = committed(shared, 3 * diamonds + 1, edges)
    start = time.perf_counter()
    rows = shared.ancestors(first + 3 * diamonds).fetchall()
    assert time.perf_counter() - start < seconds
    assert len(rows) == 3 * diamonds
    assert rows[-1][3] == 2 * diamonds


def test_a_hub_and_a_repeated_operand(shared: Store) -> None:
    labels = ["hub", *(f"op_{i}" for i in range(2000))]
    edges = [("hub", label) for label in labels[1:]] + [("op_0", "op_1"), ("op_0", "op_1")]
    run_id = shared.commit(run({"float": graph(labels, edges)}))
    hub = int(run_id, 16) << 22
    assert len(shared.descendants(hub)) == 2000
    assert [row[2:4] for row in shared.ancestors(hub + 2)] == [("hub", 1), ("op_0", 1)]


def test_ends_without_a_way_between(store: Store) -> None:
    assert store.nodes_between(nid(store, "float:mean"), nid(store, "float:relu")).fetchall() == []
    assert store.nodes_between(nid(store, "float:x"), nid(store, "edge:relu_1")).fetchall() == []
    assert len(store.nodes_between(nid(store, "float:x"), nid(store, "float:x"))) == 1


@pytest.mark.parametrize("wrong", [5, -1, 1 << 70, None])
def test_a_nid_of_no_node(store: Store, wrong: int | None) -> None:
    right = nid(store, "edge:output")
    wrong = right + 1 if wrong is None else wrong  # one more than the run's last node
    for ask in (store.ancestors, store.descendants, store.sync_nid, partial(store.nodes_between, right)):
        with pytest.raises(QueryError, match=f"no node has the nid {wrong}\\b") as error:
            ask(wrong)
        assert error.value.hint == "SELECT nid, stage, name FROM nodes gives the nids"
        assert len(ask(right)) >= 0


@settings(max_examples=25, deadline=None)
@given(dags(), st.integers(0, 9), st.integers(0, 9))
def test_ways_and_common_ancestors_equal_networkx(shared: Store, case: tuple[int, Edges], a: int, b: int) -> None:
    networkx = pytest.importorskip("networkx")
    count, edges = case
    a, b = a % count, b % count
    first = committed(shared, count, edges)
    whole = networkx.DiGraph(list(edges))
    whole.add_nodes_from(range(count))
    way = [row[0] - first for row in shared.shortest_path(first + a, first + b)]  # type: ignore[operator]
    if networkx.has_path(whole, a, b):
        assert (way[0], way[-1], len(way) - 1) == (a, b, networkx.shortest_path_length(whole, a, b))
        assert all(whole.has_edge(*pair) for pair in itertools.pairwise(way))
    else:
        assert way == []
    common = (networkx.ancestors(whole, a) | {a}) & (networkx.ancestors(whole, b) | {b})
    rows = shared.common_ancestors(first + a, first + b).fetchall()
    assert {row[0] - first for row in rows} == common  # type: ignore[operator]
    nearest = {row[0] - first for row in rows if row[6]}  # type: ignore[operator]
    assert nearest == {c for c in common if not networkx.descendants(whole, c) & common}
    near = networkx.single_source_shortest_path_length(whole.to_undirected(), a, cutoff=2)
    found = {row[0] - first: row[3] for row in shared.neighbourhood(first + a, 2)}  # type: ignore[operator]
    assert found | {a: 0} == dict(near)


def test_self_recurrences_end(shared: Store) -> None:
    labels = ["h", "cell", "out"]
    run_id = shared.commit(run({"float": graph(labels, [*chain(*labels), ("cell", "cell"), ("out", "h")])}))
    first = int(run_id, 16) << 22
    assert [row[2:4] for row in shared.ancestors(first + 1)] == [("h", 1), ("out", 2)]
    assert [row[2:4] for row in shared.descendants(first + 1)] == [("out", 1), ("h", 2)]
    assert [row[2] for row in shared.shortest_path(first, first + 2)] == labels


def test_through_nested_graphs(shared: Store) -> None:
    inner = graph(chain_nodes := ["a", "mul", "result"], chain(*chain_nodes), path="cond_0", parent=("", "call"))
    nodes = inner.tables["nodes"].to_pylist()
    nodes[0]["op"], nodes[2]["op"] = "placeholder", "output"
    inner.tables["nodes"] = pa.Table.from_pylist(nodes, schema=tables.NODES)
    outer = graph(["sin", "call", "cos"], chain("sin", "call", "cos"))
    first = int(shared.commit(run({"float": [outer, inner]})), 16) << 22
    assert [row[2:4] for row in shared.ancestors(first + 2)] == [("call", 1), ("sin", 2)]
    nested = [row[2:4] for row in shared.ancestors(first + 2, nested=True)]
    assert nested == [("call", 1), ("sin", 2), ("result", 2), ("mul", 3), ("a", 4)]
    assert [row[2] for row in shared.descendants(first, hops=2, nested=True)] == ["call", "a", "cos", "mul"]


def test_a_module_and_what_is_in_it(shared: Store) -> None:
    paths = {"a": None, "conv": "net.0", "relu": "net.0.act", "add": "net.01", "out": None}
    made = graph([node(name, module_path=path) for name, path in paths.items()], chain(*paths))
    run_id = shared.commit(run({"float": made}))
    rows = [row[2:3] + row[6:8] for row in shared.subgraph("net.0", run=run_id)]
    assert rows == [("conv", True, False), ("relu", False, True)]
    assert [row[2] for row in shared.subgraph("net", run=run_id, stage="float")] == ["conv", "relu", "add"]
    with pytest.raises(QueryError, match="no module 'nett'") as error:
        shared.subgraph("nett", run=run_id)
    assert error.value.hint is not None


def test_a_chain_of_fifty_thousand_and_a_hub_of_five_thousand(shared: Store) -> None:
    count, hub = 50_000, 5_000
    edges = [(i, i + 1) for i in range(count - 1)] + [(0, i) for i in range(2, hub)]
    run_id = shared.commit(run({"float": large(count, edges)}))
    first = int(run_id, 16) << 22
    hops = {row[0] - first: row[3] for row in shared.ancestors(first + count - 1)}  # type: ignore[operator]
    assert (len(hops), hops[0], hops[1]) == (count - 1, count - hub + 1, count - 2)
    assert len(shared.descendants(first, hops=1)) == hub - 1
    way = [row[0] - first for row in shared.shortest_path(first, first + count - 1)]  # type: ignore[operator]
    assert way == [0, *range(hub - 1, count)]


def large(count: int, edges: list[tuple[int, int]]) -> Graph:
    """A graph as columns; rows of dicts would take seconds."""
    made = graph(["a"])
    columns = {
        "position": pa.array(range(count), pa.int32()),
        "name": pa.array([f"n{i}" for i in range(count)]),
        "op": pa.array(["call_function"] * count),
    }
    nodes = pa.table([columns.get(f.name, pa.nulls(count, f.type)) for f in tables.NODES], schema=tables.NODES)
    ends = {
        name: pa.array(side, pa.int32()) for name, side in zip(("src", "dst"), zip(*edges, strict=True), strict=True)
    }
    zero = pa.array([0] * len(edges), pa.int32())
    uses = {**ends, "src_port": zero, "position": zero, "dst_arg": pa.array(["0"] * len(edges))}
    listed = pa.table([uses[f.name] for f in tables.EDGES], schema=tables.EDGES)
    return replace(made, tables={**made.tables, "nodes": nodes, "edges": listed, "roles": tables.ROLES.empty_table()})


@pytest.mark.parametrize("hops", [0, -1, True, 1.5, "2"])
def test_hops_are_counted_from_one(store: Store, hops: Any) -> None:
    with pytest.raises(UsageError, match="hops must be a whole number from 1"):
        store.ancestors(nid(store, "edge:output"), hops)


def test_repeated_blocks_of_an_unrolled_cell(shared: Store) -> None:
    """A cell called 96 times is one block of 16 operators; the bad step is found by the call's number."""
    names = [f"op_{i}" for i in range(96 * 16)]
    calls = [i // 16 + 1 for i in range(len(names))]
    made = graph([node(n, module_path="cell", module_call=c) for n, c in zip(names, calls, strict=True)], chain(*names))
    values = [metric(f"float:op_{16 * step + 15}", "cosine", 0.1 if step == 36 else 1.0) for step in range(96)]
    run_id = shared.commit(run({"float": made}, overlays=[overlay("acc", values)]))
    blocks = """
        SELECT module_path, count(DISTINCT module_call), min(ops), max(ops) FROM (
            SELECT module_path, module_call, count(*) AS ops FROM nodes WHERE run_id = ? GROUP BY ALL) GROUP BY ALL"""
    assert shared.sql(blocks, [run_id]).fetchall() == [("cell", 96, 16, 16)]
    steps = """
        SELECT n.module_call, min(m.value) AS value FROM metrics AS m JOIN nodes AS n ON n.nid = m.nid
        WHERE n.run_id = ? GROUP BY ALL ORDER BY value LIMIT 1"""
    assert shared.sql(steps, [run_id]).fetchall() == [(37, 0.1)]
