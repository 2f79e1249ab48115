"""The Python on the pages of docs/ runs as it stands; names that a page takes from its reader are given here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fxstore
from tests import docs, readme

pytest.importorskip("executorch")
DOCS = Path(__file__).parents[2] / "docs"
ELSEWHERE = {"adapters.md", "spark.md"}  # test_adapters_docs.py, engines/test_docs.py
CODE = {
    page.name: found
    for page in sorted(DOCS.glob("*.md"))
    if (found := re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S))
}


def layout(_: dict[str, Any]) -> dict[str, Any]:
    return {}


def metrics(compiled: dict[str, Any]) -> dict[str, Any]:
    import torch

    store = fxstore.connect(":memory:")
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    inputs = (torch.ones(2, 4),)
    exported = torch.export.export(module, inputs)
    rec = store.record("docs")
    rec.__enter__()
    rec.stage("float", exported)
    rec.stage("again", exported.run_decompositions({}))
    x0, x1 = compiled["inputs"][0], compiled["inputs"][0] + 1
    return {
        "store": store,
        "rec": rec,
        "inputs": inputs,
        "stages": {"runtime": compiled["program"]},
        "x0": x0,
        "x1": x1,
    }


def fx_viewer(_: dict[str, Any]) -> dict[str, Any]:
    import torch

    pytest.importorskip("anywidget")
    module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    store = fxstore.connect(":memory:")
    store.ingest({"float": module}, name="docs")
    nid = store.sql("SELECT nid FROM nodes").fetchall()[0][0]
    return {"float_gm": module, "quantized_gm": module, "store": store, "nid": nid}


def embedding(_: dict[str, Any]) -> dict[str, Any]:
    import torch

    from fxstore.fx_viewer import FXGraphExporter, runtime_js

    exporter = FXGraphExporter(torch.fx.symbolic_trace(torch.nn.ReLU()))
    return {"runtime_js": runtime_js, "float_graph": exporter, "edge_graph": exporter}


def model_explorer(_: dict[str, Any]) -> dict[str, Any]:
    store = fxstore.connect(":memory:")
    store.commit(docs.night("monday", 0.9999, 1.0))
    return {"store": store}


def training(_: dict[str, Any]) -> dict[str, Any]:
    import torch

    pytest.importorskip("torchlens")
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1), torch.nn.GELU(), torch.nn.Linear(4, 2))
    return {"store": fxstore.connect(":memory:"), "model": model.train(), "inputs": (torch.ones(2, 4),)}


GIVEN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "layout.md": layout, "metrics.md": metrics, "fx_viewer.md": fx_viewer, "model_explorer.md": model_explorer,
    "training.md": training, "embedding.md": embedding,
}  # fmt: skip


def test_every_page_with_python_is_run() -> None:
    assert set(CODE) == set(GIVEN) | ELSEWHERE


@pytest.mark.parametrize("page", GIVEN)
def test_the_python_of_a_page_runs(
    page: str, compiled: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("net.etdp", "net.bin"):
        (tmp_path / name).write_bytes((compiled["folder"] / name).read_bytes())
    scope = GIVEN[page](compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in CODE[page]:
            exec(compile(code, page, "exec"), scope)


def test_a_saved_payload_is_shown_by_the_command_of_the_page(compiled: dict[str, Any], tmp_path: Path) -> None:
    from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter

    module = fx_viewer(compiled)["float_gm"]
    FXGraphCompareExporter({"a": FXGraphExporter(module)}).export_json(tmp_path / "compare.json")
    ((command, _),) = readme.blocks(DOCS / "fx_viewer.md")
    assert readme.run(command, tmp_path).startswith("Wrote compare.html (")
