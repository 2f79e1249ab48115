"""A store that an earlier fxstore wrote is read, and gives the same rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fxstore import cli, connect
from fxstore.errors import StoreError
from fxstore.store.reading import sealed
from tests.query.conftest import tiny
from tests.store.golden.make import EXPECTED, QUESTIONS, STORE, answers

SAID = json.loads(EXPECTED.read_text("utf-8"))
COLUMNS = {name: said["columns"] for name, said in SAID.items()}


def test_a_store_of_format_1_gives_its_rows() -> None:
    """Columns that came later are not looked at; none may go."""
    before = sorted(STORE.rglob("*"))
    with connect(STORE, read_only=True) as store:
        assert answers(store, COLUMNS) == SAID
        assert store.verify().problems == ()
    assert sorted(STORE.rglob("*")) == before


def test_the_rows_are_not_none() -> None:
    filled = {name for name, said in SAID.items() if said["rows"]}
    assert filled >= {
        *QUESTIONS,
        "runs",
        "stages",
        "graphs",
        "nodes",
        "edges",
        "metrics",
        "overlays",
        "links",
        "sync_sets",
    }
    assert len(SAID["runs"]["rows"]) == 4
    assert any("nan" in row for row in SAID["metrics"]["rows"])


def test_it_is_written_on(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    (tmp_path / "store" / ".staging").mkdir()
    with connect(tmp_path / "store") as store:
        assert store.compact(grace=0).runs == 4
        assert answers(store, COLUMNS) == SAID
        store.commit(tiny("fifth"))
        store.gc(keep_last=1, keep_tag="green")
        assert [run.name for run in store.committed_runs()] == ["first", "fifth"]
        assert store.verify().problems == ()
    with connect(tmp_path / "other") as store:
        assert len(store.merge(STORE).runs) == 4
        assert answers(store, COLUMNS) == SAID


@pytest.mark.parametrize("format", [2, 99, "2", None, [1]])
def test_a_newer_format_is_refused_with_one_line(tmp_path: Path, format: object) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    (tmp_path / "store" / "FORMAT").write_text(json.dumps({"format": format}))
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"has format .*; this fxstore reads up to 1") as error:
            connect(tmp_path / "store", read_only=read_only)
        assert "\n" not in str(error.value)
        assert error.value.hint == "upgrade it: pip install --upgrade fxstore"


@pytest.mark.filterwarnings("always:.* is left out")
@pytest.mark.parametrize("kind", ["run", "segment"])
def test_a_run_of_a_newer_format_is_left_out_and_says_how_to_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """A newer fxstore wrote into a store of format 1; what this one knows stays readable."""
    with connect(tmp_path / "store") as store:
        run_id = store.commit(tiny("newer"))
        if kind == "segment":
            store.compact(grace=0)
        store.commit(tiny("known"))
    path = next(
        (tmp_path / "store").glob(f"runs/run_id={run_id}/run.json" if kind == "run" else "segments/*/runs.json")
    )
    said = {**json.loads(path.read_text("utf-8")), "format": 2}
    del said["sha256"]
    path.write_text(sealed(json.dumps(said)), "utf-8")
    for verb, code in (("runs", 0), ("verify", 1)):
        assert cli.run([verb, "--store", str(tmp_path / "store"), "--format", "csv"]) == code
        shown = capsys.readouterr()
        assert ("known" in shown.out) == (verb == "runs")
        lines = [*shown.err.splitlines(), *shown.out.splitlines()]
        (told,) = (line for line in lines if "upgrade" in line)
        assert "it has format 2, and this fxstore reads up to 1: upgrade it: pip install --upgrade fxstore" in told
        assert ".py" not in shown.err
        assert "ingest its runs again" not in told
