"""Stores that strangers made: what stands in one that no writer put there."""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fxstore import Store, connect
from fxstore.errors import StoreError
from fxstore.store import CommittedRun, integrity, reading
from tests.query.conftest import tiny
from tests.store.test_store import small_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no pipes, and links only for some")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "store")
    opened.commit(tiny("good"))
    opened.commit(small_run("bad"))
    return opened


def resealed(folder: Path) -> None:
    """Makes the digests of a directory those that its files have now, as who forges it does."""
    names = [path.name for path in folder.glob("*.parquet")]
    if not (folder / "run.json").exists():
        return integrity.write(folder, names)
    said = json.loads((folder / "run.json").read_text("utf-8")) | {"files": integrity.of_files(folder, names)}
    del said["sha256"]
    (folder / "run.json").write_text(reading.sealed(json.dumps(said)))


def with_column(name: str, value: object, kind: pa.DataType | None = None) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        return table.set_column(place, name, pa.array([value] * table.num_rows, kind or table.schema.field(place).type))

    return change


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
    if name in ("links.parquet", "graphs.parquet"):
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
    path.write_text(reading.sealed(json.dumps(said)))
    with pytest.warns(UserWarning, match=f"run {bad.run_id} is left out: .*cannot be"):
        assert [row[0] for row in connect(store.path).sql("SELECT name FROM runs")] == ["good"]


def test_names_that_no_file_can_hold_are_merged_and_read(store: Store, tmp_path: Path) -> None:
    """JSON can hold half a character."""
    bad = store.existing_run("bad")
    path = store.directory.run(bad.run_id) / "run.json"
    said = json.loads(path.read_text("utf-8")) | {"name": "half \ud800", "tags": {"\ud800": "\udfff"}}
    del said["sha256"]
    path.write_text(reading.sealed(json.dumps(said)))
    with connect(tmp_path / "other") as other:
        assert len(other.merge(store.path).runs) == 2
        assert other.merge(store.path).known == 2
        assert not other.verify().problems
        assert [run.name for run in other.committed_runs()] == ["good", "half \ud800"]


SHAPES: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "other columns": ("nodes", lambda _: pa.table({"x": [1, 2]})),
    "a column less": ("nodes", lambda table: table.drop_columns(["name"])),
    "a column more": ("nodes", lambda table: table.append_column("more", pa.array([1] * table.num_rows))),
    "a text for a number": ("nodes", with_column("position", "x", pa.string())),
    "a number for a text": ("edges", with_column("dst_arg", 1, pa.int64())),
    "another structure": ("graphs", lambda _: pa.table({"x": [1]})),
    "no key": ("metrics", lambda table: table.drop_columns(["run_key"])),
    "a text for a key": ("metrics", with_column("run_key", "x", pa.string())),
    "a NULL for a key": ("metrics", with_column("run_key", None)),
    "a key of another run": ("metrics", with_column("run_key", 77)),
    "a text for a value": ("metrics", with_column("value", "x", pa.string())),
}
ROWS: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "rows of another graph": ("nodes", with_column("graph_hash", "0" * 32)),
    "no rows": ("nodes", lambda table: table.slice(0, 0)),
    "rows twice": ("nodes", lambda table: pa.concat_tables([table, table])),
    "one position for all": ("nodes", with_column("position", -7)),
    "edges of no node": ("edges", with_column("src", 10**6)),
    "another graph": ("graphs", with_column("graph_hash", "../../../../etc")),
    "other ordinals": ("graphs", with_column("base", -1)),
    "a caller that is not there": ("graphs", with_column("parent", 10**6)),
    "metrics of no node": ("metrics", with_column("ordinal", 10**6)),
    "metrics of no overlay": ("metrics", with_column("overlay", 10**6)),
}


def forged(store: Store, relation: str, change: Callable[[pa.Table], pa.Table]) -> CommittedRun:
    """Changes a file of the run ``bad`` and all that is said of it."""
    bad = store.existing_run("bad")
    path = folder_of(store, bad, f"{relation}.parquet") / f"{relation}.parquet"
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)
    resealed(path.parent)
    if relation == "metrics":
        said = json.loads((path.parent / "run.json").read_text("utf-8")) | {"content": ""}
        del said["sha256"]
        (path.parent / "run.json").write_text(reading.sealed(json.dumps(said)))
    return bad


@pytest.mark.filterwarnings("ignore:run .* stays as it is")
@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_other_columns_is_damage(store: Store, name: str) -> None:
    """All digests are right, but no engine can read it beside the others."""
    bad = forged(store, *SHAPES[name])
    assert bad.run_id in {run for problem in store.verify().problems for run in problem.runs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with connect(store.path, read_only=True) as reader:
            for relation in ("nodes", "edges", "graphs", "metrics"):
                if name not in ("a text for a key", "a key of another run"):
                    assert reader.sql(f"FROM {relation}").fetchall()
            assert reader.worst("cosine", run="good").fetchall()
            assert reader.duckdb().sql("SELECT name FROM nodes JOIN metrics USING (nid)").fetchall()
    store.compact(grace=0)
    assert store.worst("cosine", run="good").fetchall()


@pytest.mark.parametrize("name", SHAPES | ROWS)
def test_what_is_forged_is_not_merged(store: Store, tmp_path: Path, name: str) -> None:
    bad = forged(store, *(SHAPES | ROWS)[name])
    with connect(tmp_path / "other") as other:
        with pytest.warns(UserWarning, match=f"run {bad.run_id} is not taken in"):
            assert len(other.merge(store.path).runs) == 1
        assert [run.name for run in other.committed_runs()] == ["good"]
        assert not other.directory.graph(bad.graph_hashes[0]).exists()


@pytest.mark.parametrize("name", ["no rows", "rows of another graph", "edges of no node"])
def test_a_page_of_a_forged_graph_is_one_line(store: Store, name: str) -> None:
    forged(store, *ROWS[name])
    with connect(store.path) as reader, pytest.raises(StoreError, match="edges to nodes that it does not have"):
        reader.compare(run="bad").html()


def test_one_hash_of_two_graphs(store: Store, tmp_path: Path) -> None:
    """What is here stays as it is; equal rows in other bytes are the same graph."""
    bad = store.existing_run("bad")
    with connect(tmp_path / "other") as other:
        other.merge(store.path)
        here = other.directory.graph(bad.graph_hashes[0])
        before = {path: path.read_bytes() for path in here.iterdir()}
        shutil.rmtree(other.directory.run(bad.run_id))
        forged(store, "nodes", lambda table: table)
        there = store.directory.graph(bad.graph_hashes[0]) / "nodes.parquet"
        assert there.read_bytes() != (here / "nodes.parquet").read_bytes()
        assert other.merge(store.path).runs == (bad.run_id,)
        shutil.rmtree(other.directory.run(bad.run_id))
        forged(store, "nodes", with_column("name", "forged"))
        with pytest.warns(UserWarning, match=f"run {bad.run_id} is not taken in: .* is another one here than there"):
            assert other.merge(store.path).runs == ()
        assert {path: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize("runs", [0, 2])
def test_a_copy_without_what_is_empty_is_a_store(store: Store, tmp_path: Path, runs: int) -> None:
    """As git, object stores and artifacts of CI leave it: no empty directory, no hidden one."""
    source = store if runs else connect(tmp_path / "without runs")
    copy = tmp_path / "copy"
    shutil.copytree(source.path, copy, ignore=shutil.ignore_patterns(".*"))
    for folder in ("runs", "segments", "graphs", "structures"):
        if not list((copy / folder).iterdir()):
            (copy / folder).rmdir()
    with connect(tmp_path / "other") as other:
        assert len(other.merge(copy).runs) == runs
    assert len(connect(copy, read_only=True).runs()) == runs
    assert not connect(copy, read_only=True).verify().problems
    with connect(copy) as opened:
        opened.commit(tiny("new"))
        opened.compact(grace=0)
        opened.gc(grace=0)
        assert len(opened.runs()) == runs + 1


def test_a_store_that_cannot_be_read_is_not_said_to_be_the_one_that_is_written(store: Store, tmp_path: Path) -> None:
    shutil.rmtree(store.path / "runs")
    (store.path / "runs").write_text("")
    with connect(tmp_path / "other") as other, pytest.raises(StoreError, match=r"cannot read the store .*/store'"):
        other.merge(store.path)


def test_runs_that_were_lost_are_not_none(store: Store) -> None:
    """A collection would take their graphs away."""
    graphs = contents(store.path / "graphs")
    shutil.rmtree(store.path / "runs")
    for work in (
        lambda opened: opened.runs().fetchall(),
        lambda opened: opened.verify(),
        lambda opened: opened.gc(grace=0),
    ):
        with connect(store.path) as opened, pytest.raises(StoreError, match="No such file or directory"):
            work(opened)
    assert contents(store.path / "graphs") == graphs
