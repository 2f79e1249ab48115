"""Graphs and overlays that others wrote: Model Explorer's JSON and payloads of the fx_viewer."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import SourceError
from fxstore.ingest import adapters
from fxstore.records import Graph


def edges(graph: Graph) -> list[tuple[str, int, str, str]]:
    names = graph.nodes["name"].to_pylist()
    return [(names[e["src"]], e["src_port"], names[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()]


def rows(graph: Graph) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in graph.nodes.to_pylist()}


def write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def key(name: str, value: Any) -> dict[str, Any]:
    return {"key": name, "value": value}


def edge(source: str, output: str = "0", to: str = "0") -> dict[str, str]:
    return {"sourceNodeId": source, "sourceNodeOutputId": output, "targetNodeInputId": to}


SPLIT = {
    "id": "main",
    "nodes": [
        {
            "id": "add|1",
            "label": "add",
            "namespace": "blk:2",
            "incomingEdges": [edge("s|1", "1"), edge("s|1", "1", "1")],
        },
        {"id": "x|1", "label": "x", "namespace": "inputs"},
        {
            "id": "s|1",
            "label": "split",
            "namespace": "net/0/a%2Fb",
            "incomingEdges": [edge("x|1")],
            "attrs": [key("dim", "1"), key("parents", {"type": "node_ids", "nodeIds": ["x|1"]})],
            "outputsMetadata": [
                {"id": "0", "attrs": [key("tensor_shape", "torch.float32[2, 4]")]},
                {"id": "1", "attrs": [key("shape", "2, s0"), key("dtype", "float16")]},
            ],
        },
        {"id": "call|1", "label": "cond", "subgraphIds": ["body"], "incomingEdges": [edge("add|1", to="pred")]},
    ],
}
BODY = {"id": "body", "nodes": [{"id": "sin|1", "label": "aten.sin.default", "namespace": "inner"}]}


@pytest.mark.parametrize(
    "document",
    [
        {"label": "c", "graphs": [SPLIT, BODY]},
        [{"label": "c", "subgraphs": [SPLIT, BODY]}],
        [SPLIT, BODY],
        {"graphCollections": [{"label": "c", "graphs": [SPLIT, BODY]}]},
    ],
    ids=["collection", "subgraphs", "list", "response"],
)
def test_every_shape_of_model_explorers_files(document: Any, tmp_path: Path) -> None:
    found = adapters.read(write(tmp_path / "g.json", document))
    (stage,) = found.stages
    assert (stage.name, stage.status, found.status) == ("main", "complete", "complete")
    outer, inner = stage.graphs
    assert [e for e in edges(outer) if e[2] == "add|1"] == [("s|1", 1, "add|1", "0"), ("s|1", 1, "add|1", "1")]
    assert ("add|1", 0, "call|1", "pred") in edges(outer)
    nodes = rows(outer)
    assert (nodes["x|1"]["role"], nodes["x|1"]["module_path"]) == ("input", None)
    assert (nodes["s|1"]["dtype"], nodes["s|1"]["shape"], nodes["s|1"]["ports"]) == ("float32", ["2", "4"], 2)
    assert json.loads(nodes["s|1"]["attrs"])["outputs"][1] == ["float16", ["2", "s0"]]
    assert nodes["s|1"]["module_path"] == "net.0.a/b"
    assert (nodes["add|1"]["module_path"], nodes["add|1"]["module_call"]) == ("blk", 2)
    assert (inner.path, inner.parent_path, inner.parent_position) == ("body", "", list(nodes).index("call|1"))
    assert rows(inner)["sin|1"]["op_type"] == "sin"


def test_what_is_wrong_with_a_graph_is_said_and_nothing_lost(tmp_path: Path) -> None:
    nodes = [
        {"id": "a", "label": "a", "incomingEdges": [edge("b"), edge("gone")]},
        {"id": "b", "label": "b", "incomingEdges": [edge("a", "3")]},
        {"id": "a", "label": "again"},
    ]
    (stage,) = adapters.read(write(tmp_path / "g.json", [{"id": "g", "nodes": nodes}])).stages
    assert stage.status == "partial"
    assert sorted(rows(stage.graphs[0])) == ["a", "a#2", "b"]
    for said in ("1 nodes have a name", "2 nodes are in a cycle", "1 uses of values", "the first a:3"):
        assert said in (stage.note or "")


def test_node_data_lies_on_the_stage_of_its_graph(tmp_path: Path) -> None:
    other = {"id": "other", "nodes": [{"id": "s|1", "label": "split"}]}
    write(tmp_path / "graphs.json", [SPLIT, BODY, other])
    results = {"s|1": {"value": 2.5, "bgColor": "red"}, "sin|1": {"value": 1}, "add|2": {"value": 7}}
    data = {
        "main": {"name": "latency", "results": results, "thresholds": []},
        "other": {"results": {"s|1": {"value": "portable"}}},
    }
    write(tmp_path / "data.json", data)
    with fxstore.connect(":memory:") as store:
        sources = {"model": tmp_path / "graphs.json", "given": tmp_path / "data.json"}
        run = store.ingest(sources)
        assert run.stages == ("model/main", "model/other")
        found = store.sql(
            "SELECT o.name, o.kind, n.stage, n.name, m.value, m.text FROM metrics m JOIN overlays o USING (overlay_id)"
            " JOIN nodes n USING (nid) WHERE o.kind <> 'static' ORDER BY ALL"
        ).fetchall()
        assert found == [
            ("data", "category", "model/other", "s|1", None, "portable"),
            ("latency", "statistics", "model/main", "sin|1", 1.0, None),
            ("latency", "statistics", "model/main", "s|1", 2.5, None),
        ]
        assert run.notes == (
            "overlay latency: 1 ids lie on no node: 'add|2' names no node of stage model/main; did you mean 'add|1'?",
        )


def vendor_package(patch: pytest.MonkeyPatch) -> None:
    """Makes Model Explorer's modules importable, without the server that importing the package starts up."""
    found = importlib.util.find_spec("model_explorer")
    if found is None:
        pytest.skip("needs ai-edge-model-explorer")
    package = types.ModuleType("model_explorer")
    package.__path__ = list(found.submodule_search_locations or [])
    patch.setitem(sys.modules, "model_explorer", package)


def vendor_adapter(patch: pytest.MonkeyPatch) -> Any:
    vendor_package(patch)
    name = "model_explorer.pytorch_exported_program_adapter_impl"
    return importlib.import_module(name).PytorchExportedProgramAdapterImpl


def test_node_data_that_model_explorers_own_builder_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor_package(monkeypatch)
    data = importlib.import_module("model_explorer.node_data_builder")
    results = {"s|1": data.NodeDataResult(value=0.25), "add|1": data.NodeDataResult(value="low", bgColor="#fff")}
    built = data.ModelNodeData(graphsData={"main": data.GraphNodeData(results=results, name="acc")})
    built.save_to_file(str(tmp_path / "acc.json"))
    write(tmp_path / "g.json", {"graphs": [SPLIT]})
    with fxstore.connect(":memory:") as store:
        run = store.ingest({"net": tmp_path / "g.json", "acc": tmp_path / "acc.json"})
        query = "SELECT n.name, m.metric, m.value, m.text FROM metrics m JOIN nodes n USING (nid) "
        query += "JOIN overlays o USING (overlay_id) WHERE o.kind <> 'static' ORDER BY 1"
        found = store.sql(query).fetchall()
    assert run.status == "complete"
    assert found == [("add|1", "acc", None, "low"), ("s|1", "acc", 0.25, None)]


def test_a_file_that_model_explorers_own_adapter_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    adapter = vendor_adapter(monkeypatch)
    from fxstore.ingest.export.capture import capture_program

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3)

        def forward(self, x: Any) -> Any:
            h = self.conv(x).relu()
            return torch.cat([h, h.sin()], 1)

    program = torch.export.export(Net(), (torch.randn(1, 3, 8, 8),))
    graphs = adapter(program, {"const_element_count_limit": 4}).convert()["graphs"]
    written = [dataclasses.asdict(graph) for graph in graphs]
    (stage,) = adapters.read(write(tmp_path / "net.json", [{"label": "net", "subgraphs": written}])).stages
    (own,) = capture_program(program)
    (graph,) = stage.graphs
    assert list(rows(graph)) == list(rows(own))
    for name, row in rows(own).items():
        if row["op"] == "call_function":
            assert (rows(graph)[name]["dtype"], rows(graph)[name]["shape"]) == (row["dtype"], row["shape"])
    assert {e[:1] + e[2:3] for e in edges(graph)} == {e[:1] + e[2:3] for e in edges(own)}


PAYLOAD = {
    "base": {
        "legend": [],
        "nodes": [
            {"id": "x", "label": "x", "x": 0, "y": 0, "info": {"op": "placeholder", "name": "x", "target": "x"}},
            {
                "id": "split",
                "info": {
                    "op": "call_function",
                    "target": "aten.split.Tensor",
                    "args": ["x", "2"],
                    "kwargs": {"dim": "1"},
                    "dtype": ["torch.float32", "torch.float32"],
                    "tensor_shape": [[2, 2], [2, 1]],
                    "debug_handle": [3, 4],
                },
            },
            {"id": "getitem", "info": {"op": "call_function", "target": "_operator.getitem", "args": ["split", "1"]}},
            {"id": "add", "info": {"op": "call_function", "target": "add", "args": ["getitem", ["getitem", "1"]]}},
            {"id": "output", "info": {"op": "output", "target": "output", "args": [["add"]]}},
        ],
        "edges": [
            {"v": "x", "w": "split", "points": []},
            {"v": "split", "w": "getitem"},
            {"v": "getitem", "w": "add"},
            {"v": "add", "w": "output"},
        ],
    },
    "extensions": {
        "acc": {
            "id": "acc",
            "name": "Accuracy",
            "nodes": {"add": {"info": {"cosine": 0.5, "verdict": "bad"}}, "x": {"info": {"cosine": math.nan}}},
        }
    },
}


def test_a_comparison_that_the_exporter_wrote(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter
    from fxstore.ingest.export.capture import capture_program

    program = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),))
    sources = {"float": program, "edge": program.run_decompositions()}
    exporters = {name: FXGraphExporter(source.graph_module) for name, source in sources.items()}
    FXGraphCompareExporter(exporters).export_json(tmp_path / "both.json")
    stages = adapters.read(tmp_path / "both.json").stages
    assert [(stage.name, stage.status) for stage in stages] == [("float", "complete"), ("edge", "complete")]
    for stage in stages:
        (own,) = capture_program(sources[stage.name])
        assert list(rows(stage.graphs[0])) == list(rows(own))
        assert [e[:1] + e[2:3] for e in edges(stage.graphs[0])] == [e[:1] + e[2:3] for e in edges(own)]


def test_a_payload_of_a_later_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "later.json", {**PAYLOAD, "schema": "fxstore.graph", "version": 2})
    with pytest.raises(SourceError, match="version 2; this fxstore reads up to 1"):
        adapters.read(tmp_path / "later.json")


def test_a_payload_gives_its_graph_and_its_extensions(tmp_path: Path) -> None:
    write(tmp_path / "payload.json", PAYLOAD)
    (stage,) = adapters.read(tmp_path / "payload.json").stages
    (graph,) = stage.graphs
    assert edges(graph) == [
        ("x", 0, "split", "0"),
        ("split", 1, "getitem", "0"),
        ("getitem", 0, "add", "0"),
        ("getitem", 0, "add", "1[0]"),
        ("add", 0, "output", "0[0]"),
    ]
    assert rows(graph)["split"]["ports"] == 2
    assert [h["handle"] for h in graph.tables["handles"].to_pylist()] == [3, 4]
    with fxstore.connect(":memory:") as store:
        store.ingest({"edge": tmp_path / "payload.json"})
        found = store.sql(
            "SELECT o.name, n.stage, n.name, m.metric, m.value, m.text FROM metrics m"
            " JOIN overlays o USING (overlay_id) JOIN nodes n USING (nid)"
            " WHERE o.kind <> 'static' AND m.value IS DISTINCT FROM 'nan' ORDER BY ALL"
        ).fetchall()
        assert found == [
            ("Accuracy", "edge", "add", "cosine", 0.5, None),
            ("Accuracy", "edge", "add", "verdict", None, "bad"),
        ]
        assert store.sql("SELECT name FROM worst('cosine')").fetchall() == [("x",), ("add",)]


HOSTILE = {
    "deep": '[{"id": "g", "nodes": [{"id": "a", "incomingEdges": ' + "[" * 100_000 + "]" * 100_000 + "}]}]",
    "huge number": '[{"id": "g", "nodes": [{"id": "a", "incomingEdges": [], "attrs": [' + "9" * 100_000 + "]}]}]",
    "no UTF-8": b'[{"id": "g", "nodes": [{"id": "\xff\xfe", "incomingEdges": []}]}]',
    "cut": '[{"id": "g", "nodes": [{"id": "a", "incomingEdges": [',
    "many": '[{"id": "g", "nodes": [{"id": "a", "incomingEdges": [' + "{}," * 2_000_000 + "{}]}]}]",
    "nodes of no kind": '[{"id": "g", "nodes": [7], "incomingEdges": 1}]',
    "id of no kind": '[{"id": "g", "nodes": [{"id": {}, "incomingEdges": []}]}]',
    "edge of no kind": '[{"id": "g", "nodes": [{"id": "a", "incomingEdges": [{"sourceNodeId": 3}]}]}]',
    "attribute of no kind": '[{"id": "g", "nodes": [{"id": "a", "attrs": [{"key": 1}], "incomingEdges": []}]}]',
    "base of no kind": '{"base": {"nodes": [{"id": 1}], "edges": []}}',
    "nothing": "[]",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_files_are_refused_in_time(name: str, tmp_path: Path) -> None:
    content = HOSTILE[name]
    (tmp_path / "g.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    begun = time.process_time()
    with pytest.raises(SourceError) as caught:
        adapters.read(tmp_path / "g.json")
    assert time.process_time() - begun < 2
    assert caught.value.hint


def test_graphs_that_lead_to_each_other_end(tmp_path: Path) -> None:
    def one(name: str, to: list[str]) -> dict[str, Any]:
        return {"id": name, "nodes": [{"id": "n", "label": "call", "subgraphIds": to}]}

    found = adapters.read(write(tmp_path / "g.json", [one("a", ["b", "a"]), one("b", ["a"])]))
    assert [graph.path for stage in found.stages for graph in stage.graphs] == ["", "b"]


def test_other_json_is_left_to_others(tmp_path: Path) -> None:
    for document in ({"nodes": [1, 2]}, {"results": 3}, {"a": {"results": []}}, [1], "x", {}):
        with pytest.raises(SourceError, match="no adapter reads"):
            adapters.read(write(tmp_path / "other.json", json.dumps(document)))


@pytest.mark.parametrize("named", [True, False])
def test_several_payloads_in_one_file_are_one_run(named: bool, tmp_path: Path) -> None:
    other = {"base": {"nodes": [{"id": "add", "info": {"op": "call_function", "target": "add"}}], "edges": []}}
    document = {"Aten": PAYLOAD, "Edge": other} if named else [{**PAYLOAD, "name": "Aten"}, {**other, "name": "Edge"}]
    write(tmp_path / "compare.json", document)
    with fxstore.connect(":memory:") as store:
        run = store.ingest(tmp_path / "compare.json")
        assert run.stages == ("Aten", "Edge")
        found = store.sql(
            "SELECT n.stage, n.name, m.value FROM metrics m JOIN nodes n USING (nid) WHERE m.metric = 'cosine'"
            " AND n.name = 'add'"
        ).fetchall()
        assert found == [("Aten", "add", 0.5)]
        assert dict(store.sql("SELECT stage, count(*) FROM nodes GROUP BY stage").fetchall()) == {"Aten": 5, "Edge": 1}
