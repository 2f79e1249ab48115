"""Every file operation of what writes fails in turn: nothing acknowledged is lost, and the error says what to do."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fxstore import connect
from fxstore.errors import FxstoreError, StoreError
from fxstore.store import Catalog, Directory, manifest, open_directory, verify, write_run
from fxstore.store.collection import collect
from fxstore.store.compaction import compact
from fxstore.store.merging import merge
from fxstore.store.runs import add
from tests.store import killing
from tests.store.faults import faults
from tests.store.test_processes import ROOT, _environment
from tests.store.test_store import small_run

Work = Callable[[Directory], object]
WORKS: dict[str, Work] = killing.WORKS


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killing.make(tmp_path_factory.mktemp("base"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["io", "full", "short"])
@pytest.mark.parametrize("work", WORKS)
def test_any_operation_that_fails(base: Path, tmp_path: Path, work: str, kind: str) -> None:
    fail_at(base, tmp_path, work, kind, killing.places(base, work, every=True))


@pytest.mark.parametrize(("work", "kind"), list(zip(WORKS, ["full", "io", "full", "io", "full"], strict=True)))
def test_some_operations_that_fail(base: Path, tmp_path: Path, work: str, kind: str) -> None:
    fail_at(base, tmp_path, work, kind, killing.places(base, work, every=False))


def fail_at(base: Path, tmp_path: Path, work: str, kind: str, places: range) -> None:
    failures = 0
    expected = killing.ids(open_directory(base / "store"))
    shutil.copytree(base / "other", tmp_path / "other")
    for at in places:
        path = tmp_path / f"{at}"
        shutil.copytree(base / "store", path)
        directory = open_directory(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with faults(path, at, kind) as found:
                error = attempt(WORKS[work], directory)
        failures += error is not None
        if error is not None:
            assert error.hint, found.what
            assert "\n" not in str(error), found.what
        # A run that could not be read is told with a warning, and stays where it is.
        done = error is None and work in ("commit", "tag")
        killing.check(directory, expected, work, finished=done, where=found.what)
        WORKS[work](directory)  # again, and now it works
        killing.check(directory, expected, work, finished=True, where=f"after {found.what}")
        shutil.rmtree(path)
    assert kind == "short" or failures >= 2


def attempt(work: Work, directory: Directory) -> FxstoreError | None:
    try:
        work(directory)
    except FxstoreError as error:
        return error
    return None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_at_an_operation(tmp_path: Path, work: str, every: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.killing", str(tmp_path), work, *["every"] * every],
        cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= 3


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own, where one may be mounted; else files of this process may not be larger than that."""
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    """Runs are committed until there is no space: all that were acknowledged are there, and more fit after a gc."""
    with small_disk(tmp_path / "disk", 2) as disk:
        directory = open_directory(disk / "store")
        acknowledged: list[str] = []
        error = None
        while error is None:
            record = killing.big_run(len(acknowledged))
            error = attempt(lambda d, record=record: acknowledged.append(write_run(d, record)), directory)  # type: ignore[misc]
        assert str(error).endswith("No space left on device")
        assert error.hint is not None
        assert "free some space" in error.hint
        assert len(acknowledged) > 5
        assert killing.ids(directory) == set(acknowledged)
        assert verify(directory).problems == ()
        collect(directory, keep_last=2)
        later = write_run(directory, killing.big_run(5000))
        assert killing.ids(directory) == {*acknowledged[-2:], later}
        assert verify(directory).problems == ()


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """As with a full disk, where nothing can be mounted: in a process of its own, since limits do not go up again."""
    code = (
        "import resource, signal, sys\n"
        "import pyarrow.parquet\n"
        "from tests.store.test_faults import attempt, killing, open_directory, write_run\n"
        "directory = open_directory(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # after imports, which write, too\n"
        "error = attempt(lambda d: write_run(d, killing.big_run(1)), directory)\n"
        "print(error, '|', error.hint)"
    )
    directory = open_directory(tmp_path / "store")
    kept = write_run(directory, small_run())
    done = subprocess.run(
        [sys.executable, "-c", code, str(directory.root)],
        cwd=ROOT, env=_environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    said, _, hint = done.stdout.strip().partition(" | ")
    assert said == f"cannot write to the store {str(directory.root)!r}: {os.strerror(errno.EFBIG)}"
    assert "file of that size" in hint
    assert killing.ids(directory) == {kept}
    assert verify(directory).problems == ()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] != 2000


def test_a_directory_that_is_mounted_read_only(tmp_path: Path) -> None:
    """Also as root, whom rights do not stop: it is read, and writing says what to do."""
    with small_disk(tmp_path / "disk", 4) as disk:
        with connect(disk / "store") as store:
            store.commit(small_run())
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            for work in (lambda d: write_run(d, small_run("more")), compact, collect):
                error = attempt(work, store.directory)
                assert error is not None
                assert error.hint
                assert "Read-only file system" in str(error)
        for opened in (connect(disk / "store", read_only=True),):
            with opened:
                assert len(opened.runs()) == 1
                assert len(opened.worst("cosine")) == 1
                assert opened.verify().problems == ()
        with pytest.raises(StoreError, match="may not be written") as refused:
            connect(disk / "store")
        assert refused.value.hint == "open it with read_only=True"


def test_a_clock_that_is_set_back(tmp_path: Path) -> None:
    """The run is dated by the clock, and the writer is told; nothing is lost, and retention goes by the dates."""
    directory = open_directory(tmp_path / "store")
    first = write_run(directory, small_run("first"))
    ahead = directory.runs.stat().st_mtime + 86400
    os.utime(directory.runs, (ahead, ahead))
    with pytest.warns(UserWarning, match="this clock is 86[34][0-9]+ s behind the last change of the store"):
        second = write_run(directory, small_run("second"))
    third = write_run(directory, small_run("third"))
    catalog = Catalog(directory)
    catalog.refresh()
    assert set(catalog.runs) == {first, second, third}
    staged = directory.staging / "of the future"
    staged.mkdir()
    os.utime(staged, (ahead, ahead))
    compact(directory)
    collect(directory)
    assert staged.exists()
    assert killing.ids(directory) == {first, second, third}


def test_a_reader_notices_a_commit_whatever_the_clock_says(tmp_path: Path) -> None:
    """The directory's time may be the same, or earlier, after a commit."""
    directory = open_directory(tmp_path / "store")
    write_run(directory, small_run("first"))
    old = 1_000_000_000
    os.utime(directory.runs, (old, old))
    catalog = Catalog(directory)
    catalog.refresh()
    write_run(directory, small_run("second"))
    os.utime(directory.runs, (old - 5, old - 5))
    assert catalog.refresh()
    assert len(catalog.runs) == 2


def test_a_manifest_that_cannot_be_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_BEHIND", 1)
    directory = open_directory(tmp_path / "store")
    directory.manifest.mkdir()
    run_id = write_run(directory, small_run())
    assert killing.ids(directory) == {run_id}


def test_the_advice_is_part_of_what_the_command_says(tmp_path: Path) -> None:
    directory = open_directory(tmp_path / "store")
    shutil.rmtree(directory.staging)
    directory.staging.touch()
    done = subprocess.run(
        [sys.executable, "-m", "fxstore", "compact", "--store", str(directory.root)],
        env=_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    said, hint = done.stderr.splitlines()
    assert said.startswith("fxstore: cannot write to the store")
    assert hint.startswith("  what was stored before is as it was")
    assert json.loads((directory.root / "FORMAT").read_text()) == {"format": 1}


def test_merging_needs_only_to_read_the_other(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base / "other", tmp_path / "other")
    directory = open_directory(tmp_path / "store")
    before = sorted((tmp_path / "other").rglob("*"))
    assert len(merge(directory, open_directory(tmp_path / "other", read_only=True)).runs) == 2
    assert sorted((tmp_path / "other").rglob("*")) == before
    add(directory, next(iter(killing.ids(directory))), {"a": "b"})
