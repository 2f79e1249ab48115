"""Stores that strangers made: what stands in one that no writer put there."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.errors import StoreError
from fxstore.store import CommittedRun, reading, sealing
from tests.query.conftest import tiny
from tests.store.test_store import small_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no pipes, and links only for some")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "store")
    opened.commit(tiny("good"))
    opened.commit(small_run("bad"))
    return opened


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the user's that are older than any grace; some are named as a store names its own."""
    folder = tmp_path / "outside"
    (folder / "ab" / ("ab" * 16)).mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "ab" / "weights.npz").write_text("mine")
    (folder / "ab" / ("ab" * 16) / "nodes.parquet").write_text("mine, too")
    old = time.time() - 1e6
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (old, old))
    return folder


def contents(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(
    "place",
    [
        ".staging",
        "graphs",
        "structures",
        "graphs/zz",
        "structures/ab",
        ".staging/old",
        ".staging/aside.1",
        "layouts",
        "layouts/v1",
    ],
)
def test_nothing_outside_of_a_store_is_removed(store: Store, outside: Path, place: str) -> None:
    """A directory of the store is a link to what is the user's."""
    link = store.path / place
    link.parent.mkdir(exist_ok=True)
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(outside)
    before = contents(outside)
    refused = place in (".staging", "graphs", "structures")
    for work in (store.compact, store.gc):
        with pytest.raises(StoreError, match="is a symbolic link") if refused else nullcontext():
            work(grace=0)
    assert contents(outside) >= before


def test_a_collection_leaves_what_is_not_named_as_content(store: Store) -> None:
    (store.path / "graphs" / "notes").mkdir()
    (store.path / "graphs" / "notes" / "mine").mkdir()
    (store.path / "graphs" / "ab").mkdir()
    (store.path / "graphs" / "ab" / "README").write_text("mine")
    assert store.gc(grace=0).contents == 0
    assert (store.path / "graphs" / "ab" / "README").exists()
    assert (store.path / "graphs" / "notes" / "mine").exists()


def folder_of(store: Store, run: CommittedRun, name: str) -> Path:
    if name in ("FORMAT", "MANIFEST.json"):
        return store.path
    if name in ("run.json", "metrics.parquet"):
        return store.directory.run(run.run_id)
    if name == "links.parquet":
        return store.directory.structure(run.structure_hash)
    return store.directory.graph(run.graph_hashes[0])


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
@pytest.mark.parametrize("name", ["MANIFEST.json", "run.json", "metrics.parquet", "links.parquet", "nodes.parquet"])
def test_what_is_no_plain_file_is_damage(store: Store, name: str, kind: str) -> None:
    """Of a pipe or a device nobody knows when it ends; the other runs stay readable, and everything ends."""
    bad = store.existing_run("bad")
    path = folder_of(store, bad, name) / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.warns(UserWarning, match="is left out|is not taken in") if name != "MANIFEST.json" else nullcontext():
        with connect(store.path, read_only=True) as reader:
            for relation in ("nodes", "links", "metrics"):
                found = reader.sql(f"SELECT DISTINCT run_id FROM {relation}").fetchall()
                assert len(found) >= 1
            assert reader.worst("cosine", run="good").fetchall()
            assert reader.duckdb().sql("SELECT name FROM runs").fetchall()
        with connect(store.path.with_name("other")) as other:
            assert len(other.merge(store.path).runs) == (2 if name == "MANIFEST.json" else 1)
            assert not other.verify().problems
    assert store.verify().problems


def test_a_store_whose_format_is_a_pipe_is_refused(store: Store) -> None:
    (store.path / "FORMAT").unlink()
    os.mkfifo(store.path / "FORMAT")
    with pytest.raises(StoreError, match="it is no plain file"):
        connect(store.path)


def test_a_text_without_end_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 4096)
    bad = store.existing_run("bad")
    with open(store.directory.run(bad.run_id) / "run.json", "r+b") as file:
        file.truncate(5000)
    with pytest.warns(UserWarning, match=f"run {bad.run_id} is left out: .*far larger"):
        assert [run.name for run in connect(store.path).committed_runs()] == ["good"]


@pytest.mark.parametrize("name", ["MANIFEST.json", "run.json", "SHA256SUMS"])
def test_texts_nested_without_end(store: Store, name: str) -> None:
    bad = store.existing_run("bad")
    (folder_of(store, bad, name) / name).write_text("[" * 100_000)
    warned = pytest.warns(UserWarning, match="is left out") if name == "run.json" else nullcontext()
    with warned, connect(store.path) as reader:
        assert reader.worst("cosine", run="good").fetchall()
    assert store.verify().problems


def test_a_format_nested_without_end(store: Store) -> None:
    (store.path / "FORMAT").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="its FORMAT file cannot be read"):
        connect(store.path)


@pytest.mark.parametrize(
    "fields",
    [
        {"created_at": "2026-W01-1T00:00:00.000000+00:00"},
        {"created_at": "2026-01-01T00:00:00.000000+05:30:15"},
        {"created_at": "2026-01-01T00:00:00+00:00"},
        {"created_at": "2026-13-01T00:00:00.000000+00:00"},
        {"stages": [{"stage": "x", "stage_index": 2**70, "kind": "k", "status": "s", "note": None}]},
        {"stages": [{"stage": "x", "stage_index": -1, "kind": "k", "status": "s", "note": None}]},
    ],
)  # fmt: skip
def test_a_forged_field_costs_its_own_run_only(store: Store, fields: dict[str, Any]) -> None:
    bad = store.existing_run("bad")
    path = store.directory.run(bad.run_id) / "run.json"
    said = json.loads(path.read_text("utf-8")) | fields
    del said["sha256"]
    path.write_text(sealing.sealed(json.dumps(said)))
    with pytest.warns(UserWarning, match=f"run {bad.run_id} is left out: .*cannot be"):
        assert [row[0] for row in connect(store.path).sql("SELECT name FROM runs")] == ["good"]


def test_names_that_no_file_can_hold_are_merged_and_read(store: Store, tmp_path: Path) -> None:
    """JSON can hold half a character."""
    bad = store.existing_run("bad")
    path = store.directory.run(bad.run_id) / "run.json"
    said = json.loads(path.read_text("utf-8")) | {"name": "half \ud800", "tags": {"\ud800": "\udfff"}}
    del said["sha256"]
    path.write_text(sealing.sealed(json.dumps(said)))
    with connect(tmp_path / "other") as other:
        assert len(other.merge(store.path).runs) == 2
        assert other.merge(store.path).known == 2
        assert not other.verify().problems
        assert [run.name for run in other.committed_runs()] == ["good", "half \ud800"]
