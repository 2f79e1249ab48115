from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fxstore.errors import FxstoreError, StoreError
from fxstore.records import RunRecord
from fxstore.store import MEMORY, Catalog, Directory, manifest, open_directory, parquet, write_run
from fxstore.store.directory import RELATIONS
from tests.store.records import chain, graph, metric, node, overlay, run


def small_run(name: str = "small", value: float = 0.5) -> RunRecord:
    made = graph([node("x", "placeholder"), "relu"], chain("x", "relu"))
    return run({"float": made}, name=name, overlays=[overlay("acc", [metric("float:relu", "cosine", value)])])


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return open_directory(tmp_path / "store")


def committed(directory: Directory) -> Catalog:
    catalog = Catalog(directory)
    catalog.refresh()
    return catalog


def test_a_run_is_described_by_its_json(directory: Directory) -> None:
    run_id = write_run(directory, small_run())
    described = json.loads((directory.run(run_id) / "run.json").read_text())
    assert described["format"] == 1
    assert described["run_key"] == int(run_id, 16) < 2**31
    assert (described["name"], described["model"], described["status"]) == ("small", "tiny", "complete")
    assert described["stages"] == [
        {"stage": "float", "stage_index": 0, "kind": "graph", "status": "complete", "note": None}
    ]
    assert described["created_at"].endswith("+00:00")
    assert described["nodes"] == 2


def test_an_equal_run_adds_only_its_own_directory(directory: Directory) -> None:
    write_run(directory, small_run())
    before = files(directory.root)
    run_id = write_run(directory, small_run("again"))
    added = files(directory.root) - before
    assert added == {f"runs/run_id={run_id}/{name}" for name in ("run.json", "overlays.parquet", "metrics.parquet")}
    assert list(directory.staging.iterdir()) == []


def test_files_carry_the_key_that_they_are_joined_by(directory: Directory) -> None:
    run_id = write_run(directory, small_run())
    (found,) = committed(directory).runs.values()
    (graph_hash,) = found.graph_hashes
    nodes = pq.read_table(directory.graph(graph_hash) / "nodes.parquet")
    assert set(nodes["graph_hash"].to_pylist()) == {graph_hash}
    graphs = pq.read_table(directory.structure(found.structure_hash) / "graphs.parquet")
    assert graphs["structure_hash"].to_pylist() == [found.structure_hash]
    metrics = pq.read_table(directory.run(run_id) / "metrics.parquet")
    assert metrics["run_key"].to_pylist() == [found.run_key]


def test_float_columns_have_no_statistics(directory: Directory) -> None:
    """Arrow's statistics leave NaN out, and DuckDB trusts them."""
    run_id = write_run(directory, small_run(value=math.nan))
    group = pq.ParquetFile(directory.run(run_id) / "metrics.parquet").metadata.row_group(0)
    statistics = {group.column(i).path_in_schema: group.column(i).statistics for i in range(group.num_columns)}
    assert statistics["value"] is None
    assert statistics["run_key"] is not None


def test_a_taken_key_is_drawn_again(directory: Directory) -> None:
    keys = iter([2**24, 2**24, 2**24, 2**25])
    assert write_run(directory, small_run(), draw=lambda: next(keys)) == "01000000"
    assert write_run(directory, small_run("next"), draw=lambda: next(keys)) == "02000000"
    assert set(committed(directory).runs) == {"01000000", "02000000"}


def test_no_key_makes_small_numbers_nids(directory: Directory) -> None:
    for i in range(20):
        assert int(write_run(directory, small_run(f"r{i}")), 16) >= 2**24


def test_names_lead_to_the_latest_run_and_ids_come_first(directory: Directory) -> None:
    first = write_run(directory, small_run("nightly"))
    second = write_run(directory, small_run("nightly"))
    write_run(directory, small_run(first))
    names = committed(directory).names()
    assert names["nightly"] == second
    assert names[first] == first


def test_the_latest_run_is_the_newest_complete_one(directory: Directory) -> None:
    partial = graph(["relu"])
    one = write_run(directory, run({"float": partial}, status="partial"))
    latest = committed(directory).latest()
    assert latest is not None
    assert latest.run_id == one
    two = write_run(directory, small_run())
    write_run(directory, run({"float": partial}, status="partial"))
    latest = committed(directory).latest()
    assert latest is not None
    assert latest.run_id == two


def test_a_damaged_run_is_left_out_with_a_warning(directory: Directory) -> None:
    good, bad = write_run(directory, small_run("good")), write_run(directory, small_run("bad"))
    (directory.run(bad) / "run.json").write_text('{"format": 1, "run_id"')
    with pytest.warns(UserWarning, match=f"run {bad} is left out"):
        assert set(committed(directory).runs) == {good}


def test_a_run_without_its_graphs_is_left_out_with_a_warning(directory: Directory) -> None:
    good = write_run(directory, run({"float": graph(["relu"])}, name="good"))
    bad = write_run(directory, small_run("bad"))
    shutil.rmtree(directory.graph(committed(directory).runs[bad].graph_hashes[0]))
    with pytest.warns(UserWarning, match=f"run {bad} is left out: .*No such file or directory"):
        assert set(committed(directory).runs) == {good}


def test_refresh_tells_whether_anything_changed(directory: Directory) -> None:
    catalog = Catalog(directory)
    write_run(directory, small_run())
    assert catalog.refresh()
    assert not catalog.refresh()
    write_run(directory, small_run())
    assert catalog.refresh()
    assert len(catalog.runs) == 2


def make_file(path: Path) -> None:
    path.write_text("x")


def make_foreign(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def make_newer(path: Path) -> None:
    path.mkdir()
    (path / "FORMAT").write_text('{"format": 2}')


def make_garbled(path: Path) -> None:
    path.mkdir()
    (path / "FORMAT").write_text("what")


@pytest.mark.parametrize(
    ("make", "read_only", "said"),
    [
        (make_file, False, "is a file, not a store"),
        (make_foreign, False, "is not a store"),
        (make_newer, False, "has format 2; this fxstore reads up to 1"),
        (make_garbled, False, "FORMAT file cannot be read"),
        (lambda path: None, True, "no store at"),
        (lambda path: path.mkdir(), True, "no store at"),
    ],
)
def test_what_is_no_store_is_refused(
    tmp_path: Path, make: Callable[[Path], object], read_only: bool, said: str
) -> None:
    make(tmp_path / "s")
    before = files(tmp_path)
    with pytest.raises(StoreError, match=said) as error:
        open_directory(tmp_path / "s", read_only=read_only)
    assert "\n" not in str(error.value)
    assert files(tmp_path) == before


def test_a_store_that_may_not_be_written_says_so(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="may not be written") as error:
        open_directory(directory.root)
    assert error.value.hint == "open it with read_only=True"
    assert open_directory(directory.root, read_only=True).read_only


def test_a_read_only_store_takes_no_run(directory: Directory) -> None:
    with pytest.raises(StoreError, match="for reading only"):
        write_run(open_directory(directory.root, read_only=True), small_run())


def test_a_store_in_memory_is_removed() -> None:
    directory = open_directory(MEMORY)
    write_run(directory, small_run())
    directory.remove()
    assert not directory.root.exists()


def test_contradictions_are_refused(directory: Directory) -> None:
    record = small_run()
    (bad,) = record.overlays
    ordinals = bad.metrics.schema.get_field_index("ordinal")
    moved = bad.metrics.set_column(ordinals, bad.metrics.schema.field(ordinals), pa.array([7], pa.int32()))
    with pytest.raises(StoreError, match="a node that the run does not have"):
        write_run(directory, RunRecord("x", record.stages, record.structure, (type(bad)("a", "accuracy", "t", moved),)))
    assert committed(directory).runs == {}


class _Failing:
    """Fails the n-th of the writer's operations on files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.left = at
        for owner, name in ((parquet, "write"), (parquet, "write_text"), (parquet, "sync"), (os, "rename")):
            monkeypatch.setattr(owner, name, self._wrap(getattr(owner, name)))

    def _wrap(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return inner(*args, **kwargs)

        return call


def attempt(directory: Directory, record: RunRecord) -> str | None:
    """Writes a run; returns what the error said, if there was one."""
    try:
        write_run(directory, record)
    except FxstoreError as error:
        return str(error)
    return None


def test_a_failure_at_any_operation_leaves_all_or_nothing(directory: Directory) -> None:
    kept = write_run(directory, small_run("kept"))
    failures = 0
    for at in range(1, 100):
        with pytest.MonkeyPatch.context() as patch:
            failing = _Failing(patch, at)
            record = run({"float": graph([f"op_{at}", "relu"])}, name=f"try-{at}")
            said = attempt(directory, record)
        assert said is None or said.endswith("No space left on device")
        failures += said is not None
        runs = {found.name: found for found in committed(directory).runs.values()}
        assert runs["kept"].run_id == kept
        if f"try-{at}" in runs:  # complete, even where the last wait for the disk failed
            found = runs[f"try-{at}"]
            for relation in RELATIONS:
                assert all(pq.read_metadata(path) for path in committed(directory).files(found, relation)), relation
        assert list(directory.staging.iterdir()) == []
        if failing.left > 0:
            break
    assert failures > 8


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 5), ("name", None), ("model", ["x"]), ("tags", {"a": 1}), ("tags", "ab"), ("versions", None),
        ("created_at", "today"), ("nodes", -1), ("nodes", True), ("stages", [{"stage": 1}]), ("stages", "x"),
        ("structure_hash", "../../etc"), ("graph_hashes", ["../x"]), ("run_key", 7), ("status", {}), ("format", 9),
    ],
)  # fmt: skip
def test_one_bad_run_json_leaves_out_that_run_only(directory: Directory, field: str, value: object) -> None:
    good, bad = write_run(directory, small_run("good")), write_run(directory, small_run("bad"))
    path = directory.run(bad) / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.warns(UserWarning, match=f"run {bad} is left out: its run.json cannot be read"):
        assert set(committed(directory).runs) == {good}


def test_a_manifest_says_what_the_runs_say(directory: Directory) -> None:
    for i in range(70):
        write_run(directory, small_run(f"r{i}"))
    told = manifest.load(directory)
    assert len(told) == 64
    assert {run_id: run for run_id, run in committed(directory).runs.items() if run_id in told} == told
    removed = next(iter(told))
    shutil.rmtree(directory.run(removed))
    (directory.run(next(reversed(told))) / "run.json").unlink()  # the manifest knows it
    assert set(committed(directory).runs) == {path.name[7:] for path in directory.runs.iterdir()}
    assert len(committed(directory).runs) == 69


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"format": 1, "runs": 5}', "\x00", '{"format": 1, "count": 2'])
def test_a_broken_manifest_costs_time_only(directory: Directory, said: str) -> None:
    run_ids = {write_run(directory, small_run(name)) for name in "ab"}
    directory.manifest.write_text(said)
    assert set(committed(directory).runs) == run_ids


def test_a_manifest_with_one_bad_field_is_not_believed(directory: Directory) -> None:
    run_ids = {write_run(directory, small_run(name)) for name in "ab"}
    manifest.save(directory, committed(directory).runs.values())
    said = json.loads(directory.manifest.read_text())
    said["runs"]["name"][0] = 5
    directory.manifest.write_text(json.dumps(said))
    assert {run.name for run in committed(directory).runs.values()} == {"a", "b"}
    assert set(committed(directory).runs) == run_ids
