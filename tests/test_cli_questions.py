"""The verbs that ask: each gives the rows of its macro, and a page of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.cli import run
from fxstore.render.page import build, drawings
from tests.runs import example_run


@pytest.fixture
def nids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A store with the runs ``base`` and ``head``, which is the command line's default; the nids of head's edge."""
    with fxstore.connect(tmp_path / "store") as opened:
        for name in ("base", "head"):
            opened.commit(example_run(name))
        rows = opened.sql(
            "SELECT name, nid FROM nodes JOIN (SELECT run_id FROM runs WHERE name = 'head') USING (run_id) "
            "WHERE stage = 'edge'"
        ).fetchall()
    monkeypatch.setenv("FXSTORE_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return {str(name): str(nid) for name, nid in rows}


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run([*arguments, "--format", "json", "--compare", "page.html", "-f"]) == 0
    assert Path("page.html").stat().st_size > 1000
    rows = json.loads(capsys.readouterr().out)
    assert isinstance(rows, list)
    return rows


def test_ancestors_and_descendants(nids: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "ancestors", nids["aten_relu_default"])
    assert [(row["name"], row["hops"]) for row in rows] == [
        ("aten_addmm_default", 1), ("x", 2), ("aten_permute_copy_default", 2), ("p_w", 3),
    ]  # fmt: skip
    rows = asked(capsys, "descendants", nids["p_w"], "--hops", "2")
    assert [row["name"] for row in rows] == ["aten_permute_copy_default", "aten_addmm_default"]


def test_between(nids: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "between", nids["x"], nids["aten_relu_default"])
    assert [row["name"] for row in rows] == ["x", "aten_addmm_default", "aten_relu_default"]


def test_diff(nids: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "diff", "base", "head")
    assert [row["change"] for row in rows] == ["same"] * 11
    assert {str(row["head_nid"]) for row in rows if row["stage"] == "edge"} == set(nids.values())


def test_metric_diff(nids: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "metric-diff", "base", "head", "cosine")
    assert [(row["name"], row["base_value"], row["head_value"], row["change"]) for row in rows] == [
        ("aten_relu_default", 0.5, 0.5, "same"), ("aten_addmm_default", "NaN", "NaN", "same"),
    ]  # fmt: skip


@pytest.mark.parametrize("verb", [["worst"], ["first-bad", "--threshold", "0.9"]])
def test_rankings_take_a_scope(nids: dict[str, str], capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    """No number of this run has a scope: that is said, since an empty answer would read as if all were well."""
    assert len(asked(capsys, *verb, "cosine")) > 0
    assert run([*verb, "cosine", "--scope", "local"]) == 1
    assert (
        capsys.readouterr().err
        == "fxstore: run 'head' has no 'cosine' in scope 'local'\n  its numbers have no scope: leave it out\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["worst", "cosine", "-n", "0"], 2, "0 is not in the range"),
        (["worst", "cosine", "--scope", "globally"], 2, "'local', 'cumulative'"),
        (["ancestors", "relu"], 2, "'relu' is no nid"),
        (["ancestors", "5"], 1, "no node has the nid 5"),
        (["descendants", "5", "--hops", "0"], 2, "0 is not in the range"),
        (["between", "5"], 2, "two nodes are two nids"),
        (["between", "5", "6"], 1, "no node has the nid 5"),
        (["diff", "base", "zzz"], 1, "there are 'head', 'base'"),
        (["metric-diff", "base", "head", "mse"], 1, "there is 'cosine'"),
        (["sync", "edge", "zzz"], 1, "'aten_addmm_default', 'aten_relu_default' and 1 more: select name"),
        (["sql", "SELEC 1"], 1, "fxstore schema"),
        (["sql", "INSTALL httpfs"], 1, "not install"),
        (["compare", "--store", "nowhere", "-o", "page.html"], 1, "no store at 'nowhere'"),
        (["worst", "cosine", "--store", "nowhere", "--compare", "page.html"], 1, "no store at 'nowhere'"),
    ],
)
def test_what_cannot_be_answered_gets_one_clear_line(
    nids: dict[str, str], capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    before = sorted(Path().rglob("*"))
    assert run(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fxstore: ")
    assert len(captured.err.splitlines()) <= 2
    assert says in captured.err.lower()
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("arguments", [["compare", "-f", "-o"], ["worst", "cosine", "-f", "--compare"]])
def test_drawings_are_kept_for_the_next_command(
    nids: dict[str, str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    build._drawings.cache_clear()
    assert run([*arguments, "page.html"]) == 0
    kept = list(Path("store").glob("layouts/v*/??/*.npz"))
    assert len(kept) >= 2
    first = Path("page.html").read_bytes()
    build._drawings.cache_clear()
    monkeypatch.setattr(drawings, "draw", lambda *_: pytest.fail("drawn again"))
    assert run([*arguments, "page.html"]) == 0
    assert Path("page.html").read_bytes() == first
    assert list(Path("store").glob("layouts/v*/??/*.npz")) == kept


def test_a_store_that_may_not_be_written_is_rendered_too(nids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    before = sorted(Path("store").rglob("*"))
    assert run(["compare", "-o", "page.html"]) == 0
    assert Path("page.html").exists()
    assert sorted(Path("store").rglob("*")) == before


def test_asking_loads_nothing_that_it_does_not_need(nids: dict[str, str]) -> None:
    heavy = ("pandas", "pyarrow.compute", "pyarrow.parquet", "sqlglot", "fxstore.layout", "fxstore.render")
    code = f"import sys; from fxstore.cli import run; run(['worst', 'cosine']); print(*{set(heavy)} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
