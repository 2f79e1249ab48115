"""The verb ``measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore
from fxstore.cli import run

torch = pytest.importorskip("torch")

PIPELINE = """
import torch
def stages():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    program = torch.export.export(model, (torch.ones(2, 4),))
    return {"float": program, "core": program.run_decompositions({})}
def peak(reference, value):
    return abs(value).max()
def far(reference, value):
    return abs(value - reference).max()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipeline_of_test.py").write_text(PIPELINE)
    torch.save([(torch.ones(2, 4),), (-torch.ones(2, 4),)], tmp_path / "inputs.pt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def measure(folder: Path, source: str, *more: str, inputs: str = "inputs.pt") -> int:
    return run(["measure", "--store", str(folder / "runs"), "--inputs", str(folder / inputs), *more, source])


def test_stages_of_a_function_are_measured(folder: Path, capsys: Any) -> None:
    metrics = ("--metric", "max_abs<=0", "--metric", "pipeline_of_test:peak", "--metric", "pipeline_of_test:far<=9")
    assert measure(folder, "pipeline_of_test:stages", *metrics) == 0
    out, err = capsys.readouterr()
    assert "Measured core vs float:" in err
    with fxstore.connect(folder / "runs", read_only=True) as store:
        rows = store.sql("SELECT DISTINCT metric, sample, verdict FROM metrics WHERE verdict IS NOT NULL ORDER BY 2, 1")
        assert [row for row in rows.fetchall() if row[1] is not None] == [
            ("far", 0, "pass"),
            ("max_abs", 0, "pass"),
            ("far", 1, "pass"),
            ("max_abs", 1, "pass"),
        ]
        assert len(store.worst("far", run=out.strip())) > 0
        with pytest.raises(fxstore.FxstoreError, match="'peak' has no direction"):
            store.worst("peak", run=out.strip())


def test_a_file_is_only_run_where_it_is_trusted(folder: Path, capsys: Any) -> None:
    (folder / "model.etrecord").write_bytes(b"PK")
    assert measure(folder, str(folder / "model.etrecord")) == 2
    assert "--trust" in capsys.readouterr().err
    assert measure(folder, str(folder / "model.etrecord"), "--trust") == 1
    assert measure(folder, "nightly") == 2
    assert measure(folder, "no_such_module:f") == 2
    assert not (folder / "runs").exists()


def test_bad_inputs_are_one_line(folder: Path, capsys: Any) -> None:
    (folder / "bad.pt").write_bytes(b"nothing")
    assert measure(folder, "pipeline_of_test:stages", inputs="bad.pt") == 1
    assert measure(folder, "pipeline_of_test:stages", inputs="none.pt") == 1
    assert capsys.readouterr().err.count("fxstore: ") == 2


def test_raw_tensors_go_to_a_file(folder: Path, capsys: Any) -> None:
    out = folder / "raw.npz"
    assert measure(folder, "pipeline_of_test:stages", "--tensors", str(out), "--node", "relu") == 0
    assert "Wrote" in capsys.readouterr().err
    with np.load(out) as found:
        assert set(found.files) == {f"{stage}/{sample}/relu/0" for stage in ("float", "core") for sample in (0, 1)}
    assert measure(folder, "pipeline_of_test:stages", "--tensors", str(out)) == 2


def test_a_metric_may_be_a_function_of_the_current_directory(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "gaps_of_test.py").write_text(
        "def gaps(r, v):\n    return {'a.b': abs(v - r).max(), 'c': None}\n"
    )
    (folder / "sub" / "broken_of_test.py").write_text("1 / 0\n")
    monkeypatch.chdir(folder / "sub")
    assert measure(folder, "pipeline_of_test:stages", "--metric", "gaps_of_test:gaps") == 0
    with fxstore.connect(folder / "runs", read_only=True) as store:
        query = (
            "SELECT metric, max(value), any_value(reason) FROM metrics "
            "WHERE metric LIKE 'gaps.%' AND sample = 0 GROUP BY 1 ORDER BY 1"
        )
        assert store.sql(query).fetchall() == [("gaps.a.b", 0.0, "identical"), ("gaps.c", None, "gaps.c gave nothing")]
    assert measure(folder, "pipeline_of_test:stages", "--metric", "broken_of_test:f") == 2
    assert measure(folder, "broken_of_test:stages") == 2
    assert capsys.readouterr().err.count("ZeroDivisionError: division by zero") == 2
