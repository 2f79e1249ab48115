"""Huge runs: what is near the answer is drawn, and the rest is counted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fxstore import Store
from fxstore.render.page import build
from fxstore.render.page.build import page_model
from fxstore.render.page.expansion import HUB, MOST_BESIDE_ONE, beside, neighbourhood
from fxstore.render.page.run_tables import StoredGraph
from tests.query.conftest import nid


def graph(count: int, edges: list[tuple[int, int]], first: int = 100, parent: int | None = None) -> StoredGraph:
    nodes = pa.table({"nid": list(range(first, first + count))})
    columns = {"src": [a for a, _ in edges], "dst": [b for _, b in edges]}
    table = pa.table({name: pa.array(ends, pa.int32()) for name, ends in columns.items()})
    uses = table.append_column("src_port", pa.array([0] * len(edges), pa.int32()))
    return StoredGraph("", "hash", nodes, uses.append_column("dst_arg", pa.array(["0"] * len(edges))), parent)


def nids(graph: StoredGraph) -> list[int]:
    return graph.nodes["nid"].to_pylist()


def chain(count: int) -> list[tuple[int, int]]:
    return list(pairwise(range(count)))


def test_what_lies_within_the_hops_stays_and_the_rest_is_counted() -> None:
    out = neighbourhood({"a": [graph(20, chain(20))]}, [110], hops=2)
    (part,) = out.graphs["a"]
    assert nids(part) == [108, 109, 110, 111, 112]
    assert part.edges.select(["src", "dst"]).to_pylist() == [{"src": i, "dst": i + 1} for i in range(4)]
    assert out.more == {108: 1, 112: 1}
    assert (out.drawn, out.all) == (5, 20)


def test_of_a_hubs_neighbours_the_nearest_are_drawn() -> None:
    hub = graph(5001, [(0, i) for i in range(1, 5001)])
    out = neighbourhood({"a": [hub]}, [100], hops=1)
    assert nids(out.graphs["a"][0]) == list(range(100, 101 + HUB))
    assert out.more[100] == 5000 - HUB


def test_a_nested_graph_keeps_its_caller_and_a_graph_without_a_seed_goes() -> None:
    top, inner = graph(10, chain(10)), graph(4, chain(4), first=200, parent=105)
    out = neighbourhood({"a": [top, inner], "b": [graph(3, chain(3), first=300)]}, [201], hops=1)
    assert [nids(part) for part in out.graphs["a"]] == [[104, 105, 106], [200, 201, 202]]
    assert out.graphs["b"] == []


def test_there_is_a_most_and_seeds_are_drawn_in_any_case() -> None:
    out = neighbourhood({"a": [graph(1000, chain(1000))]}, [100 + i for i in range(0, 1000, 100)], hops=50, most=30)
    assert out.drawn == 30
    assert {100 + i for i in range(0, 1000, 100)} <= set(nids(out.graphs["a"][0]))


def test_what_is_left_out_beside_a_hub_can_be_opened_the_nearest_of_it() -> None:
    hub = graph(5001, [(0, i) for i in range(1, 5001)])
    near = neighbourhood({"a": [hub]}, [100], hops=1)
    (part,) = beside({"a": [named(hub)]}, near)["a"]
    assert nids(part) == list(range(101 + HUB, 101 + HUB + MOST_BESIDE_ONE))
    assert (part.parent_nid, part.title) == (100, "beside n0: 60 of 4,960 not drawn")
    assert beside({"a": [named(hub)]}, near, most=0) == {"a": []}


def named(graph: StoredGraph) -> StoredGraph:
    names = pa.array([f"n{i}" for i in range(graph.nodes.num_rows)])
    return replace(graph, nodes=graph.nodes.append_column("name", names))


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40), st.integers(0, 14), st.integers(1, 9))
def test_what_can_be_opened_is_next_to_its_node_once_and_not_drawn(
    edges: list[tuple[int, int]], seed: int, most: int
) -> None:
    whole = named(graph(15, edges))
    near = neighbourhood({"a": [whole]}, [100 + seed], 1)
    parts = beside({"a": [whole]}, near, most)["a"]
    held = [nid for part in parts for nid in nids(part)]
    assert len(held) == len(set(held)) <= most
    assert not set(held) & set(nids(near.graphs["a"][0]))
    beside_each = {frozenset((100 + a, 100 + b)) for a, b in edges}
    assert all(frozenset((part.parent_nid, nid)) in beside_each for part in parts for nid in nids(part))
    if most == 9 and len(held) < most:
        left = {nid for pair in beside_each for nid in pair if pair & set(near.more)} - set(nids(near.graphs["a"][0]))
        assert left == set(held), "all of it, where there is room"


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40), st.integers(0, 14), st.integers(0, 4))
def test_every_neighbour_is_drawn_or_counted(edges: list[tuple[int, int]], seed: int, hops: int) -> None:
    out = neighbourhood({"a": [graph(15, edges)]}, [100 + seed], hops)
    (part,) = out.graphs["a"]
    kept = set(nids(part))
    for node in kept:
        drawn = sum(node in (100 + a, 100 + b) and {100 + a, 100 + b} <= kept for a, b in edges)
        gone = sum(node in (100 + a, 100 + b) and not {100 + a, 100 + b} <= kept for a, b in edges)
        assert out.more.get(node, 0) == gone
        assert drawn + gone == sum(node in (100 + a, 100 + b) for a, b in edges)


def test_an_answer_of_a_huge_run_is_drawn_with_its_neighbourhood(store: Store, monkeypatch: object) -> None:
    monkeypatch.setattr(build, "_HUGE", 5)  # type: ignore[attr-defined]
    asked = [nid(store, "edge:mean_1")]
    model = page_model(store, highlight=asked, hops=None)
    assert "7 of 10 nodes are drawn" in model.left_out, "of float only what has a counterpart there"
    near = page_model(store, highlight=asked, hops=1)
    held = [(graph.parent_nid, graph.nodes["name"].to_pylist()) for pane in near.panes for graph in pane.graphs[1:]]
    assert len(held) == 2, "what is left out beside both nodes that say so can be opened"
    assert {parent for parent, _ in held} == set(near.more)
    assert all(graph.beside for pane in near.panes for graph in pane.graphs[1:])
    assert [pane.graphs[0].nodes["name"].to_pylist() for pane in near.panes] == [
        ["relu"],
        ["relu_1", "mean_1", "output"],
    ]
    assert "4 of 10 nodes are drawn" in near.left_out
    assert near.more == {nid(store, "edge:relu_1"): 1, nid(store, "float:relu"): 2}
    assert page_model(store, highlight=asked, whole=True).left_out == ""


def test_of_a_large_set_only_what_holds_the_value_is_drawn(store: Store, monkeypatch: object) -> None:
    call, inner = 1, list(range(10, 400))
    rows = [
        {"sync_set": 0, "nid": nid, "is_primary": nid in (call, 10), "focus": nid == call} for nid in [call, *inner]
    ]
    rows += [{"sync_set": nid, "nid": nid, "is_primary": True, "focus": True} for nid in inner]
    rows += [{"sync_set": 10, "nid": call, "is_primary": False, "focus": False}]
    monkeypatch.setattr(build, "sync_members", lambda *_: pa.Table.from_pylist(rows))  # type: ignore[attr-defined]
    beside_them = build._Counterparts(store, store.existing_run(None))
    assert beside_them([call]) == [call, 10], "a delegate call does not bring all that it holds"
    assert beside_them([10]) == [10, call]
    assert beside_them([11]) == [11]
