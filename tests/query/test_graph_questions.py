"""ancestors, descendants, nodes_between: against brute force, and on the shapes that hurt."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.query.conftest import nid
from tests.store.records import chain, graph, run

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


@pytest.mark.parametrize(("diamonds", "seconds"), [(40, 2.0), (400, 5.0)])
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
        with pytest.raises(QueryError, match=f"no node has the nid {wrong}$") as error:
            ask(wrong)
        assert error.value.hint == "SELECT nid, stage, name FROM nodes gives the nids"
        assert len(ask(right)) >= 0
