"""Checks every file of a store against what the store says that it must be."""

from __future__ import annotations

import atexit
import shutil
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.store import integrity, manifest, reading
from fxstore.store.catalog import Catalog
from fxstore.store.directory import RELATIONS, UPGRADE, Directory, temporary, unreadable
from fxstore.store.runs import CommittedRun
from fxstore.store.segments import as_given, by_run

_AGAIN = "ingest its runs again, or merge a store that has them; fxstore gc does not touch what is damaged"


# While others compact or collect all the time, the next look meets what the last one found.
_TRIES: Final = 8


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a store.

    Attributes:
        place: The file or directory, as a path within the store.
        problem: What is wrong with it.
        runs: Ids of the runs that cannot be trusted because of it; none where the store can do without it.
        advice: What to do.
    """

    place: str
    problem: str
    runs: tuple[str, ...]
    advice: str


@dataclass(frozen=True)
class Verified:
    """What a check found.

    Attributes:
        runs: How many runs were checked.
        files: How many files were read for it.
        undigested: How many of these have no digest, as an early fxstore wrote them: they can be read, and no more is
            known.
    """

    runs: int
    files: int
    problems: tuple[Problem, ...]
    undigested: int = 0

    def table(self) -> pa.Table:
        """Returns the problems, one row each: place, problem, runs, advice."""
        text = pa.string()
        kinds = [("place", text), ("problem", text), ("runs", pa.list_(text)), ("advice", text)]
        return pa.Table.from_pylist([asdict(one) for one in self.problems], schema=pa.schema(kinds))

    def __str__(self) -> str:
        count = len(self.problems)
        bad = f"{count:,} problem{'s' * (count > 1)}" if count else "all whole"
        early = f"; {self.undigested:,} files of an early fxstore have no digest" if self.undigested else ""
        return f"{self.runs:,} runs, {self.files:,} files: {bad}{early}"


def verify(directory: Directory) -> Verified:
    """Reads every file that a run needs and compares its digest; others may write, compact and collect meanwhile.

    Returns:
        The problems, by place; what was only removed while it was read is none.
    """
    catalog = Catalog(directory, quiet=True)
    try:
        catalog.refresh()
        found = _check(catalog)
        for _ in range(_TRIES):
            if not found.problems or not catalog.refresh(again=True):
                break
            found = _check(catalog)
    except OSError as error:
        raise unreadable(directory.root, error) from error
    return found


def _check(catalog: Catalog) -> Verified:
    directory = catalog.directory
    problems = [*_left_out(catalog), *_beside(directory)]
    files = undigested = 0
    known: dict[Path, integrity.Digests] = {}
    for folder, (names, run_ids) in needed(catalog).items():
        directory.fetch([folder / name for name in names])
        files += len(names)
        damaged = integrity.damaged((folder / name for name in names), known, catalog.digested)
        undigested += len(names) if known.get(folder, {}) is None else 0
        for path, why in damaged.items():
            problems.append(_problem(directory, path, why, run_ids))
        for path, why in integrity.misshapen(folder / name for name in names if (folder / name) not in damaged).items():
            problems.append(_problem(directory, path, why, run_ids))
    bad = {run_id for problem in problems for run_id in problem.runs}
    for run_id, why in _contradictions(catalog, bad):
        problems.append(_problem(directory, catalog.folder(run_id), why, [run_id]))
    count = len(catalog.runs) + len(catalog.damaged)
    return Verified(count, files, tuple(sorted(problems, key=lambda p: p.place)), undigested)


def needed(catalog: Catalog) -> dict[Path, tuple[list[str], list[str]]]:
    """Returns, for each directory of files, the names that must be there and the ids of the runs that need them."""
    directory = catalog.directory
    found: dict[Path, tuple[list[str], list[str]]] = {}

    def add(folder: Path, relations: Iterable[str], run_id: str) -> None:
        found.setdefault(folder, ([f"{relation}.parquet" for relation in relations], []))[1].append(run_id)

    for run_id, run in catalog.committed().items():
        add(catalog.folder(run_id), tables.RUN_TABLES, run_id)
        add(directory.structure(run.structure_hash), tables.STRUCTURE_TABLES, run_id)
        for graph in run.graph_hashes:
            add(directory.graph(graph), tables.GRAPH_FILES, run_id)
    return found


def _problem(directory: Directory, path: Path, why: str, run_ids: Iterable[str]) -> Problem:
    return Problem(path.relative_to(directory.root).as_posix(), why, tuple(run_ids), _advice(why))


def _advice(why: str) -> str:
    return f"this fxstore is older than what wrote it: {UPGRADE}" if UPGRADE in why else _AGAIN


def _left_out(catalog: Catalog) -> Iterator[Problem]:
    directory = catalog.directory
    for run_id, why in catalog.damaged.items():
        yield _problem(directory, directory.run(run_id), why, [run_id])
    for name, why in catalog.unread.items():
        yield Problem(f"segments/{name}", why, (), f"its runs are not readable: {_advice(why)}")


def _contradictions(catalog: Catalog, bad: set[str]) -> Iterator[tuple[str, str]]:
    """Yields the ids of runs whose rows are not those that their descriptions tell of, and why; their files are whole.

    Args:
        bad: Ids of runs that are known to be damaged.
    """
    folders: dict[Path, list[CommittedRun]] = {}
    for run_id, run in catalog.committed().items():
        if run_id not in bad:
            folders.setdefault(catalog.folder(run_id), []).append(run)
    for folder, runs in folders.items():
        try:
            held = {relation: by_run(folder, relation) for relation in tables.RUN_TABLES}
        except OSError as error:
            yield from ((run.run_id, f"it cannot be read: {error.strerror or error}") for run in runs)
            continue
        for run in runs:
            own = {name: as_given(held[name].get(run.run_key), schema) for name, schema in tables.RUN_TABLES.items()}
            if run.content and integrity.of_rows(own) != run.content:
                yield run.run_id, "its rows are not those that were committed"
            elif not catalog.is_shared(run) and (why := _misdescribed(catalog, run)):
                yield run.run_id, why


def _misdescribed(catalog: Catalog, run: CommittedRun) -> str | None:
    try:
        text = reading.text(catalog.directory.run(run.run_id) / "run.json")
        said = CommittedRun.from_json(text)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return f"its run.json cannot be read ({error})"
    # A manifest that an early fxstore wrote does not know of digests.
    return (
        None
        if said == run._replace(digests=said.digests)
        else "MANIFEST.json says something else of it than its run.json"
    )


def _beside(directory: Directory) -> Iterator[Problem]:
    """Yields what is wrong with files that belong to no run."""
    remade = "delete it: it is made again"
    for relation in RELATIONS:
        path = directory.empty(relation)
        directory.fetch([path])
        if why := integrity.damage(path):
            yield Problem(f"empty/{relation}.parquet", why, (), "copy it from a store that is whole")
    if directory.manifest.exists():
        try:
            reading.parsed(reading.text(directory.manifest))
        except (OSError, ValueError) as error:
            yield Problem(directory.manifest.name, f"it cannot be read: {error}", (), remade)
    for name in sorted(manifest.listed(directory.runs)):
        if not name.startswith(("run_id=", "_tag.")):
            yield Problem(f"runs/{name}", "it is no run, and no tag", (), "take it away")


# Copying what is whole in a store, for who may do with the copy what they like.


# While others compact all the time, the next try meets what the last one found.
_COPY_TRIES: Final = 8


def private_copy(directory: Directory) -> Directory:
    """Copies the runs of a store into a temporary directory, which is removed when the process ends.

    A run that is damaged is left out with a warning; one that is committed meanwhile is left out, never half there.
    """
    catalog = Catalog(directory)
    catalog.refresh()
    copy = temporary()
    atexit.register(copy.remove)
    for _ in range(_COPY_TRIES):
        damage = _copy(catalog, copy)
        if not damage or not catalog.refresh(again=True):  # compacted or collected while it was copied
            break
    for run_id, why in damage.items():
        warnings.warn(f"run {run_id} is left out: {why}", stacklevel=3)
    return copy


def _copy(catalog: Catalog, copy: Directory) -> dict[str, str]:
    """Copies what is not there yet; returns why runs are left out, by their ids."""
    directory = catalog.directory
    damage: dict[str, str] = {}
    own = {directory.run(run_id): run_id for run_id in catalog.committed()}
    folders = needed(catalog)
    for folder, (names, run_ids) in sorted(folders.items(), key=lambda item: item[0] in own):
        target = copy.root / folder.relative_to(directory.root)
        if target.exists() or own.get(folder) in damage:
            continue
        directory.fetch([folder / name for name in names])
        if why := _copy_folder(folder, names, target, catalog.digested):
            shutil.rmtree(target)
            damage |= dict.fromkeys(run_ids, why)
    for name in catalog.tag_files(catalog.runs):
        (copy.runs / name).touch()
    return damage


def _copy_folder(folder: Path, names: list[str], target: Path, digested: frozenset[str]) -> str | None:
    """Copies files and what says their digests; returns what is wrong with one of them."""
    target.mkdir(parents=True)
    described = [name for name in (*integrity.DESCRIPTIONS, integrity.NAME) if (folder / name).is_file()]
    try:
        for name in (*names, *described):
            with reading.opened(folder / name) as source, open(target / name, "wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    files = [target / name for name in names]
    damage = integrity.damaged(files, digested=digested) or integrity.misshapen(files)
    return next((f"{folder / path.name}: {why}" for path, why in damage.items()), None)
