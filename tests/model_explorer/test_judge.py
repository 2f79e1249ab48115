"""The judge itself: it passes what the app shows whole, and names what the app is known to lose."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model_explorer.judge import Judge
from tests.model_explorer.payloads import graph, node

WHOLE = graph(
    node("x"),
    node("a", "x", "x", namespace="net/0"),
    node("b", "a", namespace="net/1", attrs=[{"key": "op", "value": "conv"}], subgraphIds=["inner"]),
    node("c", "b", "a"),
    groupNodeAttributes={"": {"version": "1"}, "net/0": {"type": "Conv2d"}},
)


INNER = graph(node("y"), node("z", "y"), name="inner")


@pytest.mark.parametrize(
    "document",
    [{"label": "c", "graphs": [WHOLE, INNER]}, [{"label": "c", "subgraphs": [WHOLE, INNER]}], [WHOLE, INNER]],
    ids=["collection", "subgraphs", "list"],
)
def test_what_the_app_shows_whole_passes(app: Judge, document: Any) -> None:
    assert app.losses(document) == []


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (graph(node("x"), node("x")), "node"),
        (graph(node("x"), node("__proto__", "x")), "node"),
        (graph(node("a", "nowhere")), "edge"),
        (graph(node("x"), {**node("a"), "incomingEdges": 2 * node("", "x")["incomingEdges"]}), "edge"),
        (graph(node("x", namespace="a;b")), "namespace"),
        (graph(node("x", namespace="/a//b")), "namespace"),
        (graph(node("x", attrs=[{"key": "k", "value": 'say "a"'}])), "attribute"),
        (graph(node("x", outputsMetadata=[]), node("a", "x")), "port"),
        (graph(node("x"), groupNodeAttributes={"gone": {"a": "b"}}), "group row"),
        (graph(node("s"), node("a", "b"), node("b", "a")), "wire"),
        (graph(node("")), "layout"),
        (graph({"id": "x", "label": "x"}), "graph"),
    ],
)  # fmt: skip
def test_a_known_loss_is_named(app: Judge, broken: Any, kind: str) -> None:
    assert kind in {loss.kind for loss in app.losses([broken])}


def test_of_two_graphs_of_one_id_one_is_called_otherwise(app: Judge) -> None:
    found = app.losses([graph(node("x")), graph(node("y"))])
    assert [(loss.kind, loss.detail) for loss in found] == [("graph id", "is called 'g (2)'")]


def test_a_graph_that_calls_itself_cannot_be_chosen(app: Judge) -> None:
    found = app.losses([graph(node("x")), graph(node("y", subgraphIds=["h"]), name="h")])
    assert [(loss.kind, loss.graph) for loss in found] == [("graph list", "h")]


def test_node_data_and_sync_files_as_the_app_takes_them(app: Judge) -> None:
    data = {
        "g": {
            "results": {"x": {"value": 1}, "a": {"value": 2}},
            "gradient": [{"stop": 0, "bgColor": "#000000"}, {"stop": 1, "bgColor": "#ff0000"}],
        }
    }
    (found,) = app.node_data([graph(node("x"), node("a", "x"))], data)
    assert {name: (one["strValue"], one["bgColor"]) for name, one in found.items()} == {
        "x": ("1", "#000000"),
        "a": ("2", "#ff0000"),
    }
    entries = [{"leftNodeIds": ["a", "b"], "rightNodeIds": ["c"]}, {"leftNodeIds": ["a"], "rightNodeIds": ["d"]}]
    assert app.synced({"mappingEntries": entries}, ["a", "b", "x"], ["c"]) == {
        "left": {"a": ["d"], "b": ["c"], "x": None},
        "right": {"c": ["a", "b"]},
    }


def test_a_document_that_the_app_cannot_read_is_refused(app: Judge) -> None:
    for text in ("[]", "{}", "null", '[{"id": "g", "nodes": [], "x": NaN}]', "[" * 100):
        assert [loss.kind for loss in app.losses("[]" if text.startswith("[[") else text)] == ["refused"]
