"""Tags that a run gets after its commit: readers see them, whoever wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore import connect
from fxstore.errors import QueryError, StoreError, UsageError
from fxstore.store import Catalog, manifest, runs
from tests.query.conftest import tiny

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=15)


def test_a_reader_that_is_open_sees_them(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store, connect(tmp_path / "store", read_only=True) as reader:
        run, other = store.commit(tiny()), store.commit(tiny("other"))
        assert reader.sql("SELECT DISTINCT tags FROM runs").fetchall() == [({"soc": "s1"},)]
        store.tag("tiny", {"green": "true", "soc": "s2"})
        for reads in (store, reader):
            tags = dict(reads.sql("SELECT run_id, tags FROM runs").fetchall())  # type: ignore[arg-type]
            assert tags == {run: {"soc": "s2", "green": "true"}, other: {"soc": "s1"}}
        store.tag(run, {"green": "false"})
        assert dict(reader.sql("SELECT name, tags['green'] FROM runs").fetchall()) == {"tiny": "false", "other": None}  # type: ignore[arg-type]
        assert len(reader.stages(run)) == 2
        assert len(list(store.directory.runs.glob("_tag.*"))) == 2


def test_they_outlive_the_manifest(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        for _ in range(2):
            store.commit(tiny())
        store.tag("tiny", {"green": "true"})
        catalog = Catalog(store.directory)
        catalog.refresh()
        manifest.save(store.directory, catalog.loose())
        known = manifest.load(store.directory)
        assert [run.tags for run in known.values()] == [{"soc": "s1"}] * 2
    with connect(tmp_path / "store", read_only=True) as store:
        assert store.sql("SELECT tags FROM runs WHERE tags['green'] = 'true'").fetchall() == [
            ({"soc": "s1", "green": "true"},)
        ]
        assert store.duckdb().execute("SELECT count(*) FROM runs WHERE tags['green'] = 'true'").fetchall() == [(1,)]


def test_what_cannot_be_tagged(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
        with pytest.raises(QueryError, match="no run 'tyni'"):
            store.tag("tyni", {"green": "true"})
        with pytest.raises(UsageError, match="tags are a dict of texts, not 'green'"):
            store.tag("tiny", "green")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="the tag 'note' is too long"):
            store.tag("tiny", {"green": "true", "note": "x" * 300})
        assert store.existing_run().tags == {"soc": "s1"}
    with connect(tmp_path / "store", read_only=True) as store, pytest.raises(StoreError, match="for reading only"):
        store.tag("tiny", {"green": "true"})


@given(TEXT, TEXT)
def test_any_text_is_a_name_and_comes_back(key: str, value: str) -> None:
    name = runs._name("0100ffdc", key, value)
    assert "/" not in name
    assert runs.named([name, "run_id=0100ffdc", "_tag.x", "_tag.0100ffdc.y"]) == {"0100ffdc": {key: value}}
