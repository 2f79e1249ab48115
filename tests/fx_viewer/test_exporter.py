"""One graph, on graph modules traced here."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jsonschema = pytest.importorskip("jsonschema")

from fxstore.fx_viewer import (  # noqa: E402
    CategoricalColorRule,
    FXGraphCompareExporter,
    FXGraphExporter,
    GraphExtension,
    GraphNode,
    NumericColorRule,
    runtime_js,
)
from tests.fx_viewer.payloads import SCHEMA  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        left, right = torch.split(y, 2, dim=1)
        return torch.cat([left, right, right], dim=1) + x.sum()


@pytest.fixture(scope="module")
def program() -> Any:
    return torch.export.export(Net().eval(), (torch.randn(2, 4),))


@pytest.fixture
def exporter(program: Any) -> FXGraphExporter:
    return FXGraphExporter(program.graph_module)


def nodes_of(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in payload["base"]["nodes"]}


def test_a_payload_holds_the_graph(exporter: FXGraphExporter, program: Any) -> None:
    payload = exporter.generate_json_payload()
    jsonschema.validate(json.loads(json.dumps(payload, allow_nan=False)), SCHEMA)
    assert [node["id"] for node in payload["base"]["nodes"]] == [node.name for node in program.graph.nodes]
    uses = [
        (edge["v"], edge["src_port"], edge["w"], edge["dst_arg"])
        for edge in payload["base"]["edges"]
        if edge["w"].startswith("cat")
    ]
    assert [(v, arg) for v, _, _, arg in uses] == [("getitem", "0[0]"), ("getitem_1", "0[1]"), ("getitem_1", "0[2]")]


def test_boxes_stand_within_the_drawing_and_apart(exporter: FXGraphExporter) -> None:
    payload = exporter.generate_json_payload()
    boxes = [
        (n["x"] - n["width"] / 2, n["y"] - n["height"] / 2, n["x"] + n["width"] / 2, n["y"] + n["height"] / 2)
        for n in payload["base"]["nodes"]
    ]
    (part,) = payload["base"]["graphs"]
    assert all(
        min(left, top) >= 0 and right <= part["width"] and bottom <= part["height"]
        for left, top, right, bottom in boxes
    )
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[i + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_info_tells_what_the_rfc_tells(exporter: FXGraphExporter) -> None:
    info = nodes_of(exporter.generate_json_payload())["linear"]["info"]
    assert (info["op"], info["name"], info["target"]) == ("call_function", "linear", "aten.linear.default")
    assert info["args"] == ["x", "p_linear_weight", "p_linear_bias"]
    assert info["kwargs"] == {}
    assert info["named_args"] == {"input": "x", "weight": "p_linear_weight", "bias": "p_linear_bias"}
    assert info["schema"].startswith("aten::linear(Tensor input, Tensor weight")
    assert (info["dtype"], info["tensor_shape"], info["module_path"]) == ("float32", [2, 4], "linear")


def test_a_node_that_was_made_from_another_names_its_root(program: Any) -> None:
    decomposed = program.run_decompositions({})
    for node in decomposed.graph.nodes:
        node.meta["debug_handle"] = (7, 9) if node.name == "linear" else 3
        node.meta["mine"] = 1.5
    nodes = nodes_of(FXGraphExporter(decomposed.graph_module).generate_json_payload())
    assert nodes["linear"]["info"]["from_node_root"] == "linear"
    assert nodes["linear"]["info"]["debug_handle"] == [7, 9]
    assert nodes["sum_1"]["info"]["debug_handle"] == 3
    assert nodes["sum_1"]["info"]["mine"] == 1.5


def test_the_defaults_of_labels_and_tooltips(exporter: FXGraphExporter) -> None:
    nodes = nodes_of(exporter.generate_json_payload())
    assert (nodes["linear"]["label"], nodes["cat"]["label"]) == ("linear", "cat")
    assert nodes["split"]["label"] == "split.Tensor"
    assert nodes["linear"]["tooltip"] == ["Name: linear", "Op: call_function", "Target: aten.linear.default"]


def test_formatters_get_the_node(exporter: FXGraphExporter) -> None:
    def label(node: GraphNode) -> str:
        return f"<{node.info['op_type']}>"

    exporter.set_base_label_formatter(label)
    exporter.set_base_tooltip_formatter(lambda node: [node.id])
    exporter.set_base_color_rule(CategoricalColorRule(attribute="op"))
    payload = exporter.generate_json_payload()
    node = nodes_of(payload)["linear"]
    assert (node["label"], node["tooltip"]) == ("<linear>", ["linear"])
    assert {entry["label"] for entry in payload["base"]["legend"]} == {"placeholder", "call_function", "output"}
    assert node["fill_color"] in {entry["color"] for entry in payload["base"]["legend"]}


def test_a_box_has_room_for_the_lines_of_every_layer(exporter: FXGraphExporter) -> None:
    before = nodes_of(exporter.generate_json_payload())["cat"]
    for name in ("a", "b"):
        layer = GraphExtension(id=name, name=name)
        layer.add_node_data("cat", {"text": "a line that is longer than the name"})
        layer.set_label_formatter(lambda data: [data["text"], "x"])
        exporter.add_extension(layer)
    after = nodes_of(exporter.generate_json_payload())["cat"]
    assert after["height"] >= before["height"] + 4 * 12
    assert after["width"] > before["width"]


def test_formatters_that_fail_are_told_and_replaced(exporter: FXGraphExporter) -> None:
    exporter.set_base_label_formatter(lambda node: "x" if node.id != "x" else node.info["schema"])
    with pytest.warns(RuntimeWarning, match="base label formatter for node 'x' failed: KeyError"):
        assert nodes_of(exporter.generate_json_payload())["x"]["label"] == "x"
    exporter.set_base_label_formatter(lambda node: 5 if node.id == "linear" else "x")  # type: ignore[arg-type,return-value]
    with pytest.warns(RuntimeWarning, match="must return str, not int"):
        assert nodes_of(exporter.generate_json_payload())["linear"]["label"] == "5"


def test_layers_are_kept_apart(exporter: FXGraphExporter) -> None:
    exporter.add_extension(GraphExtension(id="a", name="A"))
    with pytest.raises(ValueError, match="duplicate extension id: 'a'"):
        exporter.add_extension(GraphExtension(id="a", name="B"))
    with pytest.raises(TypeError, match="must be a GraphExtension"):
        exporter.add_extension("a")  # type: ignore[arg-type]


def test_ids_that_name_no_node_are_counted_and_the_nearest_is_named(exporter: FXGraphExporter) -> None:
    layer = GraphExtension(id="a", name="A")
    for node in ("linaer", "cat", "x"):
        layer.add_node_data(node, {"m": 1})
    exporter.add_extension(layer)
    with pytest.warns(
        RuntimeWarning, match=r"1 of 3 ids name no node of 'graph', such as 'linaer'; did you mean 'linear'"
    ):
        exporter.generate_json_payload()


def test_any_node_can_carry_data(exporter: FXGraphExporter, program: Any) -> None:
    layer = GraphExtension(id="a", name="A")
    for node in program.graph.nodes:
        layer.add_node_data(node.name, {"m": math.nan if node.op == "output" else 1.0})
    layer.set_color_rule(NumericColorRule("m"))
    exporter.add_extension(layer)
    payload = exporter.generate_json_payload()
    assert len(payload["extensions"]["a"]["nodes"]) == len(program.graph.nodes)
    assert payload["extensions"]["a"]["nodes"]["output"]["info"] == {"m": "NaN"}
    json.dumps(payload, allow_nan=False)


def test_a_file_holds_the_same_payload(exporter: FXGraphExporter, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "graph.json"
    exporter.export_json(str(path))
    assert json.loads(path.read_text()) == json.loads(json.dumps(exporter.generate_json_payload()))
    assert capsys.readouterr().out == f"Wrote {path}\n"


def test_scripts_may_leave_the_viewer_to_the_page(exporter: FXGraphExporter) -> None:
    for one in (exporter, FXGraphCompareExporter({"a": exporter})):
        alone = one.export_js("place", runtime=False)
        assert one.export_js("place") == runtime_js() + alone
        assert alone == one.export_js("place", runtime=False)
        assert "class FXGraphViewer" not in alone


def test_a_traced_module_without_shapes_is_drawn_too() -> None:
    payload = FXGraphExporter(torch.fx.symbolic_trace(Net())).generate_json_payload()
    assert nodes_of(payload)["linear"]["info"]["target"] == "linear"
    assert "tensor_shape" not in nodes_of(payload)["linear"]["info"]


@pytest.mark.parametrize("count", [0, 2, 3000])
def test_no_graph_is_too_small_or_too_long(count: int) -> None:
    graph = torch.fx.Graph()
    last = graph.placeholder("x") if count else None
    for _ in range(count - 2):
        last = graph.call_function(torch.relu, (last,))
    if count > 1:
        graph.output(last)
    payload = FXGraphExporter(torch.fx.GraphModule(torch.nn.Module(), graph)).generate_json_payload()
    assert len(payload["base"]["nodes"]) == count
