"""Records, live and as files, of one and of several methods, with branches and delegates."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
with warnings.catch_warnings():  # executorch warns of itself when it is first imported
    warnings.simplefilter("ignore")
    import executorch.devtools
    import executorch.exir  # noqa: F401
jsonschema = pytest.importorskip("jsonschema")

from fxstore import SourceError  # noqa: E402
from fxstore.fx_viewer import build_compare_from_etrecord, export_etrecord_to_html, install_inspector_hook  # noqa: E402
from fxstore.fx_viewer import etrecord as hook  # noqa: E402
from tests.fx_viewer.payloads import SCHEMA, pane, partners  # noqa: E402


class Branches(torch.nn.Module):
    """A condition, a dynamic size, an operator that XNNPACK takes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = torch.cond(x.sum() > x.min(), lambda a: a * a, lambda a: a.relu(), (x,))
        return self.linear(y).softmax(dim=-1)


class Encode(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x) + 1


class Decode(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.sigmoid(x) * 2


def lowered(programs: Any, transform: Any = None) -> Any:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        edge = to_edge_transform_and_lower(
            programs, transform_passes=transform, partitioner=[XnnpackPartitioner()], generate_etrecord=True
        )
        return edge.to_executorch().get_etrecord()


@pytest.fixture(scope="module")
def record() -> Any:
    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(Branches().eval(), (torch.randn(3, 4),), dynamic_shapes=({0: batch},))
    return lowered(program)


@pytest.fixture(scope="module")
def saved(record: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record") / "net.etrecord"
    record.save(str(path))
    return path


@pytest.fixture(scope="module")
def methods() -> Any:
    programs = {
        "encode": torch.export.export(Encode(), (torch.randn(2, 3),)),
        "decode": torch.export.export(Decode(), (torch.randn(2, 3),)),
    }
    return lowered(programs, transform=[])


def test_panes_of_a_live_record(record: Any) -> None:
    payload = build_compare_from_etrecord(record, title="Mine").generate_json_payload()
    jsonschema.validate(json.loads(json.dumps(payload)), SCHEMA)
    assert (payload["title"], payload["sync"]) == ("Mine", {"mode": "auto"})
    assert [viewer["name"] for viewer in payload["viewers"]] == ["Aten", "Edge dialect"]
    assert payload["state"] == {"activeExtensions": ["backend"], "colorBy": "backend"}


def test_a_file_shows_what_the_live_record_shows(record: Any, saved: Path) -> None:
    live = build_compare_from_etrecord(record).generate_json_payload()
    read = build_compare_from_etrecord(str(saved)).generate_json_payload()
    assert [viewer["name"] for viewer in read["viewers"]] == [viewer["name"] for viewer in live["viewers"]]
    for name in ("Aten", "Edge dialect"):
        computing = {
            which: {node["id"] for node in pane(one, name)["base"]["nodes"] if node["info"]["op_type"] != "getitem"}
            for which, one in (("live", live), ("read", read))
        }
        assert len(computing["live"]) > 8
        assert computing["live"] <= computing["read"]


def test_the_backend_of_each_node_is_a_layer(record: Any) -> None:
    extension = pane(build_compare_from_etrecord(record).generate_json_payload(), "Edge dialect")["extensions"][
        "backend"
    ]
    owners = {node: entry["info"]["backend"] for node, entry in extension["nodes"].items()}
    assert owners["aten_linear_default"] == "XnnpackBackend"
    assert owners["aten_sum_dim_int_list"] == "portable"
    assert {entry["label"] for entry in extension["legend"]} == set(owners.values())
    assert extension["name"] == "Backend Assignment"


def test_the_layer_can_be_left_out(record: Any) -> None:
    compare = build_compare_from_etrecord(record, include_backend_overlay=False)
    payload = compare.generate_json_payload()
    assert compare.viewers["Edge dialect"].extensions == []
    assert payload["state"] == {"activeExtensions": [], "colorBy": None}


def test_branches_are_drawn_and_linked(saved: Path) -> None:
    payload = build_compare_from_etrecord(str(saved)).generate_json_payload()
    titles = [graph["title"] for graph in pane(payload, "Aten")["base"]["graphs"]]
    assert titles == ["", "true_graph_0", "false_graph_0"]
    assert partners(payload, "Aten", "true_graph_0/mul") == {("Edge dialect", "submodule_0/aten_mul_tensor")}


def test_missing_origins_are_filled_in_for_live_programs_alone(record: Any, saved: Path) -> None:
    def roots(**options: Any) -> set[str]:
        source = options.pop("source", record)
        nodes = pane(build_compare_from_etrecord(source, **options).generate_json_payload(), "Aten")["base"]["nodes"]
        return {node["info"]["from_node_root"] for node in nodes if "from_node_root" in node["info"]}

    assert {"linear", "softmax"} <= roots()
    assert roots(enrich_missing_meta=False) == set()
    assert roots(source=str(saved)) == set()


def test_handles_are_filled_in_from_the_counterparts(record: Any) -> None:
    payload = build_compare_from_etrecord(record).generate_json_payload()
    handles = {
        name: {node["id"]: node["info"].get("debug_handle") for node in pane(payload, name)["base"]["nodes"]}
        for name in ("Aten", "Edge dialect")
    }
    assert handles["Aten"]["softmax"] == handles["Edge dialect"]["aten__softmax_default"] is not None


def test_the_programs_are_left_as_they_are(record: Any) -> None:
    program = record.exported_program
    before = [(node.name, dict(node.meta)) for node in program.graph.nodes]
    build_compare_from_etrecord(record).generate_json_payload()
    assert record.exported_program is program
    assert [(node.name, dict(node.meta)) for node in program.graph.nodes] == before


def test_each_method_of_a_graph_map_entry_is_a_pane_of_its_own(methods: Any) -> None:
    payload = build_compare_from_etrecord(methods).generate_json_payload()
    names = [viewer["name"] for viewer in payload["viewers"]]
    assert names == ["Edge After Transform (decode)", "Edge After Transform (encode)", "Edge dialect"]
    assert [graph["title"] for graph in pane(payload, "Edge dialect")["base"]["graphs"]] == ["decode", "encode"]
    assert partners(payload, names[0], "aten_sigmoid_default") == {("Edge dialect", "decode/aten_sigmoid_default")}
    assert partners(payload, names[1], "aten_relu_default") == {("Edge dialect", "encode/aten_relu_default")}


def test_a_record_of_programs_only_has_two_panes_and_no_layer(record: Any) -> None:
    from executorch.devtools.etrecord import ETRecord

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = ETRecord(exported_program=record.exported_program, edge_dialect_program=record.edge_dialect_program)
        payload = build_compare_from_etrecord(bare, include_backend_overlay=False).generate_json_payload()
    assert [viewer["name"] for viewer in payload["viewers"]] == ["Aten", "Edge dialect"]


def test_an_empty_record_says_so() -> None:
    from executorch.devtools.etrecord import ETRecord

    with pytest.raises(SourceError, match="program"):
        build_compare_from_etrecord(ETRecord())


def test_what_is_no_record_is_said(record: Any) -> None:
    with pytest.raises(SourceError, match="ExportedProgram is no ETRecord") as error:
        build_compare_from_etrecord(record.exported_program)
    assert "FXGraphCompareExporter" in str(error.value.hint)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        export_etrecord_to_html(str(tmp_path / "none.etrecord"), str(tmp_path / "out.html"))
    assert list(tmp_path.iterdir()) == []


def test_the_inspector_gets_its_methods(record: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from executorch.devtools import Inspector

    for name in ("export_fx_viewer_html", "export_fx_viewer_html_from_graphs"):
        monkeypatch.setattr(Inspector, name, None, raising=False)
    install_inspector_hook()
    install_inspector_hook()
    with pytest.raises(RuntimeError, match="requires an ETRecord"):
        Inspector.export_fx_viewer_html(SimpleNamespace(_etrecord=None), "out.html")
    asked: list[Any] = []
    monkeypatch.setattr(hook, "export_etrecord_to_html", lambda *args, **options: asked.append((args, options)))
    Inspector.export_fx_viewer_html(SimpleNamespace(_etrecord=record), "out.html", title="T", enrich_missing_meta=False)
    assert asked == [((record, "out.html"), {"title": "T", "enrich_missing_meta": False})]


def test_graphs_need_no_record(tmp_path: Path) -> None:
    graph = torch.fx.symbolic_trace(Encode())
    path = tmp_path / "graphs.html"
    hook.export_fx_viewer_html_from_graphs({"a": graph, "b": graph}, str(path), title="Two")
    assert path.read_text().startswith("<!doctype html>")
