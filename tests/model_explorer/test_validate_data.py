"""Node data and sync files: what the app's own code makes of them, and what ``validate`` says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fxstore.model_explorer import validate
from tests.model_explorer.judge import Judge
from tests.model_explorer.payloads import graph, item, node, port, with_rows

GRAPHS = with_rows(
    graph(node("a"), node("b", "a", outputsMetadata=[port("0", item("tensor_name", "t"))]), node("c", "b"), node("t")),
    graph(node("x"), name="h"),
)
RAMP = [{"stop": 0, "bgColor": "#000000"}, {"stop": 1, "bgColor": "#ffffff"}]


def results(*keys: str, **more: Any) -> dict[str, Any]:
    return {"results": {key: {"value": i} for i, key in enumerate(keys)}, **more}


def checks_of(data: Any, graphs: Any = (GRAPHS,)) -> list[tuple[str, str | None, str | None]]:
    return [(one.check, one.graph, one.node) for one in validate(data, graphs=graphs)]


def shown(app: Judge, data: Any) -> dict[str, tuple[str, str | None]]:
    first = app.node_data(GRAPHS, data)[0]
    return {name: (one["strValue"], one.get("bgColor")) for name, one in first.items()}


@pytest.mark.parametrize("data", [results("a", "c", gradient=RAMP), {"g": results("a", "c", gradient=RAMP)}])
def test_node_data_that_the_app_takes_whole(app: Judge, data: Any) -> None:
    assert shown(app, data) == {"a": ("0", "#000000"), "c": ("1", "#ffffff")}
    assert checks_of(data) == checks_of(data, ()) == []


def test_data_for_what_is_not_there(app: Judge) -> None:
    assert set(shown(app, {"g": results("a", "gone")})) == {"a", "gone"}
    assert checks_of({"g": results("a", "gone")}) == [("unknown_node", "g", "gone")]
    assert shown(app, {"i": results("a")}) == {}
    assert checks_of({"i": results("a")}) == [("unknown_graph", "i", None)]
    assert checks_of({"g": results("x")}) == [("unknown_node", "g", "x")]


def test_the_name_of_an_output_goes_before_the_id_of_a_node(app: Judge) -> None:
    assert shown(app, {"g": results("t")}) == {"b": ("0", "transparent")}
    assert checks_of({"g": results("t")}) == [("ambiguous_key", "g", "t")]


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString"])
def test_data_under_a_name_of_every_object_goes_elsewhere(app: Judge, name: str) -> None:
    data = {"g": results("a", name)}
    assert set(shown(app, data)) - {"a"} != {name}
    assert checks_of(data, ()) == [("bad_result_key", "g", name)]


def test_a_node_called_results_makes_the_nodes_graphs(app: Judge) -> None:
    assert shown(app, results("a", "results")) == {}
    assert checks_of(results("a", "results"), ()) == [("bad_result_key", None, "results")]
    assert shown(app, {"g": results("a", "results")}) == {"a": ("0", "transparent"), "results": ("1", "transparent")}
    assert checks_of({"g": results("a", "results")}, ()) == []


@pytest.mark.parametrize(
    ("values", "gradient", "check"),
    [
        ((2, 2), RAMP, "no_color"),
        ((5,), RAMP, "no_color"),
        ((0, 1), [{"stop": 0.2, "bgColor": "#000000"}, {"stop": 1, "bgColor": "#ffffff"}], "no_color"),
        ((0, 1), [{"stop": 0, "bgColor": "#123"}, {"stop": 1, "bgColor": "#ffffff"}], "bad_color"),
        ((0, 1), [{"stop": 0, "bgColor": "rgb(1, 2, 3)"}, {"stop": 1, "bgColor": "#000000"}], "bad_color"),
    ],
)
def test_colours_that_the_app_does_not_give(app: Judge, values: Any, gradient: Any, check: str) -> None:
    data = {"g": {"results": {key: {"value": v} for key, v in zip("ac", values, strict=False)}, "gradient": gradient}}
    given = {color["bgColor"] for color in gradient}
    assert not {color for _, color in shown(app, data).values()} <= given
    assert [one[0] for one in checks_of(data)] == [check]


@pytest.mark.parametrize("result", [3, None, {}, {"value": None}, {"value": [1]}, "low"])
def test_results_of_the_wrong_shape(app: Judge, result: Any) -> None:
    data = {"g": {"results": {"a": result}}}
    found = app.with_node_data(GRAPHS, data)["graphs"][0]
    shown_as = None if "threw" in found else dict(found["nodeData"])["a"].get("strValue")
    assert shown_as in (None, "null", "[1]")
    assert checks_of(data) == [("shape", "g", "a")]


@pytest.mark.parametrize(
    "data", [{"results": []}, {"g": {"results": 3}}, {"g": {"results": {}}, "h": {"results": None}}]
)
def test_data_of_the_wrong_shape(data: Any) -> None:
    assert {one[0] for one in checks_of(data)} == {"shape"}


def entry(left: list[str], right: list[str]) -> dict[str, Any]:
    return {"leftNodeIds": left, "rightNodeIds": right}


def test_a_sync_file_of_disjoint_sets_passes(app: Judge) -> None:
    data = {"mappingEntries": [entry(["a", "b"], ["x"]), entry(["c"], ["y", "z"])]}
    assert app.synced(data, ["a", "b", "c"], ["x", "y", "z"]) == {
        "left": {"a": ["x"], "b": ["x"], "c": ["y", "z"]},
        "right": {"x": ["a", "b"], "y": ["c"], "z": ["c"]},
    }
    assert checks_of(data, ()) == []


@pytest.mark.parametrize(
    ("data", "lost", "found"),
    [
        (
            {"mappingEntries": [entry(["a"], ["x"]), entry(["a"], ["y"])]},
            ("left", "a", ["y"]),
            ("overlapping_sets", "a"),
        ),
        (
            {"mappingEntries": [entry(["a"], ["x"]), entry(["b"], ["x"])]},
            ("right", "x", ["b"]),
            ("overlapping_sets", "x"),
        ),
        ({"mapping": {"a": "x", "b": "x"}}, ("right", "x", ["b"]), ("overlapping_sets", "x")),
        ({"mappingEntries": [entry(["a"], [])]}, ("left", "a", []), ("empty_set", None)),
        (
            {"mappingEntries": [entry(["__proto__"], ["x"])]},
            ("right", "x", ["__proto__"]),
            ("bad_node_id", "__proto__"),
        ),
        ({"mapping": {"a": "x"}, "mappingEntries": [entry(["b"], ["y"])]}, ("left", "a", None), ("shape", None)),
    ],
)
def test_what_a_sync_file_loses(
    app: Judge, data: Any, lost: tuple[str, str, Any], found: tuple[str, str | None]
) -> None:
    side, name, leads = lost
    assert app.synced(data, ["a", "b"], ["x", "y"])[side][name] == leads
    assert [(check, node_id) for check, _, node_id in checks_of(data, ())] == [found]


def test_a_sync_file_is_checked_against_both_panes() -> None:
    left, right = with_rows(graph(node("a"))), with_rows(graph(node("x")))
    data = {"mappingEntries": [entry(["a", "x"], ["x", "a"])]}
    assert checks_of(data, (left, right)) == [("unknown_node", None, "x"), ("unknown_node", None, "a")]
    assert checks_of({"mapping": {"a": "x"}}, (left, right)) == []
    assert checks_of({"mapping": {"a": 3}}, ()) == [("shape", None, None)]


def test_files_are_told_apart_by_what_they_hold() -> None:
    for data in (results("a"), {"mapping": {"a": "b"}}, {"mappingEntries": []}):
        assert validate(json.loads(json.dumps(data))) == []
    assert {one.check for one in validate({})} == {"shape"}
