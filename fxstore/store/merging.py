"""Taking the runs of another store in, each by one rename, as a writer commits its own.

Nids hold the run's key, so nothing is numbered anew; a run that is there already is the same one, unless its content
says otherwise.
"""

from __future__ import annotations

import secrets
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.errors import StoreError, UsageError
from fxstore.gc_paused import at_rest
from fxstore.store import integrity, manifest, parquet, publishing, runs, segments
from fxstore.store.catalog import Catalog
from fxstore.store.directory import Directory, read_only, unreadable, unwritable
from fxstore.store.runs import CommittedRun

# While the other store is compacted all the time, the next try meets what the last one found.
_TRIES: Final = 8


@dataclass(frozen=True)
class Merged:
    """What a merge took in.

    Attributes:
        runs: Ids of the runs that are new here, oldest first.
        known: How many of the other store's runs were here already.
        tags: Tags that are new here.
    """

    runs: tuple[str, ...]
    known: int
    tags: int

    def __str__(self) -> str:
        return f"{len(self.runs):,} runs taken in, {self.known:,} were there already, {self.tags:,} new tags"


@at_rest()
def merge(directory: Directory, other: Directory) -> Merged:
    """Takes in the runs of another store, with their tags; what is here already is not taken twice.

    A tag that a run has here stays as it is. A run of the other store that is damaged is left out with a warning.

    Raises:
        UsageError: It is the same store.
        StoreError: A run of the other store has the id of another one here, and nothing is taken in then; or this store
            is read-only or cannot be written.
    """
    if directory.read_only:
        raise read_only(directory.location)
    if directory.root == other.root:
        raise UsageError(f"{other.location!r} cannot be merged into itself", hint="give another store")
    ours, theirs = Catalog(directory), Catalog(other)
    try:
        ours.refresh()
        _look(theirs)
        _check(ours, theirs)
        new = [run for run_id, run in theirs.committed().items() if run_id not in ours.committed()]
        known: dict[str, int] = {}
        taken = [run.run_id for run in new if _take(directory, theirs, run, known)]
        if new:
            manifest.keep_up(directory)
        return Merged(tuple(taken), len(theirs.runs) - len(taken), _tag(directory, theirs))
    except OSError as error:
        raise unwritable(directory.root, error) from error


def _look(theirs: Catalog) -> None:
    try:
        theirs.refresh()
    except OSError as error:
        raise unreadable(theirs.directory.root, error) from error


def _check(ours: Catalog, theirs: Catalog) -> None:
    """Raises where a run has the id of another one."""
    for run_id, run in theirs.committed().items():
        if run_id in ours.damaged:
            raise StoreError(f"run {run_id} is here already, but damaged", hint="fxstore verify says what is damaged")
        here = ours.committed().get(run_id)
        if here is not None and not _is_same(here, run):
            raise StoreError(
                f"run {run_id} is another one here ({here.name!r} of {here.created_at[:19]}) than there "
                f"({run.name!r} of {run.created_at[:19]}): nothing is merged",
                hint="ingest one of the two again into a store of its own, and merge that",
            )


def _is_same(one: CommittedRun, other: CommittedRun) -> bool:
    if not (one.content and other.content):
        one, other = one._replace(content=""), other._replace(content="")
    return one._replace(digests=other.digests) == other


class _Unreadable(Exception):
    """A file of the other store is damaged, or not there (any more)."""


def _take(directory: Directory, theirs: Catalog, run: CommittedRun, known: dict[str, int]) -> bool:
    """Takes one run in; returns False where it came in meanwhile, is gone there, or cannot be read.

    Args:
        known: What was found good, for :func:`fxstore.store.integrity.contradiction`.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            with publishing.staged(directory) as staging:
                return _copy(directory, staging, theirs, run, known)
        except _Unreadable as error:
            changed = theirs.refresh(again=True)
            if run.run_id not in theirs.committed():
                return False
            if not changed or not tries_left:
                warnings.warn(f"run {run.run_id} is not taken in: {error}", stacklevel=5)
                return False
    raise AssertionError


def _copy(directory: Directory, staging: Path, theirs: Catalog, run: CommittedRun, known: dict[str, int]) -> bool:
    publishing.use(directory, staging, [run.structure_hash], run.graph_hashes)
    own = _own(theirs, run)
    for folder, _, relations in _contents(directory, theirs, run):
        _check_files(theirs, [folder / f"{relation}.parquet" for relation in relations])
    if why := integrity.contradiction(theirs.directory, run, own, known):
        raise _Unreadable(why)
    _copy_contents(directory, staging, theirs, run)
    if not publishing.commit(directory, staging, run, own):
        return False
    _copy_contents(directory, staging, theirs, run)  # what a gc took away before it could see that it is used
    return True


def _own(theirs: Catalog, run: CommittedRun) -> dict[str, pa.Table]:
    folder = theirs.folder(run.run_id)
    files = [folder / f"{relation}.parquet" for relation in tables.RUN_TABLES]
    _check_files(theirs, files)
    for file, why in integrity.misshapen(files).items():
        raise _Unreadable(f"{file}: {why}")
    try:
        own = segments.own_tables(folder, run)
    except FileNotFoundError as error:
        raise _Unreadable(f"{error.filename or folder}: it is missing") from error
    except (ValueError, pa.ArrowException) as error:
        raise _Unreadable(f"{folder}: {error}") from error
    if run.content and integrity.of_rows(own) != run.content:
        raise _Unreadable(f"{folder}: its rows are not those that were written")
    return own


def _contents(directory: Directory, theirs: Catalog, run: CommittedRun) -> list[tuple[Path, Path, tuple[str, ...]]]:
    """Returns where the content that a run refers to is there, where it is to be here, and the relations in it."""
    source = theirs.directory
    structure = source.structure(run.structure_hash), directory.structure(run.structure_hash)
    graphs = [(source.graph(one), directory.graph(one)) for one in run.graph_hashes]
    return [(*structure, tuple(tables.STRUCTURE_TABLES)), *((*one, tuple(tables.GRAPH_FILES)) for one in graphs)]


def _copy_contents(directory: Directory, staging: Path, theirs: Catalog, run: CommittedRun) -> None:
    changed: set[Path] = set()
    for folder, target, relations in _contents(directory, theirs, run):
        changed.add(target.parent)
        if target.exists():
            _check_same(folder, target, relations)
        else:
            changed |= _copy_folder(folder, target, staging, [f"{relation}.parquet" for relation in relations])
    for path in sorted(changed):
        parquet.sync(path)


def _check_same(folder: Path, target: Path, relations: tuple[str, ...]) -> None:
    """Raises where what has one hash in both stores is not the same there and here; its bytes may differ."""
    for name in (f"{relation}.parquet" for relation in relations):
        try:
            here, there = integrity.of(target / name), integrity.of(folder / name)
            same = here == there or parquet.read(target / name).equals(parquet.read(folder / name))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _Unreadable(f"{target / name}: {error}") from error
        if not same:
            raise _Unreadable(f"{folder.name} is another one here than there: {name} has other rows")


def _copy_folder(folder: Path, target: Path, staging: Path, names: list[str]) -> set[Path]:
    finished = staging / f"{target.name}.{secrets.token_hex(4)}"
    finished.mkdir()
    try:
        for name in names:
            parquet.write_bytes((folder / name).read_bytes(), finished / name)
    except FileNotFoundError as error:
        raise _Unreadable(f"{error.filename}: it is missing") from error
    integrity.write(finished, names)
    return publishing.place(finished, target)


def _check_files(theirs: Catalog, files: list[Path]) -> None:
    theirs.directory.fetch(files)
    for file in files:
        if why := integrity.damage(file, theirs.digested):
            raise _Unreadable(f"{file}: {why}")


def _tag(directory: Directory, theirs: Catalog) -> int:
    """Adds the tags that the runs got in the other store after their commit; returns how many are new."""
    ours = Catalog(directory)
    ours.refresh()
    count = 0
    for run_id in theirs.runs.keys() & ours.runs.keys():
        new = {key: value for key, value in theirs.runs[run_id].tags.items() if key not in ours.runs[run_id].tags}
        if new:
            runs.add(directory, run_id, new)
            count += len(new)
    return count
