"""The rolled view of modules that are called several times, and the steps of a graph."""

from __future__ import annotations

import json
from typing import Any

from fxstore.model_explorer.collection import Collection, collection, step_collections
from fxstore.model_explorer.source import Source
from tests.model_explorer.judge import Judge
from tests.model_explorer.sources import row, source


def decoding(steps: int = 3) -> Source:
    """``token = argmax(model(token))`` ; each step reads one weight, the end all tokens."""
    rows = [row("prompt", "placeholder"), row("w", "placeholder", role="parameter")]
    edges: list[tuple[Any, ...]] = []
    tokens, last = [], 0
    for step in range(1, steps + 1):
        outer = {"model": step} if step > 1 else {}
        at = len(rows)
        rows += [
            row(f"linear_{step}", op_type="linear", module_path="model.fc", module_call=step,
                attrs=json.dumps({"module_calls": outer})),
            row(f"relu_{step}", op_type="relu", module_path="model", module_call=step),
            row(f"argmax_{step}", op_type="argmax"),
        ]  # fmt: skip
        edges += [(last, at), (1, at), (at, at + 1), (at + 1, at + 2)]
        last = at + 2
        tokens.append(last)
    rows += [row("cat"), row("out", "output")]
    edges += [(token, len(rows) - 2) for token in tokens] + [(len(rows) - 2, len(rows) - 1)]
    return source(rows, edges, "float")


def of(found: Collection, graph: str) -> dict[str, dict[str, Any]]:
    (payload,) = (one for one in found.graphs if one["id"] == graph)
    return {node["id"]: node for node in payload["nodes"]}


def sources_of(node: dict[str, Any]) -> list[str]:
    return [edge["sourceNodeId"] for edge in node.get("incomingEdges", [])]


def test_a_module_that_is_called_several_times_stands_once_in_the_rolled_view(app: Judge) -> None:
    found = collection("c", [decoding()])
    assert [graph["id"] for graph in found.graphs] == ["float", "float (rolled)"]
    assert app.losses(found.payload) == []
    nodes = of(found, "float (rolled)")
    assert nodes["model.fc/linear|1"]["namespace"] == "model/fc"
    assert {"key": "calls", "value": "3 (of the module: 1, 2, 3)"} in nodes["model.fc/linear|1"]["attrs"]
    overlay = found.graphs[1]["tasksData"]["edgeOverlaysDataListLeftPane"][0]["overlays"][0]
    assert {(edge["sourceNodeId"], edge["targetNodeId"]) for edge in overlay["edges"]} == {
        ("argmax|1", "model.fc/linear|1"),
        ("argmax|2", "model.fc/linear|1"),
    }
    members = dict(found.nodes["float (rolled)"])["model.fc/linear|1"]
    assert [dict(found.nodes["float"])[f"model.fc/linear|{i}"] for i in (1, 2, 3)] == [(nid,) for nid in members]


def test_what_is_called_once_has_no_rolled_view() -> None:
    found = collection("c", [source([row("a", module_path="m", module_call=1)], [])])
    assert [graph["id"] for graph in found.graphs] == ["g"]


def test_a_graph_of_several_steps_stands_first_then_each_of_them(app: Judge) -> None:
    (found,) = step_collections("c", [decoding()])
    assert [graph["id"] for graph in found.graphs] == ["float", "float/step 1", "float/step 2", "float/step 3"]
    assert app.losses(found.payload) == []
    first, second, third = (of(found, f"float/step {i}") for i in (1, 2, 3))
    own = {"model.fc/linear|1", "model/relu|1", "argmax|1", "parameter/w|1"}
    assert first.keys() == own | {"input/prompt|1", "boundary/to step 2/argmax|1", "boundary/to step 3/argmax|1"}
    assert second.keys() == own | {"boundary/from step 1/argmax|1", "boundary/to step 3/argmax|1"}
    assert sources_of(second["model.fc/linear|1"]) == ["boundary/from step 1/argmax|1", "parameter/w|1"]
    assert {"key": "graph", "value": "float/step 1"} in second["boundary/from step 1/argmax|1"]["attrs"]
    assert second["model.fc/linear|1"]["namespace"] == "model/fc"
    assert sources_of(second["boundary/to step 3/argmax|1"]) == ["argmax|1"]
    assert sources_of(third["cat|1"]) == [
        "boundary/from step 1/argmax|1", "boundary/from step 2/argmax|1", "argmax|1"
    ]  # fmt: skip
    nids = [nid for name in ("1", "2", "3") for _, own in found.nodes[f"float/step {name}"] for nid in own]
    assert set(nids) == {node["nid"] for node in decoding().nodes}


def test_steps_beyond_the_budget_are_left_out_and_listed(app: Judge) -> None:
    (whole,) = step_collections("c", [decoding(6)])
    sizes = [len(json.dumps(graph, ensure_ascii=False)) for graph in whole.graphs[1:]]
    (found,) = step_collections("c", [decoding(6)], budget=sum(sizes[:2]))
    assert [graph["id"] for graph in found.graphs] == ["float", "float/step 1", "float/step 2"]
    assert app.losses(found.payload) == []
    line = f"steps 3 to 6 are left out: all 6 take more than {sum(sizes[:2]):,} characters"
    assert found.graphs[0]["groupNodeAttributes"][""]["omitted"] == line
    assert ("float", line) in found.notes


def test_the_stepped_module_may_be_named_and_others_are_none() -> None:
    assert list(step_collections("c", [source([row("a", module_path="m")], [])])) == []
    (found,) = step_collections("c", [decoding()], module="model.fc")
    assert len(found.graphs) == 4
