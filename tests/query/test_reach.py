"""Stores whose own path DuckDB would take for a pattern of paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fxstore import connect
from fxstore.errors import StoreError, UsageError
from fxstore.store import open_directory, write_run
from tests.query.conftest import tiny

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such names there")


@pytest.mark.parametrize(("name", "beside"), [("a[1]", "a1"), ("b?", "bx"), ("c*", "cc"), ("**", "zz"), ("{d}", "d")])
def test_a_store_is_read_though_its_name_is_a_pattern(tmp_path: Path, name: str, beside: str) -> None:
    """The store beside it, which the pattern finds, holds a run of the same id."""
    for place in (beside, name):
        write_run(open_directory(tmp_path / place), tiny(place), draw=lambda: 2**24)
    for store in (connect(tmp_path / name), connect(tmp_path / name, read_only=True)):
        assert store.sql("SELECT DISTINCT r.name FROM runs AS r JOIN nodes USING (run_id)").fetchall() == [(name,)]
        assert len(store.sql("FROM nodes")) == 10
        assert store.worst("cosine").fetchall()
        assert store.compare().html()
        assert store.limited(timeout=60, memory_mb=800).sql("SELECT count(*) FROM metrics").fetchall() == [(5,)]
    connect(tmp_path / name).compact(grace=0)
    assert len(connect(tmp_path / name).sql("FROM metrics")) == 5


def test_links_go_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with connect(tmp_path / "a*") as store:
        store.commit(tiny("a"))
        assert len(store.sql("FROM nodes")) == 10
    del store
    assert os.listdir(tmp_path / "temporary") == []
    assert len(connect(tmp_path / "a*").sql("FROM nodes")) == 10


def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    with pytest.raises(StoreError, match="is not UTF-8") as error:
        connect(path).sql("FROM runs").fetchall()
    assert error.value.hint


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory in which nobody can write")
def test_an_export_that_cannot_be_written_is_one_line() -> None:
    with connect(":memory:") as store, pytest.raises(UsageError, match="cannot write there") as error:
        store.export("duckdb", "/proc/runs.duckdb")
    assert "\n" not in str(error.value)
