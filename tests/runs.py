"""A small run written by hand, without torch: two stages and an accuracy overlay."""

from __future__ import annotations

import math

import pyarrow as pa

from fxstore import tables
from fxstore.link import structure_of
from fxstore.records import Overlay, RunRecord, Stage
from tests.link.graphs import N, graph

METRICS = pa.schema([field for field in tables.METRICS if field.name != "overlay"])


def example_run(name: str = "example") -> RunRecord:
    """Returns float and edge of ``relu(linear(x))``: addmm is NaN, relu 0.5, permute not measured."""
    float_ = graph(1, [
        N("x", "placeholder", key="input:0"),
        N("w", "get_attr", key="state:w"),
        N("linear", "linear", "x w"),
        N("relu", "relu", "linear"),
        N("output", "output", "relu"),
    ])  # fmt: skip
    edge = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("p_w", "placeholder", key="state:w"),
        N("aten_permute_copy_default", "permute_copy", "p_w", [(1, "linear")], shape=("4", "2")),
        N("aten_addmm_default", "addmm", "x aten_permute_copy_default", [(1, "linear")]),
        N("aten_relu_default", "relu", "aten_addmm_default", [(1, "relu")]),
        N("output_1", "output", "aten_relu_default"),
    ])  # fmt: skip
    stages = (Stage("float", (float_,), "exported"), Stage("edge", (edge,), "edge"))
    rows = [
        {"ordinal": 8, "port": 0, "metric": "cosine", "value": math.nan, "status": "non_finite", "ref": 2, "sample": 0},
        {"ordinal": 9, "port": 0, "metric": "cosine", "value": 0.5, "status": "ok", "ref": 3, "sample": 0},
        {"ordinal": 7, "metric": "cosine", "status": "not_measured", "reason": "no counterpart in float"},
    ]
    overlay = Overlay(
        "edge vs float", "accuracy", "by hand", pa.Table.from_pylist(rows, schema=METRICS), better="higher"
    )
    return RunRecord(name, stages, structure_of(stages), (overlay,), model="tiny", tags={"soc": "none"})
