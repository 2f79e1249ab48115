"""Compaction: the overlays and metrics of many runs, two files each, become two files of one segment.

Each new segment is published by one rename, and counts from then on; what it replaces is taken away after a grace
period. So a reader sees a run in its directory or in its segment, never in neither, and who has listed the old files
can still open them. A process that is killed leaves old files that the next compaction takes away.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.gc_paused import at_rest
from fxstore.store import integrity, manifest, parquet, publishing, segments
from fxstore.store.catalog import Catalog
from fxstore.store.directory import Directory, alone
from fxstore.store.runs import CommittedRun
from fxstore.store.segments import Segment

GRACE_S: Final = 3600.0
"""Seconds for which what was replaced stays, by default: longer than a query of another engine takes."""
MOST_RUNS: Final = 1024
"""Runs in one segment."""
DOOMED: Final = "doomed."
"""What names begin with, in the staging directory, that nobody reads any more."""


@dataclass(frozen=True)
class Compacted:
    """What a compaction did.

    Attributes:
        runs: Runs that it wrote into segments.
        segments: Segments that it wrote.
        removed: Directories that it took away.
    """

    runs: int
    segments: int
    removed: int

    def __str__(self) -> str:
        return f"{self.runs:,} runs in {self.segments} new segments, {self.removed:,} directories removed"


@at_rest()
def compact(directory: Directory, grace: float = GRACE_S) -> Compacted:
    """Puts runs that have directories of their own into segments, and takes away what was replaced long enough ago.

    Args:
        directory: The store.
        grace: Seconds for which what is replaced stays.

    Raises:
        StoreError: The store is read-only or cannot be written, or another process compacts or collects.
    """
    with alone(directory):
        catalog = Catalog(directory)
        catalog.refresh()
        written = [_write(directory, catalog, *group) for group in _groups(catalog)]
        written = [segment for segment in written if segment.runs]
        catalog.refresh(again=True)
        removed = drop_replaced(directory, catalog, grace)
        if written:
            manifest.save(directory, catalog.loose())
        return Compacted(sum(len(one.runs) for one in written), len(written), removed)


def _groups(catalog: Catalog) -> Iterator[tuple[list[Segment], list[CommittedRun]]]:
    """Yields segments that are not full, and runs, that are to become one segment; nothing where no run is new."""
    loose = catalog.loose()
    if not loose:
        return
    small = sorted((s for s in catalog.segments() if len(s.runs) < MOST_RUNS), key=lambda s: (len(s.runs), s.name))
    while loose:
        taken: list[Segment] = []
        room = MOST_RUNS
        while small and len(small[0].runs) < room:
            taken.append(small.pop(0))
            room -= len(taken[-1].runs)
        yield taken, loose[:room]
        loose = loose[room:]


def _write(directory: Directory, catalog: Catalog, replaced: list[Segment], loose: list[CommittedRun]) -> Segment:
    """Writes one segment of what is whole; what is damaged stays as it is, for ``verify`` to find."""
    replaced = [one for one in replaced if _is_whole(directory.segment(one.name), f"segment {one.name}")]
    loose = [run for run in loose if _is_whole(directory.run(run.run_id), f"run {run.run_id}")]
    if not loose:
        return Segment("", {}, frozenset())
    with publishing.staged(directory) as staging:
        return rewrite(directory, staging, catalog, replaced, loose)


def rewrite(
    directory: Directory,
    staging: Path,
    catalog: Catalog,
    replaced: Iterable[Segment],
    loose: Iterable[CommittedRun] = (),
    without: Iterable[str] = (),
) -> Segment:
    """Publishes a segment in the place of others, with further runs, and without some of theirs.

    Args:
        without: Ids of runs that are to be gone.
    """
    replaced, loose, gone = list(replaced), list(loose), set(without)
    kept = [run for one in replaced for run_id, run in one.runs.items() if run_id not in gone]
    # What those replaced themselves may still be there.
    names = {one.name for one in replaced} | (catalog.replaced() if replaced else set())
    runs = sorted([*kept, *loose], key=lambda run: run.run_key)
    rows = partial(_rows, directory, replaced, {run.run_key for run in loose}, runs)
    return segments.write(directory, staging, runs, rows, names)


def _rows(
    directory: Directory, replaced: list[Segment], loose: set[int], runs: list[CommittedRun], relation: str
) -> Iterator[pa.Table]:
    held = {
        key: rows for one in replaced for key, rows in segments.by_run(directory.segment(one.name), relation).items()
    }
    for run in runs:
        if run.run_key in loose:
            yield from segments.by_run(directory.run(run.run_id), relation).values()
        elif run.run_key in held:
            yield held[run.run_key]


def _is_whole(folder: Path, what: str) -> bool:
    files = [folder / f"{relation}.parquet" for relation in tables.RUN_TABLES]
    for path, why in (integrity.damaged(files) or integrity.misshapen(files)).items():
        warnings.warn(f"{what} stays as it is: {path.name}: {why}", stacklevel=5)
        return False
    return True


def drop_replaced(directory: Directory, catalog: Catalog, grace: float) -> int:
    """Takes away the directories of runs and segments that a segment has replaced; returns how many."""
    old = {one.name for one in catalog.segments() if _is_good(directory.segment(one.name), grace)}
    in_old = {run_id for one in catalog.segments() if one.name in old for run_id in one.runs}
    paths = [directory.run(run_id) for run_id in sorted(catalog.superseded() & in_old)]
    for name in sorted(catalog.replaced()):
        replacing = [one.name for one in catalog.segments() if name in one.replaces]
        if all(one in old for one in replacing):
            paths.append(directory.segment(name))
    doom(directory, paths)
    return len(paths)


def _is_good(folder: Path, grace: float) -> bool:
    """Tells whether what a segment replaced can go."""
    old = time.time() - folder.stat().st_mtime >= grace
    return old and _is_whole(folder, f"what segment {folder.name} holds")


def doom(directory: Directory, paths: Iterable[Path]) -> None:
    """Takes directories away: out of sight by one rename each, then from the disk."""
    paths = list(paths)
    if not paths:
        return
    away = directory.staging / f"{DOOMED}{secrets.token_hex(8)}"
    away.mkdir()
    for path in paths:
        with suppress(FileNotFoundError):
            os.rename(path, away / path.name)
    for parent in sorted({path.parent for path in paths}):
        parquet.sync(parent)
    shutil.rmtree(away, ignore_errors=True)
