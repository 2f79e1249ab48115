"""Several graphs side by side, on the demo network's compile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
jsonschema = pytest.importorskip("jsonschema")

import fxstore  # noqa: E402
from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter, GraphExtension  # noqa: E402
from tests.fx_viewer.payloads import SCHEMA, ids, pane, partners  # noqa: E402

STAGES = ("float", "quantized", "edge")


@pytest.fixture(scope="module")
def viewers(demo_compile: Any) -> OrderedDict[str, FXGraphExporter]:
    return OrderedDict((name, FXGraphExporter(demo_compile.sources[name])) for name in STAGES)


@pytest.fixture(scope="module")
def payload(viewers: Any) -> dict[str, Any]:
    return FXGraphCompareExporter(viewers, title="Pipeline").generate_json_payload()


def test_panes_come_in_the_order_given(payload: dict[str, Any]) -> None:
    assert payload["title"] == "Pipeline"
    assert [viewer["name"] for viewer in payload["viewers"]] == list(STAGES)
    assert all(set(viewer) == {"name", "payload"} for viewer in payload["viewers"])
    assert payload["sync"] == {"mode": "auto"}
    assert payload["state"] == {"activeExtensions": [], "colorBy": None}


def test_it_follows_the_schema(payload: dict[str, Any]) -> None:
    jsonschema.validate(payload, SCHEMA)
    assert payload == json.loads(json.dumps(payload, allow_nan=False)), "it is what its JSON says"


def test_every_node_and_edge_of_the_graphs_is_there(payload: dict[str, Any], demo_compile: Any) -> None:
    for name in STAGES:
        base = pane(payload, name)["base"]
        graphs = demo_compile[name].graphs
        assert len(base["nodes"]) == sum(graph.nodes.num_rows for graph in graphs)
        assert len(base["edges"]) == sum(graph.edges.num_rows for graph in graphs)
        assert len(ids(payload, name)) == len(base["nodes"])
        assert {end for edge in base["edges"] for end in (edge["v"], edge["w"])} <= ids(payload, name)


def test_a_click_shows_what_the_store_knows(payload: dict[str, Any], demo_compile: Any) -> None:
    with fxstore.connect(":memory:") as store:
        store.ingest({name: demo_compile.sources[name] for name in STAGES})
        known = store.sql("SELECT stage, name FROM nodes WHERE path = '' AND op = 'call_function'").fetchall()
        compared = 0
        for stage, name in known[::7]:
            rows = store.sync(stage, name).arrow().select(["stage", "name"]).to_pylist()
            expected = {(row["stage"], row["name"]) for row in rows} or {(stage, name)}
            assert partners(payload, stage, name) | {(stage, name)} == expected | {(stage, name)}, (stage, name)
            compared += len(expected) > 1
        assert compared > 10


def test_a_fresh_exports_nodes_have_counterparts(payload: dict[str, Any]) -> None:
    """Roots, handles and names find none of these: nothing in the float graph names anything."""
    convolution = next(node for node in pane(payload, "float")["base"]["nodes"] if node["label"] == "conv2d")
    stages = {stage for stage, _ in partners(payload, "float", convolution["id"])}
    assert stages == {"quantized", "edge"}


def test_operators_stand_at_the_heights_of_their_counterparts(payload: dict[str, Any]) -> None:
    nodes = [{node["id"]: node for node in viewer["payload"]["base"]["nodes"]} for viewer in payload["viewers"]]
    equal: dict[str, bool] = {}
    for members in payload["sync_sets"]:
        tops = {nodes[viewer][node]["y"] for viewer, node, primary in members if primary}
        if len({viewer for viewer, _, primary in members if primary}) == len(STAGES):
            for viewer, node, _ in members:
                if viewer == 0 and nodes[0][node]["info"]["op"] == "call_function":
                    equal[node] = equal.get(node, False) or max(tops) - min(tops) < 1
    folded = [node for node in equal if node.startswith("conv2d")]  # their batch-norm stands where they became
    assert len(equal) > 20
    assert sum(equal.values()) >= 0.95 * (len(equal) - len(folded))


def test_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    script = tmp_path / "export.py"
    script.write_text(
        "import torch\n"
        "from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter, GraphExtension\n"
        "graph = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))\n"
        "graphs = {'a': FXGraphExporter(graph), 'b': FXGraphExporter(graph)}\n"
        "layer = GraphExtension('l', 'L')\n"
        "layer.add_node_data('_0', {'seen': {'x', 'y', 'z'}})\n"
        "graphs['a'].add_extension(layer)\n"
        "compare = FXGraphCompareExporter(graphs)\n"
        "compare.export_json('c.json')\n"
        "compare.export_html('c.html')\n"
        "open('c.js', 'w').write(compare.export_js('here'))\n"
    )
    made = []
    for seed in ("0", "1"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "HOME": str(folder)}
        subprocess.run([sys.executable, str(script)], cwd=folder, env=environment, check=True, capture_output=True)
        made.append([(folder / name).read_bytes() for name in ("c.json", "c.html", "c.js")])
    assert made[0] == made[1]


def test_one_graph_under_two_names_is_in_both_panes(demo_compile: Any) -> None:
    graph = demo_compile.sources["float"]
    payload = FXGraphCompareExporter({"a": FXGraphExporter(graph), "b": FXGraphExporter(graph)}).generate_json_payload()
    assert ids(payload, "a") == ids(payload, "b")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"viewers": []}, ValueError, "at least one viewer"),
        ({"viewers": {}}, ValueError, "at least one viewer"),
        ({"viewers": None}, ValueError, "at least one viewer"),
        ({"viewers": [("", "one")]}, ValueError, "non-empty string"),
        ({"viewers": [(" ", "one")]}, ValueError, "non-empty string"),
        ({"viewers": [(3, "one")]}, ValueError, "non-empty string"),
        ({"viewers": [("a", "one"), ("a", "one")]}, ValueError, "duplicate viewer name: 'a'"),
        ({"viewers": {"a": object()}}, TypeError, "must be FXGraphExporter, got object"),
        ({"sync_mode": "handle"}, ValueError, "sync_mode must be one of"),
        ({"sync_mode": "layer"}, ValueError, "requires both sync_layer and sync_field"),
        ({"sync_mode": "layer", "sync_layer": "acc"}, ValueError, "requires both sync_layer and sync_field"),
        ({"sync_mode": "layer", "sync_field": "x"}, ValueError, "requires both sync_layer and sync_field"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    exporter = FXGraphExporter(torch.fx.symbolic_trace(torch.nn.ReLU()))
    viewers = arguments.pop("viewers", {"a": exporter})
    if isinstance(viewers, list):
        viewers = [(name, exporter) for name, _ in viewers]
    with pytest.raises(error, match=message):
        FXGraphCompareExporter(viewers, **arguments)


def test_viewers_without_names_are_refused_in_words() -> None:
    exporter: Any = FXGraphExporter(torch.fx.symbolic_trace(torch.nn.ReLU()))
    with pytest.raises(TypeError, match="pairs of name and FXGraphExporter; one is FXGraphExporter"):
        FXGraphCompareExporter([exporter])


def test_the_mode_and_what_is_on_are_kept() -> None:
    exporter = FXGraphExporter(torch.fx.symbolic_trace(torch.nn.ReLU()))
    layer = GraphExtension(id="acc", name="Accuracy")
    layer.add_node_data("input_1", {"handle": [1, 2]})
    layer.set_sync_key("handle")
    exporter.add_extension(layer)
    compare = FXGraphCompareExporter(
        [("a", exporter)],
        sync_mode="layer",
        sync_layer="acc",
        sync_field="handle",
        active_extensions=["acc"],
        color_by="acc",
    )
    payload = compare.generate_json_payload()
    assert payload["sync"] == {"mode": "layer", "layer": "acc", "field": "handle"}
    assert payload["state"] == {"activeExtensions": ["acc"], "colorBy": "acc"}
    assert pane(payload, "a")["extensions"]["acc"]["sync_keys"] == ["handle"]
    jsonschema.validate(json.loads(json.dumps(payload)), SCHEMA)
