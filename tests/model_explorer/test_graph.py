"""One graph as the app takes it; the app's own worker is the judge."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings

from fxstore.model_explorer import validate
from fxstore.model_explorer.collection import collection, step_collections
from fxstore.model_explorer.graph import graph_of
from fxstore.model_explorer.source import Source
from tests.model_explorer.judge import Judge
from tests.model_explorer.sources import hostile_sources, row, source


def nodes_of(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in payload["nodes"]}


def attrs_of(node: dict[str, Any]) -> dict[str, str]:
    return {item["key"]: item["value"] for item in node["attrs"]}


@settings(deadline=None, max_examples=70, suppress_health_check=[HealthCheck.too_slow])
@given(given_source=hostile_sources())
def test_the_app_loses_nothing_whatever_the_names(app: Judge, given_source: Source) -> None:
    found = collection("c", [given_source])
    for one in (found, *step_collections("c", [given_source])):
        assert app.losses(one.payload) == []
        assert validate(one.payload, strict=True) == []


@settings(deadline=None, max_examples=60)
@given(given_source=hostile_sources())
def test_each_use_of_a_value_is_an_edge_or_leads_back(given_source: Source) -> None:
    found = graph_of(given_source)
    edges = sum(len(node.get("incomingEdges", [])) for node in found.payload["nodes"])
    back = next((note for note in found.notes if "lead back" in note), "0").split()[0]
    assert edges + int(back) == len(set(given_source.edges)) + _repeated(given_source)
    assert len(found.ids) == len(set(found.ids)) == len(given_source.nodes)
    assert json.loads(json.dumps(found.payload, allow_nan=False)) == found.payload


def _repeated(given_source: Source) -> int:
    """How many edges stand twice; of those that lead back, a set knows each once."""
    from fxstore.model_explorer.source import feedback

    back = feedback(given_source.edges)
    forward = [edge for edge in given_source.edges if edge not in back]
    return len(forward) - len(set(forward))


def test_a_value_that_is_used_twice_has_two_edges_with_their_arguments() -> None:
    rows = [row("x", "placeholder"), row("add"), row("split", ports=2)]
    payload = graph_of(source(rows, [(0, 1), (0, 1), (1, 2, 0, "alpha")])).payload
    nodes = nodes_of(payload)
    assert [(edge["sourceNodeId"], edge["targetNodeInputId"]) for edge in nodes["add|1"]["incomingEdges"]] == [
        ("input/x|1", "0"),
        ("input/x|1", "1"),
    ]
    assert nodes["split|1"]["inputsMetadata"] == [{"id": "alpha", "attrs": [{"key": "__tensor_tag", "value": "alpha"}]}]


def test_labels_are_short_and_attributes_say_the_rest_where_there_is_any() -> None:
    code = "y = f('x')" * 60
    rows = [row("conv2d_7", op_type="conv2d", target="aten.conv2d.default", source_file="m.py", source_line=7,
                source_code=code, attrs=json.dumps({"args": {"3": [2, 2], "stride": "same"}}))]  # fmt: skip
    found = graph_of(source(rows, []))
    (node,) = found.payload["nodes"]
    assert node["label"] == "conv2d"
    assert attrs_of(node) == {
        "name": "conv2d_7", "target": "aten.conv2d.default", "op": "call_function", "role": "op", "nid": "0",
        "source": "m.py:7", "source_code": code[:399] + "…", "argument 3": "[2, 2]", "argument stride": "%22same%22",
    }  # fmt: skip
    assert found.notes == ["attribute source_code: 1 left out or cut short"]


def test_every_port_that_is_used_is_declared_with_what_is_known_of_it() -> None:
    outputs = json.dumps({"outputs": [["float32", ["2", "s0"]], ["int64", []], [None, None]]})
    rows = [row("split", attrs=outputs, ports=3), row("a", ports=0), row("b")]
    nodes = nodes_of(graph_of(source(rows, [(0, 2, 2, "0"), (1, 2, 3, "1")])).payload)
    assert nodes["split|1"]["outputsMetadata"] == [
        {"id": "0", "attrs": [{"key": "dtype", "value": "float32"}, {"key": "shape", "value": "[2, s0]"}]},
        {"id": "1", "attrs": [{"key": "dtype", "value": "int64"}, {"key": "shape", "value": "[]"}]},
        {"id": "2", "attrs": []},
    ]
    assert [port["id"] for port in nodes["a|1"]["outputsMetadata"]] == ["0", "1", "2", "3"]


def test_containers_reappear_and_each_call_of_a_module_is_qualified() -> None:
    second = json.dumps({"module_calls": {"net.0": 2}})
    rows = [
        row("w", "placeholder", role="parameter"),
        row("a", module_path="net.0.fc", module_call=1, module_type="Linear"),
        row("b", module_path="net.0.fc", module_call=2, attrs=second),
        row("c", module_path="head", module_call=1),
    ]
    payload = graph_of(source(rows, [(0, 1), (0, 2), (1, 2, 0, "1"), (2, 3)])).payload
    assert [node["namespace"] for node in payload["nodes"]] == ["net", "net/0:1/fc:1", "net/0:2/fc:2", "head"]
    groups = payload["groupNodeAttributes"]
    assert groups.keys() == {"", "net", "net/0:1", "net/0:1/fc:1", "net/0:2", "net/0:2/fc:2", "head"}
    assert groups["net/0:1/fc:1"] == {"nodes": "1", "module": "net.0.fc", "type": "Linear", "call": "1"}
    assert groups["net"] == {"nodes": "3"}


def test_ids_do_not_change_when_a_node_is_added_elsewhere() -> None:
    rows = [row("relu", module_path="a"), row("relu_1", op_type="relu", module_path="b")]
    more = [row("relu", module_path="a"), row("x", module_path="a"), *rows[1:]]
    assert graph_of(source(rows, [])).ids == ["a/relu|1", "b/relu|1"]
    assert graph_of(source(more, [])).ids == ["a/relu|1", "a/x|1", "b/relu|1"]
