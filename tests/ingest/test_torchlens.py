"""TorchLens: what the code really ran, with what was measured of it, linked to the exported program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import UsageError
from fxstore.ingest.names import spelled
from fxstore.ingest.others.torchlens import is_trace

Store = Any


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def trace(torch: Any) -> Any:
    """Traces a model; TorchLens takes its hands off torch afterwards."""
    torchlens = pytest.importorskip("torchlens")

    def traced(model: Any, *inputs: Any, **options: Any) -> Any:
        capture = torchlens.options.CaptureOptions(unwrap_when_done=True, **options.pop("capture", {}))
        return torchlens.trace(model, list(inputs), capture=capture, **options)

    return traced


@pytest.fixture(scope="module")
def cnn(torch: Any) -> tuple[Any, Any]:
    class Cnn(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)
            self.norm = torch.nn.BatchNorm2d(4)
            self.block = torch.nn.Sequential(torch.nn.Conv2d(4, 4, 3), torch.nn.ReLU())
            self.head = torch.nn.Linear(4, 5)

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.norm(self.conv(x)))
            x = torch.max_pool2d(self.block(x), 2).mean((2, 3))
            return self.head(x)

    torch.manual_seed(0)
    return Cnn().eval(), torch.randn(1, 3, 12, 12)


@pytest.fixture(scope="module")
def looped(torch: Any) -> tuple[Any, Any]:
    """A module that is called twice, around it a recurrence; two outputs of one operator, and a change in place."""

    class Looped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = torch.nn.Linear(6, 6)
            self.register_buffer("bias", torch.ones(6))

        def forward(self, x: Any) -> Any:
            for _ in range(2):
                x = torch.tanh(self.cell(x)) + self.bias
            x += 1
            left, right = x.split(3, 1)
            return {"product": left * right, "both": torch.cat([left, x], 1)}

    torch.manual_seed(0)
    return Looped().eval(), torch.randn(2, 6)


@pytest.fixture
def store() -> Iterator[Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def counterparts(store: Store) -> dict[str, tuple[str, str, bool]]:
    rows = store.sql(
        "SELECT a.name, b.name, l.evidence, l.inferred FROM links l JOIN nodes a ON a.nid = l.src_nid"
        " JOIN nodes b ON b.nid = l.dst_nid WHERE a.stage = 'exported' ORDER BY ALL"
    ).fetchall()
    return {a: (b, evidence, inferred) for a, b, evidence, inferred in rows}


def values(store: Store, metric: str) -> dict[str, float | None]:
    return dict(
        store.sql("SELECT name, value FROM metrics JOIN nodes USING (nid) WHERE metric = ?", [metric]).fetchall()
    )


def test_a_cnn_is_linked_to_the_exported_program_by_module_call_and_operator(
    torch: Any, trace: Any, cnn: Any, store: Store
) -> None:
    model, x = cnn
    run = store.ingest({"exported": torch.export.export(model, (x,)), "ran": trace(model, x)})
    assert (run.status, run.stages) == ("complete", ("exported", "ran"))
    found = counterparts(store)
    names = store.sql("SELECT name FROM nodes WHERE stage = 'exported' AND op = 'call_function'").fetchall()
    assert {name for (name,) in names} <= found.keys()
    assert found["conv2d_1"] == ("conv2d_2_4", "structure", True)
    assert found["p_head_weight"] == ("head.weight", "signature", False)
    assert found["x"][0] == "input_1"
    told = store.sql(
        "SELECT module_path, module_call, op_type FROM nodes WHERE stage = 'ran' AND role = 'op' ORDER BY position"
    ).fetchall()
    assert told == [
        ("conv", 1, "conv2d"), ("norm", 1, "batch_norm"), ("", 1, "relu"), ("block.0", 1, "conv2d"),
        ("block.1", 1, "relu"), ("", 1, "max_pool2d"), ("", 1, "mean"), ("head", 1, "linear"),
    ]  # fmt: skip
    lines = store.sql("SELECT DISTINCT source_file FROM nodes WHERE stage = 'ran' AND role = 'op'").fetchall()
    assert [Path(file).name for (file,) in lines] == [Path(__file__).name]


def test_a_module_that_is_called_twice_and_a_recurrence(torch: Any, trace: Any, looped: Any, store: Store) -> None:
    model, x = looped
    store.ingest({"exported": torch.export.export(model, (x,)), "ran": trace(model, x)})
    found = {a: b for a, (b, *_) in counterparts(store).items()}
    assert (found["linear"], found["linear_1"]) == ("linear_1_1:1", "linear_1_1:2")
    assert (found["tanh"], found["tanh_1"]) == ("tanh_1_2:1", "tanh_1_2:2")
    assert {found["getitem"], found["getitem_1"]} == {"split_1_5", "split_2_6"}
    assert found["add_"].startswith("iadd")
    assert found["b_bias"].startswith("buffer")
    calls = store.sql(
        "SELECT name, module_call FROM nodes WHERE stage = 'ran' AND op_type = 'linear' ORDER BY name"
    ).fetchall()
    assert calls == [("linear_1_1:1", 1), ("linear_1_1:2", 2)]
    uses = store.sql(
        "SELECT s.name, e.dst_arg FROM edges e JOIN nodes s ON s.nid = e.src_nid JOIN nodes d ON d.nid = e.dst_nid"
        " WHERE d.stage = 'ran' AND d.op_type = 'cat' ORDER BY e.position"
    ).fetchall()
    assert [arg for _, arg in uses] == ["0[0]", "0[1]"]
    ends = store.sql(
        "SELECT count(*) FROM edges e JOIN nodes d ON d.nid = e.dst_nid WHERE d.stage = 'ran' AND d.op = 'output'"
    )
    assert ends.fetchall() == [(2,)]


def test_what_was_measured(torch: Any, trace: Any, cnn: Any, store: Store) -> None:
    model, x = cnn
    traced = trace(model, x, capture={"save_grads": "all"})
    traced.log_backward(traced[traced.output_layers[0]].out.sum())
    store.ingest(traced)
    kinds = dict(store.sql("SELECT name, kind FROM overlays WHERE source = 'TorchLens'").fetchall())
    assert kinds == {
        "time": "latency", "flops": "static", "bytes": "static", "non-finite": "statistics", "magnitude": "statistics",
        "gradient norm": "statistics", "time statistics": "statistics",
    }  # fmt: skip
    with torch.no_grad():
        first = model.conv(x)
    assert values(store, "mean_abs")["conv2d_1_1"] == pytest.approx(float(first.abs().double().mean()))
    assert values(store, "l2_norm")["conv2d_1_1"] == pytest.approx(float(first.double().norm()))
    assert values(store, "activation_bytes")["conv2d_1_1"] == first.numel() * 4
    assert values(store, "gradient_l2_norm")["linear_1_8"] == pytest.approx(math.sqrt(5))
    time = values(store, "time")
    assert all(value is not None and value > 0 for value in time.values())
    assert set(values(store, "non_finite").values()) == {0}
    flops = {n: v for n, v in values(store, "flops_forward").items() if v}
    assert flops["conv2d_1_1"] == pytest.approx(2 * 3 * 9 * first.numel(), rel=0.05)
    (row,) = store.worst("activation_bytes", n=1).fetchall()
    assert "nid" in store.worst("activation_bytes", n=1).columns
    assert row
    with pytest.raises(fxstore.FxstoreError, match="no direction"):
        store.worst("l2_norm")


def test_values_that_are_not_finite(torch: Any, trace: Any, store: Store) -> None:
    class Bad(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.log(x - 10).nan_to_num()

    store.ingest(trace(Bad(), torch.randn(2, 3)))
    counts = values(store, "non_finite")
    (log,) = (name for name in counts if name.startswith("log"))
    assert {name: count for name, count in counts.items() if count} == {log: 6}
    assert values(store, "has_non_finite")[log] == 1
    assert math.isnan(values(store, "mean_abs")[log] or 0)


def test_what_was_not_saved_has_a_reason(trace: Any, cnn: Any, store: Store) -> None:
    model, x = cnn
    store.ingest(trace(model, x, save=lambda _: False, capture={"track_nonfinite": True}))
    reasons = dict(
        store.sql("SELECT metric, any_value(reason) FROM metrics WHERE value IS NULL GROUP BY metric").fetchall()
    )
    assert reasons["non_finite"] == "its value was not saved"
    tracked = store.sql(
        "SELECT count(*), sum(value) FROM metrics m JOIN nodes n USING (nid)"
        " WHERE metric = 'has_non_finite' AND n.role = 'op'"
    ).fetchall()
    assert tracked == [(8, 0)]
    sizes = store.sql(
        "SELECT DISTINCT m.value, m.reason FROM metrics m JOIN nodes n USING (nid)"
        " WHERE m.metric = 'l2_norm' AND n.role = 'op' AND n.op_type <> 'linear'"
    ).fetchall()
    assert sizes == [(None, "its value was not saved")]


def test_any_field_or_function_is_an_overlay(trace: Any, cnn: Any, store: Store) -> None:
    model, x = cnn
    fields = {"parameters of it": "num_params", "spread": lambda op: op.out.std(), "function": "func_name"}
    store.ingest(trace(model, x), fields=fields)
    assert values(store, "parameters of it")["conv2d_1_1"] == 3 * 4 * 9 + 4
    assert values(store, "spread")["conv2d_1_1"] > 0
    texts = dict(
        store.sql(
            "SELECT n.name, m.text FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id)"
            " WHERE o.name = 'function' AND o.kind = 'category'"
        ).fetchall()
    )
    assert texts["conv2d_1_1"] == "conv2d"
    store.ingest(trace(model, x), name="by name", fields=["num_params"])
    assert "num_params" in {name for (name,) in store.sql("SELECT name FROM overlays").fetchall()}


def test_fields_that_are_wrong(trace: Any, cnn: Any, store: Store) -> None:
    model, x = cnn
    traced = trace(model, x)
    with pytest.raises(UsageError, match="have no field 'num_parms'"):
        store.ingest(traced, fields=["num_parms"])
    with pytest.raises(UsageError, match="'broken' fails on input_1: ZeroDivisionError"):
        store.ingest(traced, fields={"broken": lambda op: 1 / 0})
    assert store.sql("FROM runs").fetchall() == []


def test_model_explorer_files_of_torchlens(torch: Any, trace: Any, looped: Any, store: Store, tmp_path: Path) -> None:
    torchlens = pytest.importorskip("torchlens")
    model, x = looped
    torchlens.export.model_explorer(trace(model, x), tmp_path / "ran.json", overlays=["time", "flops", "magnitude"])
    sources = {path.name.split(".")[-2]: str(path) for path in sorted(tmp_path.glob("ran.nodedata.*.json"))}
    store.ingest(
        {"exported": torch.export.export(model, (x,)), "ran": str(tmp_path / "ran.json"), **sources}, name="files"
    )
    stages = dict(store.sql("SELECT stage, kind FROM stages").fetchall())
    assert stages == {"exported": "exported", "ran/00-execution": "executed", "ran/01-rolled": "graph"}
    ran = {a: b for a, (b, *_) in counterparts(store).items()}
    names = {name for (name,) in store.sql(
        "SELECT name FROM nodes WHERE stage = 'exported' AND op = 'call_function' AND op_type <> 'split'"
    ).fetchall()}  # fmt: skip
    assert names <= ran.keys()
    assert (ran["linear"], ran["linear_1"]) == ("s1|cell|linear||1|1", "s1|cell|linear||1|2")
    shapes = store.sql("SELECT DISTINCT shape FROM nodes WHERE name = 's1|cell|linear||1|2'").fetchall()
    assert shapes == [(["2", "6"],)]
    overlays = store.sql(
        "SELECT count(*) FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id)"
        " WHERE n.stage = 'ran/00-execution' AND m.value IS NOT NULL AND o.kind = 'statistics'"
    ).fetchall()
    assert overlays[0][0] >= 3 * len(names)


def test_only_traces_are_taken() -> None:
    class Trace:
        """Of another module."""

    assert not any(map(is_trace, (Trace(), None, "x.json", {"ran": 1}, Trace)))


@pytest.mark.parametrize(
    ("function", "operator"),
    [("__add__", "add"), ("__iadd__", "add_"), ("__itruediv__", "div_"), ("__invert__", "invert"), ("relu_", "relu_")],
)
def test_special_methods_are_spelled_as_operators(function: str, operator: str) -> None:
    assert spelled(function) == operator
