"""The RFC's code examples, as they stand there but for the import and the graphs that they are shown on."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from fxstore.fx_viewer import (  # noqa: E402
    CategoricalColorRule,
    FXGraphCompareExporter,
    FXGraphExporter,
    GraphExtension,
    NumericColorRule,
    build_compare_from_etrecord,
    export_etrecord_to_html,
    install_inspector_hook,
)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def graphs(demo_compile: Any) -> dict[str, Any]:
    return {name: demo_compile.sources[name] for name in ("float", "quantized", "edge", "lowered")}


@pytest.fixture(scope="module")
def etrecord(demo_compile: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("record") / "mv2.etrecord"
    demo_compile.record.save(str(path))
    return str(path)


def page(name: str) -> str:
    text = Path(name).read_text("utf-8")
    assert text.startswith("<!doctype html>")
    return text


def test_several_graphs(graphs: dict[str, Any]) -> None:
    float_gm, quantized_gm, edge_gm, device_gm = graphs.values()
    FXGraphCompareExporter(
        OrderedDict([
            ("Float",     FXGraphExporter(float_gm)),
            ("Quantized", FXGraphExporter(quantized_gm)),
            ("Edge IR",   FXGraphExporter(edge_gm)),
            ("Device",    FXGraphExporter(device_gm)),
        ]),
        sync_mode="auto",
        title="Quantization Pipeline",
    ).export_html("pipeline_compare.html")  # fmt: skip
    page("pipeline_compare.html")


def test_an_overlay(graphs: dict[str, Any]) -> None:
    exporter = FXGraphExporter(graphs["float"])
    per_layer_results = {"conv2d": {"severity": 0.2, "max_abs": 0.1, "cosine": 0.99}}

    ext = GraphExtension(id="accuracy", name="Per-Layer Accuracy")

    for node_id, metrics in per_layer_results.items():
        ext.add_node_data(node_id, {
            "severity_score": metrics["severity"],
            "max_abs_err":    metrics["max_abs"],
            "cosine_sim":     metrics["cosine"],
        })  # fmt: skip

    ext.set_color_rule(NumericColorRule(attribute="severity_score", cmap="reds"))

    ext.set_label_formatter(lambda d: [
        f"sev={d['severity_score']:.2e}",
        f"max={d['max_abs_err']:.2e}",
    ])  # fmt: skip

    ext.set_tooltip_formatter(lambda d: [
        f"cosine_sim: {d['cosine_sim']:.4f}",
        f"max_abs_err: {d['max_abs_err']:.6e}",
    ])  # fmt: skip

    exporter.add_extension(ext)
    exporter.export_html("accuracy_overlay.html")
    page("accuracy_overlay.html")
    node = exporter.generate_json_payload()["extensions"]["accuracy"]["nodes"]["conv2d"]
    assert node["label_append"] == ["sev=2.00e-01", "max=1.00e-01"]
    assert node["tooltip"] == ["cosine_sim: 0.9900", "max_abs_err: 1.000000e-01"]


def test_one_graph(graphs: dict[str, Any]) -> None:
    exporter = FXGraphExporter(graphs["float"])

    exporter.set_base_label_formatter(lambda node: node.info.get("target", ""))
    exporter.set_base_color_rule(CategoricalColorRule(attribute="op"))

    ext = GraphExtension(id="my_analysis", name="My Analysis")
    ext.add_node_data("conv2d", {"metric": 0.95, "status": "pass"})
    ext.set_color_rule(NumericColorRule(attribute="metric", cmap="red_green"))
    ext.set_label_formatter(lambda d: [f"metric={d['metric']:.2f}"])
    ext.set_sync_key("debug_handle")
    exporter.add_extension(ext)

    exporter.export_html("graph.html")
    exporter.export_json("graph.json")
    js = exporter.export_js("container-id")

    page("graph.html")
    payload = json.loads(Path("graph.json").read_text("utf-8"))
    labels = {node["id"]: node["label"] for node in payload["base"]["nodes"]}
    assert labels["conv2d"] == "aten.conv2d.default"
    assert "container-id" in js


def test_a_compare_with_an_active_layer(graphs: dict[str, Any]) -> None:
    aten_gm, quantized_gm, edge_gm, _ = graphs.values()
    viewers = OrderedDict([
        ("ATen IR",   FXGraphExporter(aten_gm)),
        ("Quantized", FXGraphExporter(quantized_gm)),
        ("Edge IR",   FXGraphExporter(edge_gm)),
    ])  # fmt: skip

    FXGraphCompareExporter(
        viewers,
        title="Quantization Pipeline Compare",
        sync_mode="auto",            # from_node_root → debug_handle → id
        active_extensions=["accuracy"],
        color_by="accuracy",
    ).export_html("compare.html")  # fmt: skip
    page("compare.html")


def test_a_record_in_one_line(etrecord: str) -> None:
    export_etrecord_to_html(etrecord, "mv2_compare.html")
    page("mv2_compare.html")
    exporter = build_compare_from_etrecord(etrecord, title="My Compare")
    exporter.export_html("mv2_compare.html")
    assert [viewer["name"] for viewer in exporter.generate_json_payload()["viewers"]] == ["Aten", "Edge dialect"]


def test_the_inspector(etrecord: str, demo_compile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.devtools import Inspector

        from fxstore.ingest.measure.runtime import run_pte

        for name in ("export_fx_viewer_html", "export_fx_viewer_html_from_graphs"):
            monkeypatch.setattr(Inspector, name, None, raising=False)
        install_inspector_hook()
        run = run_pte(demo_compile.program.buffer, [("forward", demo_compile.inputs)])
        Path("out.etdump").write_bytes(run.etdump)

        inspector = Inspector(etdump_path="out.etdump", etrecord=etrecord)
    inspector.export_fx_viewer_html("mv2_compare.html")
    page("mv2_compare.html")

    latency_ext = GraphExtension(id="latency", name="Runtime Latency")
    for event in inspector.event_blocks[0].events:
        if event.debug_handles:
            latency_ext.add_node_data(
                event.name, {"avg_ms": event.perf_data.avg}
            )  # fmt: skip
    latency_ext.set_color_rule(NumericColorRule(attribute="avg_ms", cmap="reds"))
    assert latency_ext.nodes_data
