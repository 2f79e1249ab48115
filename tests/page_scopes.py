"""The names that the Python of a page takes from its reader, such as ``model`` and ``inputs``; one function a page.

Each is given a network that was lowered and run (``tests/ingest/traced.py``), which it may use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fxstore
from tests import nights


def layout(_: dict[str, Any]) -> dict[str, Any]:
    return {}


def metrics(compiled: dict[str, Any]) -> dict[str, Any]:
    import torch
    from executorch.devtools.inspector._intermediate_output_capturer import IntermediateOutputCapturer
    from executorch.exir import to_edge

    store = fxstore.connect(":memory:")
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    inputs = (torch.ones(2, 4),)
    exported = torch.export.export(module, inputs)
    rec = store.record("docs")
    rec.__enter__()
    rec.stage("float", exported)
    rec.stage("again", exported.run_decompositions({}))
    edge = to_edge(exported)
    rec.stage("edge", edge)
    x0, x1 = compiled["inputs"][0], compiled["inputs"][0] + 1
    return {
        "store": store,
        "rec": rec,
        "inputs": inputs,
        "stages": {"runtime": compiled["program"]},
        "x0": x0,
        "x1": x1,
        "IntermediateOutputCapturer": IntermediateOutputCapturer,
        "exported": exported,
        "edge": edge,
        "edge_module": edge.exported_program().module(),
        "x": inputs[0],
        "tensor": module(inputs[0]).detach(),
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
    store.commit(nights.night("monday", 0.9999, 1.0))
    return {"store": store}


def training(_: dict[str, Any]) -> dict[str, Any]:
    import torch

    pytest.importorskip("torchlens")
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1), torch.nn.GELU(), torch.nn.Linear(4, 2))
    return {"store": fxstore.connect(":memory:"), "model": model.train(), "inputs": (torch.ones(2, 4),)}


def readme(_: dict[str, Any]) -> dict[str, Any]:
    return {}


SCOPES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "README.md": readme,
    "layout.md": layout, "metrics.md": metrics, "fx_viewer.md": fx_viewer, "model_explorer.md": model_explorer,
    "training.md": training, "embedding.md": embedding,
}  # fmt: skip
