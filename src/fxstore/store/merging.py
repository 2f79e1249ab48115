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
from fxstore.collector import at_rest
from fxstore.errors import StoreError, UsageError
from fxstore.store import manifest, parquet, publishing, segments, sums, tagging
from fxstore.store.catalog import Catalog
from fxstore.store.directory import Directory
from fxstore.store.failing import read_only, unwritable
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
        theirs.refresh()
        _check(ours, theirs)
        new = [run for run_id, run in theirs.committed().items() if run_id not in ours.committed()]
        taken = [run.run_id for run in new if _take(directory, theirs, run)]
        if new:
            manifest.keep_up(directory)
        return Merged(tuple(taken), len(theirs.runs) - len(taken), _tag(directory, theirs))
    except OSError as error:
        raise unwritable(directory.root, error) from error


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
    return one == other


class _Unreadable(Exception):
    """A file of the other store is damaged, or not there (any more)."""


def _take(directory: Directory, theirs: Catalog, run: CommittedRun) -> bool:
    """Takes one run in; returns False where it came in meanwhile, is gone there, or cannot be read."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with publishing.staged(directory) as staging:
                return _copy(directory, staging, theirs, run)
        except _Unreadable as error:
            changed = theirs.refresh(again=True)
            if run.run_id not in theirs.committed():
                return False
            if not changed or not tries_left:
                warnings.warn(f"run {run.run_id} is not taken in: {error}", stacklevel=5)
                return False
    raise AssertionError


def _copy(directory: Directory, staging: Path, theirs: Catalog, run: CommittedRun) -> bool:
    publishing.use(directory, staging, [run.structure_hash], run.graph_hashes)
    _copy_contents(directory, staging, theirs, run)
    own = _own(theirs, run)
    if not publishing.commit(directory, staging, run, own):
        return False
    _copy_contents(directory, staging, theirs, run)  # what a gc took away before it could see that it is used
    return True


def _own(theirs: Catalog, run: CommittedRun) -> dict[str, pa.Table]:
    folder = theirs.folder(run.run_id)
    _check_files(theirs.directory, [folder / f"{relation}.parquet" for relation in tables.RUN_TABLES])
    try:
        own = segments.own_tables(folder, run)
    except FileNotFoundError as error:
        raise _Unreadable(f"{error.filename or folder}: it is missing") from error
    if run.content and sums.of_rows(own) != run.content:
        raise _Unreadable(f"{folder}: its rows are not those that were written")
    return own


def _copy_contents(directory: Directory, staging: Path, theirs: Catalog, run: CommittedRun) -> None:
    source = theirs.directory
    wanted = [
        (source.structure(run.structure_hash), directory.structure(run.structure_hash), tuple(tables.STRUCTURE_TABLES)),
        *((source.graph(one), directory.graph(one), tuple(tables.GRAPH_FILES)) for one in run.graph_hashes),
    ]
    changed: set[Path] = set()
    for folder, target, relations in wanted:
        changed.add(target.parent)
        if not target.exists():
            changed |= _copy_folder(source, folder, target, staging, [f"{relation}.parquet" for relation in relations])
    for path in sorted(changed):
        parquet.sync(path)


def _copy_folder(source: Directory, folder: Path, target: Path, staging: Path, names: list[str]) -> set[Path]:
    _check_files(source, [folder / name for name in names])
    finished = staging / f"{target.name}.{secrets.token_hex(4)}"
    finished.mkdir()
    try:
        for name in names:
            parquet.write_bytes((folder / name).read_bytes(), finished / name)
    except FileNotFoundError as error:
        raise _Unreadable(f"{error.filename}: it is missing") from error
    sums.write(finished, names)
    return publishing.place(finished, target)


def _check_files(source: Directory, files: list[Path]) -> None:
    source.fetch(files)
    for file in files:
        if why := sums.damage(file):
            raise _Unreadable(f"{file}: {why}")


def _tag(directory: Directory, theirs: Catalog) -> int:
    """Adds the tags that the runs got in the other store after their commit; returns how many are new."""
    ours = Catalog(directory)
    ours.refresh()
    count = 0
    for run_id in theirs.runs.keys() & ours.runs.keys():
        new = {key: value for key, value in theirs.runs[run_id].tags.items() if key not in ours.runs[run_id].tags}
        if new:
            tagging.add(directory, run_id, new)
            count += len(new)
    return count
