from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from fxstore import Store, connect
from fxstore.records import RunRecord
from tests.store.records import chain, graph, metric, node, overlay, run


def tiny(name: str = "tiny") -> RunRecord:
    """``mean(relu(conv2d(x)))`` as float and edge: on the edge relu is NaN, mean 0.2, conv 0.9, x not measured."""
    float_ = graph(
        [node("x", "placeholder"), "conv2d", "relu", "mean", node("output", "output")],
        chain("x", "conv2d", "relu", "mean", "output"),
    )
    edge = graph(
        [
            node("x", "placeholder"),
            node("aten_convolution_default", op_type="convolution", module_path="c", source_file="m.py", source_line=7),
            "relu_1",
            "mean_1",
            node("output", "output"),
        ],
        chain("x", "aten_convolution_default", "relu_1", "mean_1", "output"),
        origins={"aten_convolution_default": [("conv2d", "ExportPass"), ("conv", "dynamo")]},
        handles={"aten_convolution_default": [1, 2], "relu_1": [2]},
    )
    return run(
        {"float": float_, "edge": edge},
        name=name,
        links=[("float:conv2d", "edge:aten_convolution_default", "from_node"), ("float:relu", "edge:relu_1", "name")],
        sync=[["float:conv2d*", "edge:aten_convolution_default*"], ["float:relu*", "edge:relu_1*"]],
        values=[["float:relu", "edge:relu_1"]],
        ancestors=[("edge", 1, "float:conv2d")],
        unmatched=[("edge:mean_1", "float", "no ancestor")],
        overlays=[
            overlay(
                "acc",
                [
                    metric("edge:aten_convolution_default", "cosine", 0.9, ref="float:conv2d"),
                    metric("edge:relu_1", "cosine", math.nan),
                    metric("edge:mean_1", "cosine", 0.2),
                    metric("edge:x", "cosine", None, reason="no buffer"),
                    metric("", "load_ms", 3.0),
                ],
            )
        ],
        tags={"soc": "s1"},
    )


@pytest.fixture
def store() -> Iterator[Store]:
    """A store in memory with the run ``tiny``."""
    with connect(":memory:") as opened:
        opened.commit(tiny())
        yield opened


def nid(store: Store, place: str, run_name: str = "tiny") -> int:
    """The nid of ``stage:name`` in the latest run of that name."""
    stage, name = place.split(":")
    found = store.run(run_name)
    assert found is not None
    rows = store.sql(
        "SELECT nid FROM nodes WHERE run_id = ? AND stage = ? AND name = ?", [found.run_id, stage, name]
    ).fetchall()
    (row,) = rows
    assert isinstance(row[0], int)
    return row[0]
