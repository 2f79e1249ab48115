"""A run as an intermediate output debugger gives it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fxstore import Store, connect
from fxstore.cli import run as command
from fxstore.errors import QueryError
from fxstore.ingest.tables.metrics import is_qnn_debugger
from tests.query.conftest import tiny
from tests.store.records import chain, graph, metric, node, overlay, run

_TITLE = "{http://www.w3.org/2000/svg}title"


def rows(path: Path) -> list[dict[str, str]]:
    with (path / "nodes.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def partitioned() -> Any:
    """Two methods; one calls a delegate in which a value is quantised; two samples, the second one fails."""
    args = json.dumps({"args": {"1": 0.5, "2": -3}})
    top = graph(
        [node("x", "placeholder"), node("call", op_type="executorch_call_delegate", role="delegate"), "relu"],
        chain("x", "call", "relu"),
        handles={"relu": [4, 5]},
    )
    inner = graph(
        ["relu", node("q", op_type="quantize_per_tensor", attrs=args)],
        chain("relu", "q"), path="lowered_module_0", parent=("", "call"),
    )  # fmt: skip
    step = graph(["cos", "sin"], chain("cos", "sin"), method="step")
    numbers = [
        {**metric("low:relu", "cosine", value), "sample": sample, "threshold": 0.9, "verdict": verdict}
        for sample, (value, verdict) in enumerate([(0.95, "pass"), (0.5, "fail")])
    ]
    return run({"low": [top, inner, step]}, name="parts", overlays=[overlay("low vs float", numbers)])


def test_a_row_per_node_with_its_number_or_the_reason(store: Store, tmp_path: Path) -> None:
    path = store.export("debugger", tmp_path / "out")
    found = {(row["stage"], row["name"]): row for row in rows(path)}
    assert len(found) == 10
    assert is_qnn_debugger([*list(found["edge", "x"])[:8], "is_valid_score"])
    conv = found["edge", "aten_convolution_default"]
    assert (conv["cosine"], conv["debug_handle"], conv["pytorch_layout"]) == ("0.9", "1 2", "(1, 8)")
    assert (conv["num_users"], conv["op_code"], conv["compared"]) == ("1", "call_function", "acc")
    assert found["edge", "relu_1"]["cosine"].lower() == "nan"
    assert (found["edge", "x"]["cosine"], found["edge", "x"]["reason"]) == ("", "no buffer")
    assert found["float", "conv2d"]["cosine"] == found["float", "conv2d"]["verdict"] == ""


def test_partitions_methods_and_samples(tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(partitioned())
        path = store.export("debugger", tmp_path / "out")
    found = {(row["graph"].partition(" ")[0], row["name"]): row for row in rows(path)}
    assert set(found) == {
        ("forward", "x"), ("forward", "call"), ("forward", "relu"), ("step", "cos"), ("step", "sin"),
        ("forward/lowered_module_0", "relu"), ("forward/lowered_module_0", "q"),
    }  # fmt: skip
    worst = found["forward", "relu"]
    assert (worst["cosine"], worst["samples"], worst["verdict"]) == ("0.5", "2", "fail")
    for name in ("relu", "q"):
        inside = found["forward/lowered_module_0", name]
        assert (inside["scale(s)"], inside["zero_point(s)"]) == ("0.5", "-3")
    pictures = sorted(path.glob("*.svg"))
    assert [one.name for one in pictures] == [
        "00-low.forward.svg", "01-low.step.svg", "02-low.forward_lowered_module_0.svg",
    ]  # fmt: skip
    tips = [title.text or "" for title in ElementTree.parse(pictures[0]).iter(_TITLE)]
    assert any("relu" in tip and "cosine: 0.5" in tip for tip in tips)
    assert "fail 1" in pictures[0].read_text()


def test_the_command_writes_the_latest_run(tmp_path: Path, capsys: Any) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(tiny("old"))
        store.commit(partitioned())
    out = tmp_path / "out"
    assert command(["export", "--store", str(tmp_path / "store"), "debugger", "-o", str(out)]) == 0
    assert "Wrote" in capsys.readouterr().err
    assert {row["stage"] for row in rows(out)} == {"low"}
    with connect(":memory:") as empty, pytest.raises(QueryError):
        empty.export("debugger", tmp_path / "none")
    assert not (tmp_path / "none").exists()
