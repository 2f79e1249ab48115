"""A third party's adapter, from docs/adapters.md alone: an installed package outside of this tree, and the examples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import SourceError
from fxstore.fx_viewer import ColorRule, FXGraphCompareExporter, FXGraphExporter, GraphExtension
from fxstore.ingest import adapters

DOCS = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS, re.S)

# A device graph as QNN-like tools dump it: tensors apart from nodes, and a trace of what the device ran.
PACKAGE = '''
"""Reads .qdev.json device graphs, and the .qtrace.csv that a run of one leaves."""

import csv
import json
from pathlib import Path

from fxstore.errors import SourceError
from fxstore.ingest import Ingested, Node, NodeOverlay, Stage, Use, Value, graph_of

ROLES = {"APP_WRITE": "input", "STATIC": "parameter"}


class DeviceGraph:
    options = frozenset({"soc"})

    def accepts(self, source):
        return isinstance(source, Path) and source.name.endswith(".qdev.json")

    def read(self, source, soc=None):
        try:
            graph = json.loads(source.read_text("utf-8"))["graph"]
            tensors, ops = graph["tensors"], graph["nodes"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SourceError(f"{source}: no device graph", hint="dump it again") from error
        gives = {t: (name, port) for name, op in ops.items() for port, t in enumerate(op["output_names"])}
        value = {name: Value(t["dtype"], tuple(map(str, t["dims"]))) for name, t in tensors.items()}
        nodes = [
            Node(name, "tensor", outputs=[value[name]], role=ROLES[t["type"]])
            for name, t in tensors.items()
            if t["type"] in ROLES
        ]
        for name, op in ops.items():
            uses = [Use(*gives.get(t, (t, 0)), argument=f"in[{i}]") for i, t in enumerate(op["input_names"])]
            handles = {"debug_handle": [op["debug_handle"]]} if "debug_handle" in op else {}
            outputs = [value[t] for t in op["output_names"]]
            attrs = {"params": op.get("params", {})}
            nodes.append(
                Node(name, op["type"].lower(), uses, outputs, target=f"{op['package']}::{op['type']}", backend="QNN",
                     attrs=attrs, handles=handles)
            )
        out = [Use(*gives[name]) for name, t in tensors.items() if t["type"] == "APP_READ"]
        nodes.append(Node("output", "output", out, role="output"))
        built, notes = graph_of(nodes)
        stage = Stage("", (built,), "device", "partial" if notes else "complete", "; ".join(notes) or None)
        rows = [{"node": name, "metric": "soc", "text": soc} for name in ops] if soc else []
        layers = (NodeOverlay.of("soc", "category", rows),) if rows else ()
        return Ingested((stage,), layers, stage.status, {"qnn": graph.get("version", "unknown")})


class DeviceTrace:
    def accepts(self, source):
        return isinstance(source, Path) and source.name.endswith(".qtrace.csv")

    def read(self, source):
        with source.open(encoding="utf-8", newline="") as file:
            rows = [
                {"node": row["op"], "metric": "latency", "value": float(row["us"]) * 1000 if row["us"] else None,
                 "reason": None if row["us"] else "not run on the device", "sample": int(row["run"])}
                for row in csv.DictReader(file)
            ]
        layer = NodeOverlay.of("trace", "latency", rows, unit="ns", better="lower", source="device")
        return Ingested(overlays=(layer,))
'''
BROKEN = "raise RuntimeError('half installed')\n"
ENTRY_POINTS = """[fxstore.adapters]
a-broken = outside_broken:Nothing
qnn-graph = outside_device:DeviceGraph
qnn-trace = outside_device:DeviceTrace
"""
GRAPH = {
    "graph": {
        "version": "2.29",
        "tensors": {
            "x": {"type": "APP_WRITE", "dtype": "uint8", "dims": [1, 8]},
            "w": {"type": "STATIC", "dtype": "int8", "dims": [4, 8]},
            "a": {"type": "NATIVE", "dtype": "uint8", "dims": [1, 2]},
            "b": {"type": "NATIVE", "dtype": "uint8", "dims": [1, 2]},
            "y": {"type": "APP_READ", "dtype": "uint8", "dims": [1, 2]},
        },
        "nodes": {
            "add_3": {
                "package": "qti.aisw",
                "type": "ElementWiseAdd",
                "input_names": ["b", "b"],
                "output_names": ["y"],
            },
            "fc_1": {"package": "qti.aisw", "type": "FullyConnected", "input_names": ["x", "w"], "output_names": ["h"]},
            "split_2": {
                "package": "qti.aisw",
                "type": "Split",
                "input_names": ["h"],
                "output_names": ["a", "b"],
                "params": {"axis": 1},
                "debug_handle": 7,
            },
        },
    }
}
GRAPH["graph"]["tensors"]["h"] = {"type": "NATIVE", "dtype": "uint8", "dims": [1, 4]}  # type: ignore[index,call-overload]
TRACE = "op,us,run\nfc_1,2.5,0\nfc_1,3.5,1\nsplit_2,,0\nsplit_9,1,0\n"


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, as pip would lay it into a directory of the path."""
    place = tmp_path / "site"
    about = place / "outside_device-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-device\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (place / "outside_device.py").write_text(PACKAGE)
    (place / "outside_broken.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(place))
    (tmp_path / "net.qdev.json").write_text(json.dumps(GRAPH))
    (tmp_path / "net.qtrace.csv").write_text(TRACE)
    yield tmp_path
    sys.modules.pop("outside_device", None)


def test_the_package_uses_only_what_the_docs_name() -> None:
    names = re.findall(r"from fxstore\.ingest import (.*)", PACKAGE)[0].split(", ")
    assert all(f"`{name}" in DOCS for name in names)
    assert "fxstore.errors.SourceError" in DOCS


def test_a_device_graph_and_its_trace_are_a_run(outside: Path) -> None:
    with fxstore.connect(":memory:") as store:
        run = store.ingest({"device": outside / "net.qdev.json", "trace": outside / "net.qtrace.csv"}, soc="sm8650")
        assert (run.status, run.stages) == ("complete", ("device",))
        assert run.notes == ("overlay trace: 1 ids lie on no node: 'split_9' names no node; did you mean 'split_2'?",)
        edges = store.sql(
            "SELECT s.name, e.src_port, d.name, e.dst_arg FROM edges e JOIN nodes s ON s.nid = e.src_nid"
            " JOIN nodes d ON d.nid = e.dst_nid ORDER BY ALL"
        ).fetchall()
        assert edges == [
            ("add_3", 0, "output", "0"),
            ("fc_1", 0, "split_2", "in[0]"),
            ("split_2", 1, "add_3", "in[0]"),
            ("split_2", 1, "add_3", "in[1]"),
            ("w", 0, "fc_1", "in[1]"),
            ("x", 0, "fc_1", "in[0]"),
        ]
        found = store.sql("SELECT role, op_type, dtype, shape, backend FROM nodes WHERE name = 'split_2'").fetchall()
        assert found == [("op", "split", "uint8", ["1", "2"], "QNN")]
        assert store.sql("SELECT DISTINCT text FROM metrics WHERE metric = 'soc'").fetchall() == [("sm8650",)]
        assert [(row[2], row[5]) for row in store.sql(WORST).fetchall()] == [("fc_1", 3000.0)]
        reasons = store.sql("SELECT reasons FROM coverage JOIN overlays USING (overlay_id) WHERE name = 'trace'")
        assert reasons.fetchall() == [({"no data": 1, "not run on the device": 1},)]
        assert store.sql("SELECT versions['qnn'] FROM runs").fetchall() == [("2.29",)]


def test_a_device_graph_is_a_pane_of_the_fx_viewer(outside: Path) -> None:
    exporter = FXGraphExporter(outside / "net.qdev.json")
    layer = GraphExtension(id="tile", name="Tiles")
    layer.add_node_data("fc_1", {"tiles": 4})
    layer.set_color_rule(ByParity("tiles"))
    exporter.add_extension(layer)
    payload = FXGraphCompareExporter({"Device": exporter}).generate_json_payload()["viewers"][0]["payload"]
    assert {(e["v"], e["w"]) for e in payload["base"]["edges"]} >= {("fc_1", "split_2"), ("split_2", "add_3")}
    assert payload["extensions"]["tile"]["nodes"]["fc_1"]["fill_color"] == "#00ff00"


class ByParity(ColorRule):
    """A colour rule that fxstore does not know."""

    def apply(self, nodes_data: Any) -> Any:
        colors = {node: "#ff0000" if data[self.attribute] % 2 else "#00ff00" for node, data in nodes_data.items()}
        return colors, [{"label": "even", "color": "#00ff00"}, {"label": "odd", "color": "#ff0000"}]


WORST = "SELECT nid, stage, name, target, module_path, value FROM worst('latency')"


def test_it_is_listed_without_being_imported(outside: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(outside / 'site')!r}); from fxstore.cli import run; run(['adapters']);"
        " print([name for name in sys.modules if name.startswith('outside')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    lines = shown.splitlines()
    assert "qnn-graph\toutside_device:DeviceGraph" in lines
    order = [line.partition("\t")[0] for line in lines]
    assert order.index("graph-json") < order.index("a-broken") < order.index("metrics")
    assert lines[-1] == "[]"


def test_a_broken_neighbour_breaks_nothing_and_is_named(outside: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert adapters.read(outside / "net.qdev.json").stages
    assert "adapter a-broken cannot be loaded: RuntimeError: half installed" in caplog.text
    (outside / "what.bin").write_bytes(b"?")
    with pytest.raises(SourceError, match="no adapter reads") as caught:
        adapters.read(outside / "what.bin")
    assert "broken: a-broken" in str(caught.value.hint)


def test_a_broken_file_of_its_own_is_its_own_error(outside: Path) -> None:
    (outside / "bad.qdev.json").write_text("{")
    with pytest.raises(SourceError, match="no device graph"):
        adapters.read(outside / "bad.qdev.json")


def example(word: str) -> Any:
    """The adapter of one of the documented examples."""
    (code,) = [code for code in EXAMPLES if word in code]
    scope: dict[str, Any] = {}
    exec(compile(code, "docs/adapters.md", "exec"), scope)
    return next(value for name, value in scope.items() if name.endswith("Adapter"))()


def test_the_tosa_example_runs(tmp_path: Path) -> None:
    block = {
        "name": "main",
        "tensors": [{"name": n, "type": "INT8", "shape": [1, 4]} for n in ("x", "y", "z")],
        "operators": [
            {"op": "CLAMP", "inputs": ["x"], "outputs": ["y"]},
            {"op": "ADD", "inputs": ["y", "y"], "outputs": ["z"]},
        ],
        "inputs": ["x"],
        "outputs": ["z"],
    }
    path = tmp_path / "net.tosa.json"
    path.write_text(json.dumps({"regions": [{"blocks": [block]}]}))
    adapter = example("TosaAdapter")
    assert adapter.accepts(path)
    with fxstore.connect(":memory:") as store:
        store.ingest(adapter.read(path), name="tosa")
        found = store.sql("SELECT name, op_type, dtype, method FROM nodes ORDER BY nid").fetchall()
        assert found == [
            ("x", "placeholder", "int8", "main"),
            ("y", "clamp", "int8", "main"),
            ("z", "add", "int8", "main"),
            ("output", "output", None, "main"),
        ]
        assert store.sql("SELECT count(*) FROM edges").fetchall() == [(4,)]
    path.write_text("{}")
    with pytest.raises(SourceError, match="no TOSA graph"):
        adapter.read(path)


def test_the_module_tree_example_runs() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    adapter = example("ModuleTreeAdapter")
    assert adapter.accepts(model)
    assert not adapter.accepts(torch.fx.symbolic_trace(model))
    with fxstore.connect(":memory:") as store:
        store.ingest(adapter.read(model), name="tree")
        found = store.sql(
            "SELECT n.name, n.op_type, n.module_path, m.value FROM nodes n JOIN metrics m USING (nid)"
            " JOIN overlays o USING (overlay_id) WHERE o.name = 'parameters' ORDER BY n.name"
        ).fetchall()
        assert found == [("0", "Linear", "0", 8.0), ("1", "ReLU", "1", 0.0), ("model", "Sequential", "", 0.0)]
        assert store.sql("SELECT count(*) FROM edges").fetchall() == [(2,)]
