"""Merge: the runs of many stores in one, each once."""

from __future__ import annotations

import shutil
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fxstore import Store, connect
from fxstore.errors import StoreError, UsageError
from fxstore.store import merging, publishing, write_run
from tests.query.conftest import tiny
from tests.store.test_compacting import answers
from tests.store.test_store import files, small_run


@pytest.fixture
def here(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "here")
    opened.commit(tiny("ours"))
    return opened


@pytest.fixture
def there(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "there")
    for name in ("one", "two", "three"):
        opened.commit(tiny(name))
    opened.commit(small_run("other graphs"))
    opened.tag("two", {"green": "true"})
    return opened


@pytest.mark.parametrize("compacted", [False, True])
def test_every_answer_comes_along(here: Store, there: Store, compacted: bool) -> None:
    expected = answers(there, "three")
    if compacted:
        there.compact(grace=0)
    done = here.merge(there.path)
    assert (len(done.runs), done.known, done.tags) == (4, 0, 1)
    assert not here.verify().problems
    shutil.rmtree(here.directory.run(here.existing_run("ours").run_id))
    assert answers(here, "three") == expected
    assert here.existing_run("two").tags == {"soc": "s1", "green": "true"}


def test_twice_is_once(here: Store, there: Store) -> None:
    here.merge(there)
    before = files(here.path)
    done = here.merge(there)
    assert (done.runs, done.known, done.tags) == ((), 4, 0)
    assert files(here.path) == before
    here.compact(grace=0)
    assert here.merge(there).runs == ()
    there.compact(grace=0)
    assert here.merge(there).runs == ()
    there.merge(here)
    assert len(here.runs()) == len(there.runs()) == 5


def test_many_stores_become_one(tmp_path: Path, here: Store) -> None:
    """As the artifacts of many CI jobs: those that share graphs store them once."""
    for i in range(6):
        with connect(tmp_path / f"job-{i}") as job:
            job.commit(tiny(f"job-{i}"))
    graphs = files(here.path / "graphs")
    for i in range(6):
        here.merge(tmp_path / f"job-{i}")
    assert files(here.path / "graphs") == graphs
    assert [run.name for run in here.committed_runs()] == ["ours", *(f"job-{i}" for i in range(6))]
    assert len(here.sql("SELECT DISTINCT run_id FROM metrics")) == 7


def test_a_run_of_the_same_id_with_other_content_is_refused(here: Store, there: Store) -> None:
    for store, value in ((here, 0.5), (there, 0.25)):
        write_run(store.directory, small_run("same", value), draw=lambda: 2**24)
    before = files(here.path)
    with pytest.raises(StoreError, match=r"run 01000000 is another one here \('same' of .*nothing is merged") as error:
        here.merge(there)
    assert error.value.hint
    assert "\n" not in str(error.value)
    assert files(here.path) == before


def test_numbers_alone_make_another_run(here: Store, there: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the description says is alike, the time included, but one metric differs."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(publishing, "datetime", type("Clock", (), {"now": staticmethod(lambda _: now)}))
    for store, value in ((here, 0.5), (there, 0.25)):
        write_run(store.directory, small_run("same", value), draw=lambda: 2**24)
    with pytest.raises(StoreError, match="run 01000000 is another one here"):
        here.merge(there)


def test_what_is_damaged_there_stays_there(here: Store, there: Store) -> None:
    bad = there.existing_run("two").run_id
    path = there.directory.run(bad) / "metrics.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=f"run {bad} is not taken in: .*metrics.parquet: its bytes are not those"):
        done = here.merge(there)
    assert len(done.runs) == 3
    assert bad not in {run.run_id for run in here.committed_runs()}
    assert not here.verify().problems


def test_a_damaged_graph_is_not_copied(here: Store, there: Store) -> None:
    bad = there.existing_run("other graphs")
    (there.directory.graph(bad.graph_hashes[0]) / "nodes.parquet").write_bytes(b"PAR1")
    with pytest.warns(UserWarning, match=f"run {bad.run_id} is not taken in"):
        assert len(here.merge(there).runs) == 3
    assert not here.directory.graph(bad.graph_hashes[0]).exists()


def test_a_run_that_is_damaged_here_is_said(here: Store, there: Store) -> None:
    here.merge(there)
    (here.directory.run(there.existing_run("one").run_id) / "run.json").write_text("{")
    with (
        pytest.warns(UserWarning, match="is left out"),
        pytest.raises(StoreError, match="is here already, but damaged"),
    ):
        here.merge(there)


def test_a_tag_that_is_here_stays(here: Store, there: Store) -> None:
    here.merge(there)
    here.tag("two", {"green": "false"})
    there.tag("two", {"checked": "yes"})
    assert here.merge(there).tags == 1
    assert here.existing_run("two").tags == {"soc": "s1", "green": "false", "checked": "yes"}


def test_not_into_itself(here: Store) -> None:
    with pytest.raises(UsageError, match="cannot be merged into itself"):
        here.merge(here.path)
    with pytest.raises(StoreError, match="no store at"):
        here.merge(here.path / "nothing")


def test_a_store_that_is_written_and_compacted_meanwhile(here: Store, there: Store) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            there.commit(tiny(f"meanwhile-{number}"))
            if number % 3 == 0:
                there.compact(grace=0)
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(6):
        here.merge(there.path)
        assert not here.verify().problems
    stop.set()
    thread.join()
    here.merge(there)
    assert {run.run_id for run in there.committed_runs()} < {run.run_id for run in here.committed_runs()}


def test_two_merges_of_one_store_at_once(here: Store, there: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = merging._copy_contents

    def other(*arguments: object) -> None:
        monkeypatch.undo()
        here.merge(there)
        copy(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "_copy_contents", other)
    assert len(here.merge(there).runs) == 0
    assert len(here.runs()) == 5
    assert len(here.sql("SELECT DISTINCT run_id FROM metrics")) == 5
