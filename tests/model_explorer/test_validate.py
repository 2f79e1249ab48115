"""Every silent loss of the app is a named check: the app's own code loses it, and ``validate`` says so."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fxstore.model_explorer import CHECKS, validate
from tests.model_explorer.judge import Judge, judge
from tests.model_explorer.payloads import break_once, edge, graph, item, node, port, sound, with_rows

X = node("x")
MANY = [node(f"n{i}", namespace="L") for i in range(1001)]


def chain(length: int) -> list[dict[str, Any]]:
    return [node(f"n{i}", *([f"n{i - 1}"] if i else [])) for i in range(length)]


LOSSES: list[tuple[str, str, Any]] = [
    ("shape", "graph", [graph({"id": "x", "label": "x"})]),
    ("shape", "graph", [graph({"id": "x", "namespace": ""})]),
    ("shape", "graph", [graph(node("x", outputsMetadata=[{"id": "0"}]))]),
    ("shape", "port", [graph(X, node("y", incomingEdges=[{**edge("x"), "sourceNodeOutputId": 0}]))]),
    ("shape", "port", [graph(X, node("y", incomingEdges=[{"sourceNodeId": "x"}]))]),
    ("shape", "refused", [{"id": "g"}]),
    ("shape", "refused", []),
    ("shape", "refused", {}),
    ("shape", "refused", None),
    ("shape", "refused", {"graphCollections": [{"label": "c", "graphs": with_rows(graph(X))}]}),
    ("shape", "refused", {"graphs": with_rows(graph(X))}),
    ("non_finite", "refused", [graph({**X, "attrs": [item("k", float("nan"))]})]),
    ("non_finite", "refused", [graph(X, layoutConfigs={"nodeSep": float("inf")})]),
    ("inexact_number", "attribute", [graph(node("x", attrs=[item("k", 2**53 + 1)]))]),
    ("duplicate_graph_id", "graph id", [graph(X), graph(node("y"))]),
    ("duplicate_graph_id", "graph id", [{"label": name, "subgraphs": with_rows(graph(X))} for name in "ab"]),
    ("bad_graph_id", "graph id", [graph(X, name="")]),
    ("bad_graph_id", "graph id", [graph(X, name="constructor")]),
    ("bad_graph_id", "graph id", [graph(X, name="__proto__")]),
    ("unresolved_subgraph", "subgraph", [graph(node("x", subgraphIds=["gone"]))]),
    ("graph_cycle", "graph list", [graph(X), graph(node("y", subgraphIds=["h"]), name="h")]),
    ("graph_cycle", "refused", [graph(node("x", subgraphIds=["h"])), graph(node("y", subgraphIds=["i"]), name="h"),
                                graph(node("z", subgraphIds=["h"]), name="i")]),
    ("duplicate_node_id", "node", [graph(X, node("x"))]),
    ("bad_node_id", "layout", [graph(node(""))]),
    ("bad_node_id", "node", [graph(X, node("__proto__", "x"))]),
    ("bad_node_id", "layout", [graph(X, node("constructor", "x"), node("y", "constructor"))]),
    ("bad_node_id", "layout", [graph(X, node("hasOwnProperty"))]),
    ("bad_node_id", "graph", [graph(X, node("\0", "x"))]),
    ("bad_node_id", "node", [graph(node("a___group___"), node("y", namespace="a"))]),
    ("hidden_node", "place", [graph(node("x", label="const"))]),
    ("hidden_node", "place", [graph(X, nodeLabelsToHide=["X"])]),
    ("bad_namespace", "namespace", [graph(node("x", namespace="a;b"))]),
    *(("bad_namespace", "place", [graph(node("x", namespace=bad))])
      for bad in ("/", "//", "a/", "/a", "a//b", "a___escaped_slash___b")),
    ("bad_namespace", "group row", [graph(node("x", namespace="a___group___b"),
                                          groupNodeAttributes={"": {}, "a___group___b": {"k": "v"}})]),
    ("section_name", "place", [graph(*chain(1001), node("s", namespace="section_1_of_2"))]),
    ("lost_in_cycle", "layer", [graph(*MANY, node("a1", namespace="L/A"), node("b1", "a1", namespace="L/B"),
                                      node("a2", "b1", namespace="L/A"))]),
    ("pinned_node", "wire", [graph(node("x", config={"pinToGroupTop": True}), node("y", "x"))]),
    ("pinned_node", "overlap", [graph(*(node(one, namespace="L", config={"pinToGroupTop": True}) for one in "xy"),
                                      node("z", namespace="L"))]),
    ("unresolved_edge", "edge", [graph(node("x", "gone"))]),
    ("unresolved_edge", "edge", [graph(X, node("y", "toString"))]),
    ("duplicate_edge", "edge", [graph(X, node("y", incomingEdges=[edge("x"), edge("x")]))]),
    ("undeclared_port", "port", [graph(node("x", outputsMetadata=[]), node("y", "x"))]),
    ("undeclared_port", "port", [graph(X, node("y", incomingEdges=[edge("x", "1")]))]),
    ("shared_input", "port", [graph(X, node("y", outputsMetadata=[port("0", item("shape", "9"))]),
                                    node("z", incomingEdges=[edge("x"), edge("y")],
                                         inputsMetadata=[port("0", item("name", "a"))]))]),
    ("undrawn_edge", "wire", [graph(X, node("a", "b"), node("b", "a"))]),
    ("undrawn_edge", "wire", [graph(X, node("a", "a", "x"), node("b", "b"))]),
    ("duplicate_port", "port", [graph(node("x", outputsMetadata=[port(), port("0", item("dtype", "int8"))]))]),
    ("duplicate_attribute", "attribute", [graph(node("x", attrs=[item("k", "1"), item("k", "2")]))]),
    ("duplicate_attribute", "port", [graph(node("x", outputsMetadata=[
        port("0", item("shape", "1"), item("tensor_shape", "2"))]))]),
    ("hidden_attribute", "attribute", [graph(node("x", attrs=[item("__k", "1")]))]),
    ("hidden_attribute", "port", [graph(node("x", outputsMetadata=[port("0", item("__k", "1"))]))]),
    ("bad_attribute", "attribute", [graph(node("x", attrs=[item("__proto__", "1")]))]),
    ("bad_attribute", "attribute", [graph(node("x", attrs=[item("k", 1)]))]),
    ("bad_attribute", "attribute", [graph(node("x", attrs=[item("k", None)]))]),
    ("bad_attribute", "port", [graph(node("x", outputsMetadata=[port("__proto__")]))]),
    ("bad_attribute", "port", [graph(node("x", outputsMetadata=[port("0", item("valueOf", "1"))]), node("y", "x"))]),
    *(("changed_text", "attribute", [graph(node("x", attrs=[item("k", text)]))])
      for text in ('say "a"', "", "dense<1> : tensor", "dense<\"")),
    ("changed_text", "port", [graph(node("x", outputsMetadata=[port("0", item("tensor_shape", "tensor<1x2xf32>"))]))]),
    ("unknown_group_row", "group row", [graph(X, groupNodeAttributes={"": {"k": "v"}, "gone": {"k": "v"}})]),
    ("bad_layout", "overlap", [graph(X, node("y", "x"), layoutConfigs={"rankSep": -50})]),
]  # fmt: skip


FOLLOWING = {"inexact_number": ["bad_attribute"], "non_finite": ["bad_attribute", "bad_layout"]}


@pytest.mark.parametrize(("check", "kind", "payload"), LOSSES, ids=[f"{i} {one[0]}" for i, one in enumerate(LOSSES)])
def test_what_the_app_loses_is_found(app: Judge, check: str, kind: str, payload: Any) -> None:
    graphs = payload if isinstance(payload, list) else []
    with_rows(*(one for one in graphs if isinstance(one, dict) and "nodes" in one))
    assert kind in {loss.kind for loss in app.losses(payload)}
    found = {(one.check, one.severity) for one in validate(payload)}
    assert (check, "error") in found
    assert {name for name, _ in found} <= {check, *FOLLOWING.get(check, ())}


def test_every_check_for_graphs_has_a_loss_that_shows_it() -> None:
    elsewhere = {
        "repeated_key", "missing_group_rows", "graph_paths", "long_chain", "deep_namespace", "unresolved_reference",
        "bad_pattern", "unknown_graph", "unknown_node", "ambiguous_key", "bad_result_key", "no_color", "bad_color",
        "overlapping_sets", "empty_set",
    }  # fmt: skip
    errors = {check.name for check in CHECKS.values() if check.severity == "error"}
    assert {check for check, *_ in LOSSES} == errors - elsewhere


@pytest.fixture(scope="module")
def hasty() -> Iterator[Judge]:
    """A judge that gives the app three seconds for a payload."""
    with judge(3000) as found:
        yield found


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_what_validate_passes_the_app_shows_whole(hasty: Judge, r: random.Random, changes: int) -> None:
    one = sound(r)
    for _ in range(changes):
        with contextlib.suppress(AttributeError, KeyError, TypeError):
            break_once(r, one)
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        with_rows(one)
    if not any(found.severity == "error" for found in validate([one])):
        assert hasty.losses([one]) == []


def checks_of(payload: Any, **options: Any) -> list[tuple[str, str | None, str | None]]:
    return [(one.check, one.graph, one.node) for one in validate(payload, **options)]


def test_a_chain_of_one_layer_that_is_too_deep(app: Judge) -> None:
    payload = with_rows(graph(*chain(6000)))
    assert [loss.kind for loss in app.losses(payload)] == ["graph"]
    assert checks_of(payload) == [("long_chain", "g", None)]
    assert validate(with_rows(graph(*chain(1500)))) == []


def test_layers_nested_too_deeply(hasty: Judge) -> None:
    payload = with_rows(graph(node("x", namespace="/".join(["l"] * 3000))))
    assert [loss.kind for loss in hasty.losses(payload)] == ["graph"]
    assert checks_of(payload) == [("deep_namespace", "g", None)]


def test_graphs_that_lead_to_each_other_in_too_many_ways(app: Judge) -> None:
    def leads(length: int) -> list[dict[str, Any]]:
        names = [f"g{i}" for i in range(length)]
        return with_rows(
            *(graph(node("x", subgraphIds=names[i + 1 :]), name=name) for i, name in enumerate(names)),
        )

    listed = app.held(leads(12))["rows"]
    assert listed == 2**11
    assert checks_of(leads(12)) == []
    assert checks_of(leads(40)) == [("graph_paths", "g39", None)]


def test_rows_that_are_missing() -> None:
    one = graph(node("x", namespace="a/b"))
    assert checks_of([one]) == [("missing_group_rows", "g", None)]
    assert checks_of([{**one, "groupNodeAttributes": {"": {}, "a": {}}}]) == [("missing_group_rows", "g", None)]
    assert checks_of([{**one, "groupNodeAttributes": {"": {}, "a": {}, "a/b": {}}}]) == []


def test_references_to_nodes_that_are_not_there() -> None:
    to = {"type": "node_ids", "nodeIds": ["x", "gone"]}
    overlay = {"name": "o", "edgeColor": "red", "edges": [{"sourceNodeId": "x", "targetNodeId": "lost"}]}
    tasks = {"edgeOverlaysDataListLeftPane": [{"type": "edge_overlays", "name": "o", "overlays": [overlay]}]}
    payload = with_rows(graph(node("x", attrs=[item("k", to)]), tasksData=tasks))
    assert [(one.check, one.node, one.message) for one in validate(payload)] == [
        ("unresolved_reference", "x", "an attribute names 'gone'"),
        ("unresolved_reference", None, "an edge of the overlay 'o' names 'lost'"),
    ]


@pytest.mark.parametrize(
    ("pattern", "read"), [("a/.*", True), ("(?<n>a)(?!b)", True), ("(", False), ("(?P<n>a)", False)]
)
def test_patterns_as_javascript_reads_them(app: Judge, pattern: str, read: bool) -> None:
    payload = with_rows(graph(node("x", namespace="a"), groupNodeConfigs=[{"namespaceRegex": pattern}]))
    assert any("Invalid regex" in said for one in app.held(payload)["graphs"] for said in one["warnings"]) != read
    assert (checks_of(payload) == []) == read


@pytest.mark.parametrize(
    ("check", "payload"),
    [
        ("empty_label", [graph(node("x", label=" \n"))]),
        ("escaped_slash", [graph(node("x", namespace="a\\/b"))]),
        ("slow_layout", [graph(*(node(f"n{i}", *(f"n{j}" for j in range(i))) for i in range(40)))]),
    ],
)
def test_what_is_seldom_meant_is_a_warning_or_an_error_where_asked(check: str, payload: Any) -> None:
    with_rows(*payload)
    assert {(one.check, one.severity) for one in validate(payload)} == {(check, "warning")}
    assert {(one.check, one.severity) for one in validate(payload, strict=True)} == {(check, "error")}


def test_many_findings_of_one_check_are_counted() -> None:
    found = validate(with_rows(graph(*(node(f"n{i}", "gone") for i in range(1500)))))
    assert len(found) == 1001
    assert (found[-1].check, found[-1].message) == ("unresolved_edge", "and 500 more")
