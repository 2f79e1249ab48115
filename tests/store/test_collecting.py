"""Garbage collection: nothing that a run refers to goes, whoever commits meanwhile."""

from __future__ import annotations

import os
import shutil
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from fxstore import Store, connect
from fxstore.errors import UsageError
from fxstore.store import Catalog, Directory, collection, publishing, write_run
from tests.query.conftest import tiny
from tests.store.records import graph, run
from tests.store.test_store import files, small_run

A, B = (run({"float": graph([name, "relu"])}, name=name) for name in ("add", "mul"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return connect(tmp_path / "store")


def age(path: Path, seconds: float = 7200) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def names(store: Store) -> list[str]:
    return [run.name for run in store.committed_runs()]


def test_a_store_without_left_overs_stays_as_it_is(store: Store) -> None:
    store.commit(tiny())
    before = files(store.path)
    assert store.gc() == collection.Collected((), 0, 0)
    assert files(store.path) - before == {".staging/maintenance.lock"}


def test_retention_keeps_the_newest_of_each_model_and_what_is_tagged(store: Store) -> None:
    for i in range(4):
        for model in ("a", "b"):
            record = small_run(f"{model}{i}")
            store.commit(type(record)(**{**vars(record), "model": model}))
    for i in range(3):  # of no model: by name
        record = small_run("nameless")
        store.commit(type(record)(**{**vars(record), "model": None, "tags": {"build": str(i)}}))
    store.tag("a0", {"release": "1.0"})
    store.tag("b1", {"release": "2.0"})
    told = store.gc(keep_last=2, keep_tag="release", dry_run=True)
    assert len(names(store)) == 11
    done = store.gc(keep_last=2, keep_tag="release")
    assert done.runs == told.runs
    assert names(store) == ["a0", "b1", "a2", "b2", "a3", "b3", "nameless", "nameless"]
    assert [found.tags for found in store.committed_runs()][-2:] == [{"build": "1"}, {"build": "2"}]
    store.gc(keep_last=1, keep_tag=["release=2.0", "build=1"])
    assert names(store) == ["b1", "a3", "b3", "nameless", "nameless"]
    assert not list(store.directory.runs.glob("_tag.*1.0"))
    assert not store.verify().problems


def test_retention_in_segments(store: Store) -> None:
    for i in range(5):
        store.commit(tiny(f"r{i}"))
    store.compact()  # the directories of the runs are still there
    store.gc(keep_last=3)
    assert names(store) == ["r2", "r3", "r4"]
    store.gc(keep_last=2, grace=0)
    assert names(store) == ["r3", "r4"]
    assert len(store.sql("SELECT DISTINCT run_id FROM metrics")) == 2
    assert len(list(store.directory.segments.iterdir())) == 2  # the new one, and the one that it replaced just now
    store.gc(grace=0)
    assert len(list(store.directory.segments.iterdir())) == 1
    assert [path for path in store.directory.runs.iterdir() if path.is_dir()] == []
    store.commit(tiny("r5"))
    store.compact(grace=0)
    assert names(store) == ["r3", "r4", "r5"]
    assert not store.verify().problems


def test_all_runs_of_a_segment_go(store: Store) -> None:
    store.commit(A)
    store.compact(grace=0)
    store.commit(type(A)(**{**vars(A), "name": "newer"}))
    store.gc(keep_last=1)
    assert names(store) == ["newer"]
    assert len(store.sql("FROM metrics")) == 0


@pytest.mark.parametrize(
    ("arguments", "said"), [({"keep_last": 0}, "keep_last cannot be 0"), ({"keep_tag": "x"}, "keep_tag alone")]
)
def test_what_retention_cannot_mean(store: Store, arguments: dict[str, object], said: str) -> None:
    store.commit(A)
    with pytest.raises(UsageError, match=said) as error:
        store.gc(**arguments)  # type: ignore[arg-type]
    assert error.value.hint
    assert names(store) == ["add"]


def test_what_a_killed_writer_left_goes_when_it_is_old(store: Store) -> None:
    store.commit(A)
    gone = store.directory.graph(next(iter(store.committed_runs())).graph_hashes[0])
    staged = store.directory.staging / "0123456789abcdef"
    staged.mkdir()
    (staged / "metrics.parquet").write_bytes(b"half")
    (store.directory.runs / "_tag.00000001.green=true").touch()
    assert store.gc().left_over == 0
    age(staged)
    age(store.directory.runs / "_tag.00000001.green=true")
    assert store.gc().left_over == 2
    assert not staged.exists()
    assert gone.exists()


def test_a_staging_of_a_clock_that_was_ahead_stays(store: Store) -> None:
    staged = store.directory.staging / "0123456789abcdef"
    staged.mkdir()
    age(staged, -86400)
    assert store.gc(grace=0).left_over == 0
    assert staged.exists()


def test_drawings_of_layouts_that_were_replaced_go(store: Store) -> None:
    """And those that stand beside another graph, which no graph alone decides, when they are old."""
    run_id = store.commit(tiny())
    store.compare().html()
    (newest,) = (store.path / "layouts").iterdir()
    kept = sorted(path.name for path in newest.glob("*/*.npz"))
    assert len(kept) >= len(store.existing_run(run_id).graph_hashes)
    version = int(newest.name[1:])
    for other in (version - 1, version - 3):
        shutil.copytree(newest, newest.with_name(f"v{other}"))
    (store.path / "layouts" / "notes").mkdir()
    beside = newest / "ab" / f"{'ab' * 32}.npz"
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(b"")
    assert store.gc(dry_run=True).left_over == 0
    assert store.gc().left_over == 2
    assert sorted(path.name for path in (store.path / "layouts").iterdir()) == ["notes", newest.name]
    assert beside.exists()
    assert store.gc(grace=0).left_over == 1
    assert sorted(path.name for path in newest.glob("*/*.npz")) == kept
    assert store.verify().problems == ()


def test_graphs_of_no_run_go_with_their_drawings(store: Store) -> None:
    store.commit(A)
    (doomed,) = store.committed_runs()
    store.compare().html()
    store.commit(B)
    shutil.rmtree(store.directory.run(doomed.run_id))
    (graph_hash,) = doomed.graph_hashes
    drawing = next((store.path / "layouts").glob(f"*/*/{graph_hash}.npz"))
    assert store.gc().contents == 2
    assert not store.directory.graph(graph_hash).exists()
    assert not drawing.exists()
    assert names(store) == ["mul"]
    assert not store.verify().problems


def test_graphs_stay_where_a_run_cannot_be_read(store: Store) -> None:
    bad, _ = store.commit(A), store.commit(B)
    before = files(store.path / "graphs")
    (store.directory.run(bad) / "run.json").write_text("{")
    with pytest.warns(UserWarning, match=f"graphs stay: what {bad} refers to cannot be read"):
        assert store.gc(grace=0).contents == 0
    assert files(store.path / "graphs") == before


AT = ["before it looks", "after it looked", "before its commit", "after its commit"]


@pytest.mark.parametrize("when", AT)
@pytest.mark.parametrize("half", [False, True])
def test_a_collection_at_any_time_of_a_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch, when: str, half: bool
) -> None:
    """The graphs of a run are there already, of no run; another process collects while a writer relies on them.

    ``half``: that process is killed when it has moved them aside.
    """
    shutil.rmtree(store.directory.run(store.commit(A)))

    def collect(*_: object) -> None:
        with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
            if half:
                patch.setattr(collection, "_return", _killed)
            store.gc()

    use, commit = publishing.use, publishing.commit

    def racing_use(*arguments: object) -> None:
        if when == "before it looks":
            collect()
        use(*arguments)  # type: ignore[arg-type]
        if when == "after it looked":
            collect()

    def racing_commit(*arguments: object) -> bool:
        if when == "before its commit":
            collect()
        done = commit(*arguments)  # type: ignore[arg-type]
        if when == "after its commit":
            collect()
        return done

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "use", racing_use)
        patch.setattr(publishing, "commit", racing_commit)
        run_id = write_run(store.directory, A)
    store.gc(grace=0)
    catalog = Catalog(store.directory)
    assert catalog.refresh()
    assert set(catalog.runs) == {run_id}
    assert not store.verify().problems


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_commit_between_look_and_removal_gets_its_graphs_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole commit happens after the collection has found the graphs unused, before it moves them aside."""
    shutil.rmtree(store.directory.run(store.commit(A)))
    unused, committed = collection._unused, []

    def race(*arguments: object) -> list[Path]:
        found = unused(*arguments)  # type: ignore[arg-type]
        committed.append(write_run(store.directory, A))
        return found

    monkeypatch.setattr(collection, "_unused", race)
    assert store.gc(grace=0).contents == 0
    assert [found.run_id for found in store.committed_runs()] == committed
    assert not store.verify().problems


def test_a_tag_that_comes_meanwhile_counts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = (store.commit(type(A)(**{**vars(A), "name": name})) for name in ("old", "new"))
    drop = collection.drop_replaced

    def tagged(*arguments: object) -> int:
        store.tag(old, {"release": "1"})
        return drop(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(collection, "drop_replaced", tagged)
    assert store.gc(keep_last=1, keep_tag="release").runs == ()
    assert names(store) == ["old", "new"]


def test_a_reader_waits_for_a_collection_to_put_a_graph_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is committed that relies on a graph which is moved aside just then."""
    shutil.rmtree(store.directory.run(store.commit(A)))
    unused, put_back = collection._unused, collection._return
    seen: list[str] = []

    def race(*arguments: object) -> list[Path]:
        found = unused(*arguments)  # type: ignore[arg-type]
        write_run(store.directory, A)
        return found

    def read() -> None:
        with connect(store.path, read_only=True) as reader:
            seen.extend(names(reader))

    def slow(*arguments: object) -> None:
        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.2)
        put_back(*arguments)  # type: ignore[arg-type]
        thread.join()

    monkeypatch.setattr(collection, "_unused", race)
    monkeypatch.setattr(collection, "_return", slow)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.gc().contents == 0
    assert seen == ["add"]


def test_a_graph_that_is_published_while_it_collects_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer begins when the collection has asked who uses what."""
    used, rename = publishing.used, os.rename
    moved: list[str] = []

    def race(directory: Directory) -> set[str]:
        found = used(directory)
        monkeypatch.setattr(publishing, "used", used)
        write_run(store.directory, A)
        return found

    def noted(source: Path, target: Path) -> None:
        moved.extend([str(target)] * ("aside." in str(target)))
        rename(source, target)

    monkeypatch.setattr(publishing, "used", race)
    monkeypatch.setattr(os, "rename", noted)
    store.gc()
    assert names(store) == ["add"]
    assert moved == []
