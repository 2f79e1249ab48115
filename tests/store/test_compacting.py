"""Compaction: the same answers from fewer files, whoever reads, writes, tags or compacts meanwhile."""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import StoreError
from fxstore.store import Catalog, compaction, manifest, parquet, segments
from fxstore.store.directory import alone
from tests.query.conftest import tiny
from tests.query.test_kept import QUESTIONS
from tests.store.test_store import small_run

ALL: list[str] = [
    "SELECT * FROM metrics ORDER BY run_id, nid, metric, port, sample",
    "SELECT * FROM overlays ORDER BY ALL",
    "SELECT * FROM coverage ORDER BY run_id, overlay_id, stage",
    "SELECT run_id, count(*) FROM nodes GROUP BY ALL ORDER BY ALL",
]


def answers(store: Store, run: str = "tiny") -> list[str]:
    """Rows as text, since NaN is not equal to itself; ``run`` is one with an edge stage."""
    asked = [repr(store.sql(query).fetchall()) for query in ALL]
    asked.append(repr(store.history("edge", "relu_1", "cosine", run=run).fetchall()))
    asked += [repr(store.worst("cosine", run=run.run_id).fetchall()) for run in store.committed_runs()]
    return asked


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "store")
    for i in range(4):
        opened.commit(tiny(f"run-{i}" if i < 3 else "tiny"))
    opened.tag("run-2", {"green": "true"})
    return opened


def test_the_answers_are_the_same(store: Store) -> None:
    before = answers(store)
    for ask in QUESTIONS:
        before.append(repr(ask(store).fetchall()))
    done = store.compact(grace=0)
    assert (done.runs, done.segments, done.removed) == (4, 1, 4)
    assert [path.name for path in store.directory.runs.iterdir()] == [
        f"_tag.{store.existing_run('run-2').run_id}.green=true"
    ]
    for opened in (store, connect(store.path, read_only=True)):
        after = answers(opened)
        for ask in QUESTIONS:
            after.append(repr(ask(opened).fetchall()))
        assert after == before
    assert not store.verify().problems


def test_once_is_enough(store: Store) -> None:
    store.compact(grace=0)
    files = sorted(store.path.rglob("*"))
    done = store.compact(grace=0)
    assert (done.runs, done.segments, done.removed) == (0, 0, 0)
    assert sorted(store.path.rglob("*")) == files


def test_what_is_replaced_stays_for_its_grace(store: Store) -> None:
    runs = {path.name for path in store.directory.runs.glob("run_id=*")}
    assert store.compact().removed == 0
    assert {path.name for path in store.directory.runs.glob("run_id=*")} == runs
    before = answers(store)
    assert len(store.sql("FROM metrics")) == len(store.sql("SELECT DISTINCT * FROM metrics"))
    done = store.compact(grace=0)
    assert (done.runs, done.removed) == (0, 4)
    assert answers(store) == before


def test_segments_that_are_not_full_are_filled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MOST_RUNS", 6)
    store.compact(grace=0)
    for i in range(4, 9):
        store.commit(tiny(f"run-{i}"))
    before = answers(store)
    store.compact(grace=0)
    assert answers(store) == before
    catalog = Catalog(store.directory)
    catalog.refresh()
    assert sorted(len(segment.runs) for segment in catalog.segments()) == [3, 6]
    assert catalog.replaced() == set()
    assert len(list(store.directory.segments.iterdir())) == 2


def test_a_segment_of_many_rows_has_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_GROUP_ROWS", 8)
    before = answers(store)
    store.compact(grace=0)
    (folder,) = store.directory.segments.iterdir()
    assert pq.ParquetFile(folder / "metrics.parquet").num_row_groups > 1
    assert answers(store) == before


def test_a_segment_without_a_row(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        for name in "ab":
            record = small_run(name)
            store.commit(type(record)(record.name, record.stages, record.structure))
        store.compact(grace=0)
        assert len(store.sql("FROM nodes")) == 4
        assert len(store.sql("FROM metrics")) == 0


def test_a_key_that_is_in_a_segment_is_taken(tmp_path: Path) -> None:
    from fxstore.store import write_run

    with connect(tmp_path / "store") as store:
        keys = iter([2**24, 2**24, 2**25])
        write_run(store.directory, small_run(), draw=lambda: next(keys))
        store.compact(grace=0)
        assert not store.directory.run("01000000").exists()
        assert write_run(store.directory, small_run("next"), draw=lambda: next(keys)) == "02000000"


def test_a_key_that_is_compacted_between_look_and_rename_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer's run is compacted, and its directory is gone, just before ours would take its place."""
    from fxstore.store import publishing, write_run

    with connect(tmp_path / "store") as store:
        keys = iter([2**24, 2**25])
        rename, raced = publishing.rename, []

        def race(finished: Path, target: Path) -> bool:
            if target.name == "run_id=01000000" and not raced:
                raced.append(target)
                write_run(store.directory, small_run("other"), draw=lambda: 2**24)
                store.compact(grace=0)
            return rename(finished, target)

        monkeypatch.setattr(publishing, "rename", race)
        assert write_run(store.directory, small_run("ours"), draw=lambda: next(keys)) == "02000000"
        assert {run.run_id: run.name for run in store.committed_runs()} == {"01000000": "other", "02000000": "ours"}


def test_a_reader_goes_on_when_the_files_that_it_listed_are_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files vanish between the listing and the opening: the statement is bound anew."""
    refresh = Catalog.refresh
    with connect(store.path, read_only=True) as reader:
        before = answers(reader)
        store.compact(grace=0)
        monkeypatch.setattr(Catalog, "refresh", lambda self, again=False: again and refresh(self, again))
        assert answers(reader) == before
        monkeypatch.undo()
        store.commit(tiny("run-4"))
        store.compact(grace=0)
        monkeypatch.setattr(Catalog, "refresh", lambda self, again=False: again and refresh(self, again))
        assert len(reader.sql("SELECT DISTINCT run_id FROM metrics")) == 5


def test_a_listing_from_before_a_compaction_finds_every_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader has listed the runs; then a compaction takes their directories away, and a second one the segment."""
    expected = {run.run_id for run in store.committed_runs()}
    monkeypatch.setattr(compaction, "MOST_RUNS", 1000)
    manifest.save(store.directory, [])
    read, left, catalog = Catalog._read_one, [1, 1], Catalog(store.directory)

    def race(self: Catalog, run_id: str) -> object:
        if left and self is catalog:
            left.pop()
            store.commit(tiny("more"))
            store.compact(grace=0)
        return read(self, run_id)

    monkeypatch.setattr(Catalog, "_read_one", race)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        catalog.refresh()
    assert expected <= catalog.runs.keys()


def test_two_compactions_at_once(store: Store) -> None:
    with alone(store.directory), pytest.raises(StoreError, match="another compact or gc is at work") as error:
        store.compact()
    assert error.value.hint
    assert store.compact(grace=0).runs == 4


def test_a_damaged_run_is_not_compacted(store: Store) -> None:
    bad = store.existing_run("run-1").run_id
    path = store.directory.run(bad) / "metrics.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 8
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=f"run {bad} stays as it is: metrics.parquet: its bytes are not those"):
        assert store.compact(grace=0).runs == 3
    assert path.exists()
    assert [problem.runs for problem in store.verify().problems] == [(bad,)]


def test_what_a_damaged_segment_replaced_stays(store: Store) -> None:
    store.compact()
    (folder,) = store.directory.segments.iterdir()
    (folder / "metrics.parquet").write_bytes(b"")
    with pytest.warns(UserWarning, match="metrics.parquet: its bytes are not those"):
        assert store.compact(grace=0).removed == 0
    assert len(list(store.directory.runs.glob("run_id=*"))) == 4


def test_a_store_of_before_has_no_segments(store: Store) -> None:
    shutil.rmtree(store.directory.segments)
    with connect(store.path, read_only=True) as reader:
        assert len(reader.runs()) == 4
    store.commit(tiny("later"))
    assert store.compact(grace=0).runs == 5
    assert len(store.runs()) == 5


def test_tagging_and_compacting_at_once(store: Store) -> None:
    wrong: list[object] = []
    stop = threading.Event()

    def read() -> None:
        with connect(store.path, read_only=True) as reader:
            while not stop.is_set():
                tags = reader.sql("SELECT tags['round'] FROM runs WHERE name = 'run-0'").fetchall()
                wrong.extend(row for row in tags if row == (None,))
                wrong.extend([len(reader.runs())] if len(reader.runs()) < 4 else [])

    store.tag("run-0", {"round": "-1"})
    thread = threading.Thread(target=read)
    thread.start()
    for i in range(12):
        store.tag("run-0", {"round": str(i)})
        store.commit(tiny(f"more-{i}"))
        store.compact(grace=0)
    stop.set()
    thread.join()
    assert not wrong
    assert store.existing_run("run-0").tags["round"] == "11"


ROWS = """
    SELECT r.name, r.tags, r.nodes, count(m.nid)
    FROM runs AS r LEFT JOIN metrics AS m USING (run_id) GROUP BY ALL"""
STEPS = st.lists(st.sampled_from(["commit", "tag", "compact", "compact later", "gc", "keep", "reopen"]), max_size=10)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_of_what_keeps_a_store(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    """Against a model of what must be there: names and tags of the runs."""
    monkeypatch.setattr(compaction, "MOST_RUNS", 3)
    monkeypatch.setattr(parquet, "_flush", lambda handle: None)
    path = tmp_path_factory.mktemp("any") / "store"
    expected: dict[str, dict[str, str]] = {}
    with connect(path) as writer:
        reader = connect(path, read_only=True)
        for number, step in enumerate(["commit", *steps]):
            if step == "commit":
                expected[f"r{number}"] = {}
                writer.commit(small_run(f"r{number}"))
            elif step == "tag" and expected:
                expected[next(iter(expected))]["at"] = str(number)
                writer.tag(next(iter(expected)), {"at": str(number)})
            elif step in ("compact", "compact later"):
                writer.compact(grace=0 if step == "compact" else 3600)
            elif step == "gc":
                writer.gc(grace=0)
            elif step == "keep":
                writer.gc(keep_last=2, keep_tag="at", grace=0)
                last = list(expected)[-2:]
                expected = {name: tags for name, tags in expected.items() if name in last or tags}
            else:
                reader.close()
                reader = connect(path, read_only=True)
            rows = reader.sql(ROWS)
            assert {str(row[0]): row[1] for row in rows} == expected
            assert {row[2:] for row in rows} == {(2, 1)}
        assert not writer.verify().problems
        reader.close()


def test_compact_needs_a_store_that_may_be_written(store: Store) -> None:
    with connect(store.path, read_only=True) as reader:
        asked: list[Callable[[], object]] = [reader.compact, reader.gc, lambda: reader.merge(store)]
        for ask in asked:
            with pytest.raises(StoreError, match="for reading only") as error:
                ask()
            assert error.value.hint
    assert os.listdir(store.directory.staging) == []
