"""A trace of several methods: each execution is compared with its own method, in the order of the trace."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
from torch import nn  # noqa: E402

from fxstore.ingest.measure.runtime import run_pte  # noqa: E402


class Prefill(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cumsum(x, 0).sin()


class Decode(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.exp() * 2


A, B, C = (torch.tensor([[float(i), 0.5], [1.0, -i]]) for i in (1, 2, 3))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("traced")
    programs = {
        "prefill": torch.export.export(Prefill().eval(), (A,)),
        "decode": torch.export.export(Decode().eval(), (A,)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.exir import to_edge

        emitted = to_edge(dict(programs)).to_executorch()
    run = run_pte(bytes(emitted.buffer), [("decode", [A]), ("prefill", [B]), ("decode", [C])])
    (folder / "run.etdp").write_bytes(run.etdump)
    (folder / "run.bin").write_bytes(run.debug)
    files = {"etdump": folder / "run.etdp", "debug_buffer": folder / "run.bin"}
    return {"float": programs, "runtime": emitted}, files


@pytest.mark.parametrize(
    "inputs",
    [[(A,), (B,), (C,)], {"prefill": (B,), "decode": [(A,), (C,)]}],
    ids=["in the trace's order", "by method"],
)
def test_each_execution_is_compared_with_its_own_method(traced: Any, inputs: Any) -> None:
    stages, files = traced
    with fxstore.connect(":memory:") as store:
        run = store.ingest(stages, inputs=inputs, strict=True, **files)
        assert run.notes == ()
        rows = store.sql(
            "SELECT o.name, m.sample, count(m.value), max(m.value) FROM metrics AS m JOIN overlays AS o "
            "USING (overlay_id) WHERE m.metric = 'max_abs' AND m.value IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    assert [row[:2] for row in rows] == [
        ("runtime vs float (decode)", 0),
        ("runtime vs float (decode)", 1),
        ("runtime vs float (prefill)", 0),
    ]
    assert all(count >= 2 and worst < 1e-6 for _, _, count, worst in rows)


def test_a_method_without_inputs_is_said_so(traced: Any) -> None:
    stages, files = traced
    with fxstore.connect(":memory:") as store:
        run = store.ingest(stages, inputs={"decode": [(A,), (C,)]}, **files)
        (note,) = run.notes
    assert "prefill compared with nothing: 1 executions are in the dump, and 0 inputs are given" in note
    assert "decode compared with float" in note
