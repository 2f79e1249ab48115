"""Damage of any file is found by ``verify``; the other runs stay readable, and no number is silently wrong."""

from __future__ import annotations

import errno
import json
import math
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError, StoreError
from fxstore.query.engine import RELATIONS
from fxstore.store import Catalog, integrity, manifest, reading
from fxstore.store.reading import checked, sealed
from fxstore.tables import ORDINAL_BITS
from tests.query.conftest import tiny
from tests.store.records import graph, metric, node, overlay, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a segment of two runs, two runs beside it, a manifest and a tag; one run has graphs of its own."""
    path = tmp_path_factory.mktemp("whole") / "store"
    with connect(path) as store:
        for name in ("a", "b"):
            store.commit(tiny(name))
        store.compact(grace=0)
        store.commit(tiny("c"))
        made = graph([node("x", "placeholder"), "relu"], [("x", "relu")])
        store.commit(run({"s": made}, name="d", overlays=[overlay("acc", [metric("s:relu", "cosine", 0.5)])]))
        store.tag("a", {"green": "true"})
        catalog = Catalog(store.directory)
        catalog.refresh()
        manifest.save(store.directory, catalog.loose())
    return path


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copytree(whole, tmp_path / "store")
    with connect(tmp_path / "store") as opened:
        yield opened


def test_a_whole_store(store: Store) -> None:
    found = store.verify()
    assert found.problems == ()
    assert str(found) == f"4 runs, {found.files} files: all whole"
    assert found.files == len([path for path in store.path.rglob("*.parquet") if path.parent.name != "empty"])


def flipped(path: Path, place: int, bit: int = 3) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)


KINDS = ["runs", "segments", "graphs", "structures"]


def files_of(path: Path) -> list[Path]:
    """Everything that says something about a run."""
    found = [
        file for kind in KINDS for file in sorted((path / kind).rglob("*")) if file.is_file() and file.stat().st_size
    ]
    return [*found, path / "MANIFEST.json"]


def _says_the_same(path: Path, content: bytes) -> bool:
    """A last digit beyond a float's precision is no other number."""
    return bool(json.loads(path.read_bytes()) == json.loads(content))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_bit_is_found(store: Store, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(files_of(store.path)))
    content = path.read_bytes()
    flipped(path, data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7)))
    try:
        problems = store.verify().problems
        assert problems or (path.suffix == ".json" and _says_the_same(path, content)), path
        assert all(problem.advice for problem in problems)
    finally:
        path.write_bytes(content)
    assert not store.verify().problems


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_truncated_or_missing_file_is_found(store: Store, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for path in files_of(store.path) if path.name != "MANIFEST.json"]))
    content = path.read_bytes()
    left = data.draw(st.one_of(st.none(), st.integers(0, len(content) - 1)))
    path.unlink() if left is None else path.write_bytes(content[:left])
    try:
        assert store.verify().problems, path
    finally:
        path.write_bytes(content)


def names(store: Store, query: str = "SELECT name FROM runs") -> set[object]:
    return {row[0] for row in store.sql(query)}


NUMBERS = "SELECT DISTINCT r.name FROM metrics AS m JOIN runs AS r USING (run_id)"


@pytest.mark.parametrize("damage", ["truncated", "empty", "header", "footer", "missing", "garbage"])
def test_readers_of_other_runs_go_on(store: Store, damage: str) -> None:
    """A question over all runs leaves the damaged one out, and says so; the run itself says what is wrong."""
    bad = store.existing_run("d").run_id
    path = store.directory.run(bad) / "metrics.parquet"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage in ("header", "footer"):
        flipped(path, 10 if damage == "header" else len(content) - 200, 4)
    else:
        path.write_bytes({"truncated": content[: len(content) // 2], "empty": b"", "garbage": b"x" * 5000}[damage])
    with connect(store.path, read_only=True) as reader:
        with pytest.warns(UserWarning, match=f"run {bad} is left out: .*metrics.parquet"):
            assert names(reader, NUMBERS) == {"a", "b", "c"}
        assert len(reader.worst("cosine", run="c")) == 3
        with pytest.raises(QueryError, match=f"run {bad} is left out: .*metrics.parquet") as error:
            reader.worst("cosine", run=bad)
        assert error.value.hint
    assert [problem.runs for problem in store.verify().problems] == [(bad,)]


def test_a_damaged_graph_costs_the_runs_that_have_it(store: Store) -> None:
    bad = store.existing_run("d")
    (store.directory.graph(bad.graph_hashes[0]) / "nodes.parquet").write_bytes(b"no")
    with connect(store.path, read_only=True) as reader:
        with pytest.warns(UserWarning, match=f"run {bad.run_id} is left out: .*nodes.parquet"):
            assert names(reader, "SELECT r.name FROM nodes JOIN runs AS r USING (run_id)") == {"a", "b", "c"}
        assert len(reader.worst("cosine", run="a")) == 3


def test_a_damaged_segment_costs_its_runs(store: Store) -> None:
    (folder,) = store.directory.segments.iterdir()
    (folder / "metrics.parquet").write_bytes(b"no")
    with connect(store.path, read_only=True) as reader, pytest.warns(UserWarning, match="is left out") as warned:
        assert names(reader, NUMBERS) == {"c", "d"}
    assert len(warned) == 2
    (folder / "runs.json").write_text("{}")
    with (
        connect(store.path, read_only=True) as reader,
        pytest.warns(UserWarning, match=f"segment {folder.name} is left"),
    ):
        assert names(reader) == {"c", "d"}
    (problem,) = (one for one in store.verify().problems if one.place.startswith("segments"))
    assert "runs.json cannot be read" in problem.problem


def test_a_flipped_number_is_not_believed(store: Store) -> None:
    """It decodes, and DuckDB would answer with another number."""
    bad = store.existing_run("d").run_id
    path = store.directory.run(bad) / "metrics.parquet"
    content = path.read_bytes()
    place = content.index(b"cosine")
    flipped(path, place)
    with connect(store.path, read_only=True) as reader:
        with (
            pytest.warns(UserWarning, match=f"run {bad} is left out: .*its bytes are not those that were written"),
            pytest.raises(QueryError, match=f"run {bad} is left out"),
        ):
            reader.worst("cosine", run=bad).fetchall()
        assert names(reader, NUMBERS) == {"a", "b", "c"}


def by_run(store: Store, relation: str) -> dict[str, list[str]]:
    """Rows of a relation, by the id of their run."""
    result = store.sql(f"FROM {relation}")
    found: dict[str, list[str]] = {}
    for row in result.fetchall():
        said = dict(zip(result.columns, row, strict=True))
        nid = said.get("nid") or said.get("src_nid")
        of = str(said["run_id"]) if "run_id" in said else f"{int(str(nid)) >> ORDINAL_BITS:08x}"
        found.setdefault(of, []).append(repr(row))
    return {of: sorted(rows) for of, rows in found.items()}


READ_BY = {
    "nodes": ("nodes", "handles", "node_roles"), "edges": ("edges",), "sources": ("provenance",),
    "graphs": ("graphs",), "links": ("links",), "sync_sets": ("sync_sets",), "value_classes": ("value_pairs",),
    "ancestors": ("provenance",), "unmatched": ("unmatched",), "overlays": ("overlays",),
    "metrics": ("metrics", "coverage"),
}  # fmt: skip
"""Relations that read a file."""


@pytest.fixture(scope="module")
def rows(whole: Path) -> dict[str, dict[str, list[str]]]:
    with connect(whole, read_only=True) as opened:
        return {relation: by_run(opened, relation) for relation in RELATIONS}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_question_over_all_runs_believes_a_flipped_bit(
    store: Store, rows: dict[str, dict[str, list[str]]], data: st.DataObject
) -> None:
    """Each run has the rows that were written, or is left out with a warning."""
    path = data.draw(st.sampled_from([file for file in files_of(store.path) if file.suffix == ".parquet"]))
    relation = data.draw(st.sampled_from([*READ_BY[path.stem], *RELATIONS[-2:]]))
    content = path.read_bytes()
    flipped(path, data.draw(st.integers(4, len(content) - 1)), data.draw(st.integers(0, 7)))
    try:
        with connect(store.path, read_only=True) as reader, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = by_run(reader, relation)
            there = {run.run_id for run in reader.committed_runs()}
        assert found == {of: those for of, those in rows[relation].items() if of in there}
        assert len(there) + len(warned) == 4
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("kind", ["own", "segment"])
def test_a_flipped_number_is_in_no_answer_over_all_runs(store: Store, kind: str) -> None:
    bad = store.existing_run("d" if kind == "own" else "a")
    path = store.directory.run(bad.run_id) if kind == "own" else next(store.directory.segments.iterdir())
    content = (path / "metrics.parquet").read_bytes()
    flipped(path / "metrics.parquet", content.index(b"cosine"))
    expected = {"a", "b", "c"} if kind == "own" else {"c", "d"}
    with connect(store.path, read_only=True) as reader:
        with pytest.warns(UserWarning, match=r"is left out: .*its bytes are not those that were written"):
            assert names(reader, NUMBERS) == expected
        assert names(reader, "SELECT DISTINCT metric FROM metrics WHERE value IS NOT NULL") <= {"cosine", "load_ms"}


def test_a_query_that_is_wrong_is_still_the_users(store: Store) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in ("SELECT nope FROM metrics", "SELECT error('x') FROM metrics", "SELECT name::INT FROM runs"):
            with pytest.raises(QueryError):
                store.sql(query).fetchall()
    assert names(store) == {"a", "b", "c", "d"}


def test_the_sums_are_those_of_sha256sum(store: Store) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("needs sha256sum")
    for listed in store.path.rglob("SHA256SUMS"):
        subprocess.run(["sha256sum", "--check", "--quiet", listed.name], cwd=listed.parent, check=True)


def test_a_store_without_digests_is_read_and_verified(store: Store) -> None:
    """As an early fxstore wrote it; one line says that a flipped bit would go unnoticed."""
    for listed in store.path.rglob("SHA256SUMS"):
        listed.unlink()
    for path in store.directory.runs.glob("*/run.json"):
        said = json.loads(path.read_text())
        early = {k: v for k, v in said.items() if k not in ("files", "content", "digests", "sha256")}
        path.write_text(json.dumps(early))
    store.directory.manifest.unlink()
    shutil.rmtree(store.directory.segments)
    with connect(store.path) as reader:
        with pytest.warns(UserWarning, match="has no digests, as an early fxstore wrote it"):
            assert names(reader, NUMBERS) == {"c", "d"}
        assert names(reader, "SELECT DISTINCT r.name FROM nodes JOIN runs AS r USING (run_id)") == {"c", "d"}
        found = reader.verify()
        assert not found.problems
        assert found.undigested == found.files
        assert str(found).endswith(f"all whole; {found.files} files of an early fxstore have no digest")
        bad = reader.existing_run("d")
        (reader.directory.run(bad.run_id) / "overlays.parquet").write_bytes(b"PAR1 no PAR1")
        assert [problem.runs for problem in reader.verify().problems] == [(bad.run_id,)]


def test_an_empty_file_that_is_damaged_is_told(store: Store) -> None:
    store.directory.empty("metrics").write_bytes(b"")
    assert [problem.place for problem in store.verify().problems] == ["empty/metrics.parquet"]


@settings(max_examples=30)
@given(st.dictionaries(st.text(), st.text() | st.integers()), st.sampled_from([None, 1]))
def test_a_seal_holds_what_was_sealed(said: dict[str, object], indent: int | None) -> None:
    text = sealed(json.dumps(said, indent=indent, ensure_ascii=False)) if said else sealed('{"a": 1}')
    assert checked(text) == text
    assert said.items() <= json.loads(text).items()


@given(st.data())
def test_a_seal_is_broken_by_any_other_text(data: st.DataObject) -> None:
    text = sealed('{"name": "nightly", "number": 5}')
    place = data.draw(st.integers(0, len(text) - 80))
    other = text[:place] + data.draw(st.characters(exclude_characters=text[place])) + text[place + 1 :]
    with pytest.raises(ValueError, match="not the one that was written"):
        checked(other)


def test_what_is_no_run_is_told(store: Store) -> None:
    (store.directory.runs / "notes.txt").write_text("mine")
    assert [(p.place, p.problem) for p in store.verify().problems] == [("runs/notes.txt", "it is no run, and no tag")]


def test_the_digest_of_rows_is_that_of_their_values() -> None:
    """However they lie in memory: in slices, in chunks, with bits for what is missing where nothing is."""
    table = pa.table(
        {"n": pa.array([1, None, 3, 4], pa.int32()), "v": [0.5, math.nan, -0.0, None], "t": ["a", None, "", "ü"]}
    )
    said = integrity.of_rows({"x": table})
    odd = pa.concat_tables([table.slice(0, 1), table.slice(1, 3)])
    long = pa.concat_tables([table, table]).combine_chunks().slice(4, 4)
    assert {said} == {integrity.of_rows({"x": one}) for one in (odd, long, table.take([0, 1, 2, 3]))}
    whole = pa.concat_tables([table.slice(0, 1), table.slice(2, 1)])
    assert integrity.of_rows({"x": whole}) == integrity.of_rows(
        {"x": pa.Table.from_pylist(whole.to_pylist(), table.schema)}
    )
    changed = [
        table.slice(0, 3),
        table.take([1, 0, 2, 3]),
        table.set_column(0, "n", pa.array([1, 0, 3, 4], pa.int32())),
    ]
    changed.append(table.set_column(2, "t", pa.array(["a", None, "ü", ""])))
    assert said not in {integrity.of_rows({"x": one}) for one in changed}


SAYS = (
    "while reading file '{file}'", "fxstore: a damaged file", "Failed to read file \"{file}\": its bytes are not those",
    "IO Error: No files found that match the pattern \"{file}\"", "Invalid Input Error: No magic bytes found at end of "
    "file '{file}'", "fxstore: no run {run}", "run {run} is left out: {file}: it is missing",
)  # fmt: skip
ASKS = (
    "SELECT error('{0}') FROM metrics", "SELECT CAST('{0}' AS INTEGER) FROM metrics",
    "SELECT '{0}'::TIMESTAMP FROM nodes", "SELECT \"{0}\" FROM metrics",
    "SELECT json_extract(name, '{0}'), error('{0}') FROM nodes",
    "SELECT strptime('{0}', '{0}') FROM links", "SELECT regexp_matches(name, '(' || '{0}') FROM nodes",
    "SELECT error('{0}') FROM worst('cosine')", "FROM worst('{0}')", "SELECT assert_true(false, '{0}') FROM edges",
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(says=st.sampled_from(SAYS) | st.text(max_size=20), asks=st.sampled_from(ASKS), data=st.data())
def test_no_text_of_an_error_costs_a_run(store: Store, says: str, asks: str, data: st.DataObject) -> None:
    """Only a file that is not as it was written does."""
    path = data.draw(st.sampled_from([str(file) for file in files_of(store.path)]))
    said = says.replace("{file}", path).replace("{run}", store.existing_run("d").run_id)
    quoted = said.replace('"', "" if '"{0}"' in asks else '"').replace("'", "''").replace("\0", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(QueryError):
            store.sql(asks.format(quoted)).fetchall()
        assert names(store, NUMBERS) == {"a", "b", "c", "d"}


LACKS = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError()]


@pytest.mark.parametrize("lack", LACKS, ids=["handles", "memory of the system", "memory"])
@pytest.mark.parametrize("what", ["question", "error", "shapes", "refresh", "segment"])
def test_a_process_without_memory_or_handles_loses_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, what: str, lack: BaseException
) -> None:
    """What the process lacks says nothing about a file: the question fails with one line, and the next one answers."""

    def fails(path: object) -> None:
        raise lack

    asked = "SELECT error('x') FROM metrics" if what in ("error", "shapes") else NUMBERS
    failed: tuple[type[BaseException], ...] = (QueryError, StoreError, MemoryError)
    with connect(store.path, read_only=True) as reader, warnings.catch_warnings():
        warnings.simplefilter("error")
        if what in ("error", "shapes"):
            assert names(reader, NUMBERS) == {"a", "b", "c", "d"}
        if what == "refresh":
            assert len(names(reader)) == 4
            reader_sees = store.commit(tiny("e"))
        if what == "segment":
            assert len(names(reader)) == 4
            store.compact(grace=0)
        with monkeypatch.context() as patched:
            if what == "shapes":
                patched.setattr("fxstore.store.integrity._check_columns", fails)
            else:
                patched.setattr(reading, "opened", fails)
            with pytest.raises(failed) as error:
                reader.sql(asked).fetchall()
            assert "\n" not in str(error.value)
        expected = {"a", "b", "c", "d"} | ({"e"} if what == "refresh" else set())
        assert names(reader, NUMBERS) == expected
        assert what != "refresh" or reader.existing_run("e").run_id == reader_sees
    assert not store.verify().problems


def without_digests(path: Path, change: str) -> list[Path]:
    """Takes the digests of each graph and structure away, or lets them name nothing."""
    listed = sorted(path.rglob("SHA256SUMS"))
    for file in listed:
        file.write_text("") if change == "emptied" else file.unlink()
    return listed


@pytest.mark.parametrize("change", ["removed", "emptied"])
def test_digests_that_are_gone_are_damage(store: Store, change: str) -> None:
    """No question believes what cannot be compared any more, whether the run is in a segment, or beside it."""
    listed = without_digests(store.path, change)
    found = {problem.place.rpartition("/")[0] for problem in store.verify().problems}
    assert found == {file.parent.relative_to(store.path).as_posix() for file in listed}
    with connect(store.path, read_only=True) as reader, pytest.warns(UserWarning, match="is left out: ") as warned:
        assert names(reader, "SELECT DISTINCT r.name FROM nodes JOIN runs AS r USING (run_id)") == set()
    assert len(warned) == 4
    with connect(store.path.with_name("other")) as other, pytest.warns(UserWarning, match="is not taken in"):
        assert not other.merge(store.path).runs


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bit_is_believed_where_digests_are_gone(
    store: Store, rows: dict[str, dict[str, list[str]]], data: st.DataObject
) -> None:
    """The law of one flipped bit holds where the digests of its directory went, too."""
    kept = [file for kind in ("graphs", "structures") for file in sorted((store.path / kind).rglob("*.parquet"))]
    path = data.draw(st.sampled_from(kept))
    relation = data.draw(st.sampled_from(READ_BY[path.stem]))
    listed = path.parent / "SHA256SUMS"
    before, digests = path.read_bytes(), listed.read_bytes()
    flipped(path, data.draw(st.integers(4, len(before) - 1)), data.draw(st.integers(0, 7)))
    listed.unlink()
    try:
        with connect(store.path, read_only=True) as reader, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = by_run(reader, relation)
            there = {run.run_id for run in reader.committed_runs()}
        assert found == {of: those for of, those in rows[relation].items() if of in there}
        assert len(there) < 4
    finally:
        path.write_bytes(before)
        listed.write_bytes(digests)


@pytest.mark.parametrize("place", ["run", "segment", "manifest", "merged", "copied"])
def test_that_there_are_digests_is_known_wherever_a_run_is_described(store: Store, place: str) -> None:
    if place == "run":
        store.directory.manifest.unlink()
    elif place == "segment":
        store.compact(grace=0)
    elif place == "merged":
        other = connect(store.path.with_name("other"))
        other.merge(store.path)
        store = other
    elif place == "copied":
        shutil.copytree(store.path, store.path.with_name("copy"))
        store = connect(store.path.with_name("copy"))
    catalog = Catalog(store.directory)
    catalog.refresh()
    assert all(run.digests for run in catalog.committed().values())
    assert catalog.digested == {file.parent.name for file in store.path.rglob("SHA256SUMS")}


def test_a_run_does_not_promise_digests_that_are_not_there(store: Store) -> None:
    """It refers to graphs that an early fxstore wrote."""
    without_digests(store.path, "removed")
    run_id = store.commit(tiny("late"))
    found = json.loads((store.directory.run(run_id) / "run.json").read_text())
    assert found["digests"] is False


def test_what_an_early_fxstore_says_of_runs_is_no_damage(store: Store) -> None:
    """It wrote the manifest anew, which does not know of digests then; the run says it itself."""
    said = json.loads(store.directory.manifest.read_text())
    for shared in said["shared"]:
        del shared["digests"]
    del said["sha256"]
    store.directory.manifest.write_text(sealed(json.dumps(said)))
    with connect(store.path, read_only=True) as reader:
        assert names(reader, NUMBERS) == {"a", "b", "c", "d"}
        assert not reader.verify().problems


def test_what_was_moved_away_meanwhile_is_not_taken_for_an_early_store(store: Store, tmp_path: Path) -> None:
    gone = tmp_path / "run_id=00000000"
    with pytest.raises(FileNotFoundError):
        integrity.said(gone)
    known: dict[Path, integrity.Digests] = {}
    assert list(integrity.damaged([gone / "metrics.parquet"], known)) == [gone / "metrics.parquet"]
    assert known == {}
    gone.mkdir()
    assert integrity.said(gone) is None
