"""The judge itself: it passes what the app shows whole, and names what the app is known to lose."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model_explorer.judge import Judge


def node(name: str, *sources: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    edges = [
        {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": str(i)}
        for i, source in enumerate(sources)
    ]
    ports = [{"id": "0", "attrs": [{"key": "shape", "value": "2, 3"}]}]
    return {
        "id": name,
        "label": name,
        "namespace": namespace,
        "incomingEdges": edges,
        "outputsMetadata": ports,
        **more,
    }


def graph(*nodes: dict[str, Any], name: str = "g", **more: Any) -> dict[str, Any]:
    return {"id": name, "nodes": list(nodes), **more}


WHOLE = graph(
    node("x"),
    node("a", "x", "x", namespace="net/0"),
    node("b", "a", namespace="net/1", attrs=[{"key": "op", "value": "conv"}], subgraphIds=["g"]),
    node("c", "b", "a"),
    groupNodeAttributes={"": {"version": "1"}, "net/0": {"type": "Conv2d"}},
)


@pytest.mark.parametrize(
    "document",
    [{"label": "c", "graphs": [WHOLE]}, [{"label": "c", "subgraphs": [WHOLE]}], [WHOLE]],
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


def test_two_graphs_of_one_id_share_one_place(app: Judge) -> None:
    found = app.losses([graph(node("x")), graph(node("y"))])
    assert [(loss.kind, loss.node) for loss in found] == [("node", "x")]


def test_a_document_that_the_app_cannot_read_is_refused(app: Judge) -> None:
    for text in ("[]", "{}", "null", '[{"id": "g", "nodes": [], "x": NaN}]', "[" * 100):
        assert [loss.kind for loss in app.losses("[]" if text.startswith("[[") else text)] == ["refused"]
