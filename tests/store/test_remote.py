"""A store at a URL: every question, and merging from it; on an S3-compatible server, in memory and on files."""

from __future__ import annotations

import builtins
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.errors import MissingExtraError, QueryError, StoreError
from fxstore.store import remote
from tests.query.conftest import tiny
from tests.query.test_kept import QUESTIONS
from tests.store.test_compacting import answers
from tests.store.test_processes import _environment
from tests.store.test_store import small_run

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3-compatible server; gives a bucket's URL."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    _, port = running.get_host_and_port()
    before = dict(fsspec.config.conf)
    fsspec.config.conf["s3"] = {
        "endpoint_url": f"http://127.0.0.1:{port}", "key": "a", "secret": "b", "use_listings_cache": False,
    }  # fmt: skip
    fsspec.filesystem("s3").mkdir("bucket")
    yield "s3://bucket"
    fsspec.config.conf.clear()
    fsspec.config.conf.update(before)
    running.stop()


@pytest.fixture
def local(tmp_path: Path) -> Store:
    opened = connect(tmp_path / "local")
    for name in ("one", "two"):
        opened.commit(tiny(name))
    opened.compact(grace=0)
    opened.commit(small_run("three"))
    opened.commit(tiny("tiny"))
    opened.tag("two", {"green": "true"})
    return opened


@pytest.fixture(params=["s3", "memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where stores are uploaded to."""
    if request.param == "s3":
        return f"{request.getfixturevalue('server')}/{tmp_path.name}/store"
    return f"memory://{tmp_path.name}/store" if request.param == "memory" else f"file://{tmp_path}/there"


@pytest.fixture
def there(tmp_path: Path) -> str:
    return f"memory://{tmp_path.name}/store"


def upload(store: Store, url: str) -> None:
    """Makes what is at the URL what the store is."""
    files, base = fsspec.core.url_to_fs(url)
    if files.exists(base):
        files.rm(base, recursive=True)
    for path in sorted(store.path.rglob("*")):
        if path.is_file():
            place = f"{base}/{path.relative_to(store.path).as_posix()}"
            files.makedirs(place.rpartition("/")[0], exist_ok=True)
            files.pipe_file(place, path.read_bytes())


def asked(store: Store) -> list[str]:
    found = answers(store)
    return [*found, *(repr(ask(store).fetchall()) for ask in QUESTIONS)]


def test_every_answer_is_the_local_one(local: Store, url: str) -> None:
    upload(local, url)
    with connect(url) as store:
        assert asked(store) == asked(local)
        assert store.existing_run("two").tags["green"] == "true"
        assert store.read_only
        assert store.verify().problems == ()
        assert store.duckdb().execute("SELECT count(*) FROM metrics").fetchall() == [(len(local.sql("FROM metrics")),)]
        assert "<svg" in store.compare().html() or "<canvas" in store.compare().html()
        kept = store.path
    assert not kept.exists()


def test_a_store_without_segments_and_with_a_manifest(tmp_path: Path, there: str) -> None:
    with connect(tmp_path / "plain") as local:
        for i in range(3):
            local.commit(tiny(f"run-{i}"))
        shutil.rmtree(local.directory.segments)
        from fxstore.store import Catalog, manifest

        catalog = Catalog(local.directory)
        catalog.refresh()
        manifest.save(local.directory, catalog.loose())
        upload(local, there)
        with connect(there) as store:
            assert [run.name for run in store.committed_runs()] == ["run-0", "run-1", "run-2"]
            assert answers(store, "run-0") == answers(local, "run-0")


def test_it_is_merged_from(local: Store, url: str, tmp_path: Path) -> None:
    upload(local, url)
    with connect(tmp_path / "mine") as mine:
        assert len(mine.merge(url).runs) == 4
        assert mine.merge(url).runs == ()
        assert mine.existing_run("two").tags["green"] == "true"
        assert answers(mine) == answers(local)
        assert mine.verify().problems == ()


def test_it_cannot_be_written(local: Store, there: str) -> None:
    upload(local, there)
    with connect(there) as store:
        asks: list[Callable[[], object]] = [
            lambda: store.commit(tiny()), store.compact, store.gc, lambda: store.tag("one", {"a": "b"})
        ]  # fmt: skip
        for ask in asks:
            with pytest.raises(StoreError, match="a store at a URL is for reading only") as error:
                ask()
            assert "fxstore merge" in str(error.value.hint)


def test_what_is_committed_compacted_and_removed_there_is_seen(
    local: Store, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LISTED_S", 0.0)
    upload(local, there)
    with connect(there) as store:
        assert len(store.runs()) == 4
        local.commit(tiny("five"))
        upload(local, there)
        assert len(store.runs()) == 5
        local.compact(grace=0)
        upload(local, there)
        assert answers(store) == answers(local)
        local.gc(keep_last=1, grace=0)
        upload(local, there)
        assert [run.name for run in store.committed_runs()] == [run.name for run in local.committed_runs()]


def test_a_reader_goes_on_when_what_it_listed_is_compacted_there(local: Store, url: str) -> None:
    upload(local, url)
    expected = answers(local)
    with connect(url) as store:
        store.runs().fetchall()
        local.compact(grace=0)
        upload(local, url)
        assert answers(store) == expected


def test_a_run_that_is_not_all_there_is_not_seen_or_told(
    local: Store, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is uploaded: first without its description, then without its numbers."""
    monkeypatch.setattr(remote, "LISTED_S", 0.0)
    upload(local, there)
    files, base = fsspec.core.url_to_fs(there)
    late = local.existing_run("three").run_id
    place = f"{base}/runs/run_id={late}"
    description, numbers = (files.cat_file(f"{place}/{name}") for name in ("run.json", "metrics.parquet"))
    files.rm_file(f"{place}/run.json")
    with connect(there) as store:
        assert late not in {run.run_id for run in store.committed_runs()}
        files.rm_file(f"{place}/metrics.parquet")
        files.pipe_file(f"{place}/run.json", description)
        with (
            pytest.warns(UserWarning, match=f"run {late} is left out: .*metrics.parquet: it is missing"),
            pytest.raises(QueryError, match=f"run {late} is left out"),
        ):
            store.worst("cosine", run=late).fetchall()
        assert len(store.worst("cosine", run="one")) == 3
    files.pipe_file(f"{place}/metrics.parquet", numbers)
    with connect(there) as store:
        assert len(store.worst("cosine", run=late)) == 1


def test_a_damaged_file_there_is_noticed(local: Store, there: str) -> None:
    upload(local, there)
    files, base = fsspec.core.url_to_fs(there)
    bad = local.existing_run("three").run_id
    content = bytearray(files.cat_file(f"{base}/runs/run_id={bad}/metrics.parquet"))
    content[content.index(b"cosine")] ^= 1
    files.pipe_file(f"{base}/runs/run_id={bad}/metrics.parquet", bytes(content))
    with connect(there) as store:
        assert [problem.runs for problem in store.verify().problems] == [(bad,)]
        with pytest.warns(UserWarning, match="its bytes are not those that were written"), pytest.raises(QueryError):
            store.worst("cosine", run=bad)


@pytest.mark.parametrize(
    "name", ["..", ".", "x\0y", "n" * 300, "a\\b", "_tag.\0", "_tag." + "n" * 300, "\ud800", "C:x"]
)
def test_a_server_that_lists_what_no_store_has(
    local: Store, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"memory:/{tmp_path}/store"
    upload(local, url)
    memory = type(fsspec.core.url_to_fs(url)[0])
    listed = memory.ls
    monkeypatch.setattr(memory, "ls", lambda self, path, **more: [*listed(self, path, **more), f"{path}/{name}"])
    with connect(url) as store:
        assert len(store.runs()) == len(local.runs())
        assert not store.verify().problems


@pytest.mark.parametrize("scheme", ["s3", "memory", "file"])
def test_what_is_no_store(scheme: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    base = request.getfixturevalue("server") if scheme == "s3" else f"{scheme}://{tmp_path}"
    with pytest.raises(StoreError, match=r"no store at .*it has no FORMAT file") as error:
        connect(f"{base}/nothing")
    assert error.value.hint
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("format", "said"),
    [('{"format": 2}', "has format 2; this fxstore reads up to 1"), ("what", "its FORMAT file cannot be read")],
)
def test_a_newer_store_there_is_refused(tmp_path: Path, format: str, said: str) -> None:
    (tmp_path / "FORMAT").write_text(format)
    with pytest.raises(StoreError, match=said):
        connect(f"file://{tmp_path}")


def test_a_server_that_does_not_answer() -> None:
    pytest.importorskip("s3fs")
    options = {
        "endpoint_url": "http://127.0.0.1:9",
        "key": "a",
        "secret": "b",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    before = fsspec.config.conf.get("s3")
    fsspec.config.conf["s3"] = options
    try:
        with pytest.raises(StoreError, match="cannot read the store 's3://nowhere/x'") as error:
            connect("s3://nowhere/x")
        assert error.value.hint
    finally:
        fsspec.config.conf.pop("s3") if before is None else fsspec.config.conf.update(s3=before)


@pytest.mark.parametrize(
    ("url", "missing", "said"),
    [
        ("s3://bucket/store", "fsspec", "a store at a URL needs an optional package"),
        ("s3://bucket/store", "s3fs", "a store at an S3 URL needs an optional package"),
        ("gs://bucket/store", "gcsfs", "Please install gcsfs"),
    ],
)
def test_what_is_not_installed_is_named(url: str, missing: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = sys.modules["fsspec.registry"]
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments, **named)

    for scheme in ("s3", "gs"):
        monkeypatch.delitem(registry._registry, scheme, raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(StoreError if missing == "gcsfs" else MissingExtraError, match=said) as error:
        connect(url)
    assert error.value.hint


def test_the_commands_take_a_url(local: Store, tmp_path: Path) -> None:
    url = f"file://{local.path}"
    command = [sys.executable, "-m", "fxstore"]
    outputs = [
        subprocess.run([*command, *rest], env=_environment(), capture_output=True, text=True, check=True).stdout
        for rest in (
            ["worst", "cosine", "--run", "one", "--store", url],
            ["worst", "cosine", "--run", "one", "--store", str(local.path)],
            ["merge", url, "--store", str(tmp_path / "mine")],
        )
    ]
    assert outputs[0] == outputs[1] != ""
    assert set(outputs[2].split()) == {run.run_id for run in local.committed_runs()}
    with connect(url) as store:
        limited = store.limited(timeout=60).worst("cosine", run="one")
        assert len(limited) == 3
