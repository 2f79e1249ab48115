"""Garbage collection: runs that retention lets go, graphs that no run refers to, and what killed writers left.

A writer says which graphs it uses before it looks whether they are there (:mod:`fxstore.store.publishing`), and looks
again after its commit. Here a graph is first moved aside, then runs and writers are asked again, and it is put back
where one of them refers to it. So no order of the two loses a graph.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fxstore.errors import UsageError
from fxstore.store import manifest, publishing
from fxstore.store.catalog import Catalog
from fxstore.store.compaction import DOOMED, GRACE_S, doom, drop_replaced, rewrite
from fxstore.store.directory import ASIDE, Directory, alone
from fxstore.store.directory import NAME as LOCK
from fxstore.store.runs import CommittedRun

_SHARD: Final = re.compile("[0-9a-f]{2}")
_CONTENT: Final = re.compile("[0-9a-f]{32}")
_DRAWING: Final = re.compile(r".+\.npz")


@dataclass(frozen=True)
class Collected:
    """What a collection removed, or would remove.

    Attributes:
        runs: Ids of runs, oldest first.
        contents: Graphs and structures that no run refers to.
        left_over: What killed writers left, what compactions replaced, and drawings that are of no use any more.
    """

    runs: tuple[str, ...]
    contents: int
    left_over: int

    def __str__(self) -> str:
        contents = f"{self.contents:,} graphs and structures"
        return f"{len(self.runs):,} runs, {contents}, {self.left_over:,} left-overs"


def collect(
    directory: Directory,
    keep_last: int | None = None,
    keep_tags: Iterable[str] = (),
    grace: float = GRACE_S,
    dry_run: bool = False,
) -> Collected:
    """Removes runs that are not to be kept, and all that nothing refers to.

    Args:
        directory: The store.
        keep_last: How many of the newest runs of each model (of each name, of runs that name no model) to keep;
            default: all runs stay.
        keep_tags: Runs with one of these tags stay, too: ``release``, or ``release=2.1``.
        grace: Seconds for which what was replaced stays, and what a writer has staged.
        dry_run: Only tell; left-overs are not counted then.

    Raises:
        UsageError: ``keep_last`` is below 1, or tags are given without it.
        StoreError: The store is read-only or cannot be written, or another process compacts or collects.
    """
    tags = tuple(keep_tags)
    if keep_last is not None and keep_last < 1:
        raise UsageError(f"keep_last cannot be {keep_last}", hint="it is how many runs of each model stay: 1 or more")
    if tags and keep_last is None:
        raise UsageError(
            "keep_tag alone keeps everything", hint="say how many others to keep: keep_last=30, or --keep-last 30"
        )
    with alone(directory):
        _put_back(directory)
        catalog = Catalog(directory, quiet=True)
        catalog.refresh()
        unwanted = _unwanted(catalog.runs.values(), keep_last, tags)
        if dry_run:
            return Collected(tuple(unwanted), len(_unused(directory, catalog, set(unwanted))), 0)
        left_over = drop_replaced(directory, catalog, grace)
        catalog.refresh(again=True)
        # A tag that came meanwhile counts.
        unwanted = [run_id for run_id in unwanted if run_id in _unwanted(catalog.runs.values(), keep_last, tags)]
        _remove_runs(directory, catalog, unwanted)
        catalog.refresh(again=True)
        contents = _remove_unused(directory, catalog)
        left_over += _left_over(directory, catalog, grace) + _remove_drawings(directory, grace)
        if unwanted:
            manifest.save(directory, catalog.loose())
        return Collected(tuple(unwanted), contents, left_over)


def _unwanted(runs: Iterable[CommittedRun], keep_last: int | None, tags: tuple[str, ...]) -> list[str]:
    """Returns the ids of the runs, of those given oldest first, that retention lets go."""
    if keep_last is None:
        return []
    groups: dict[tuple[bool, str], list[CommittedRun]] = {}
    for run in runs:
        groups.setdefault((run.model is None, run.model or run.name), []).append(run)
    old = {run.run_id: run for group in groups.values() for run in group[:-keep_last]}
    return [run_id for run_id, run in old.items() if not any(_has(run, tag) for tag in tags)]


def _has(run: CommittedRun, tag: str) -> bool:
    key, equals, value = tag.partition("=")
    return key in run.tags and (not equals or run.tags[key] == value)


def _remove_runs(directory: Directory, catalog: Catalog, run_ids: list[str]) -> None:
    gone = set(run_ids)
    doom(directory, [path for path in map(directory.run, run_ids) if path.exists()])
    for segment in catalog.segments():
        if gone & segment.runs.keys():
            with publishing.staged(directory) as staging:
                rewrite(directory, staging, catalog, [segment], without=gone)
            catalog.refresh(again=True)
    for name in catalog.tag_files(gone):
        with suppress(FileNotFoundError):
            (directory.runs / name).unlink()


def _unused(directory: Directory, catalog: Catalog, without: set[str] | None = None) -> list[Path]:
    """Returns the graphs and structures that no run and no writer refers to."""
    if unknown := [*(run_id for run_id in catalog.damaged if run_id not in catalog.incomplete), *catalog.unread]:
        warnings.warn(f"graphs stay: what {unknown[0]} refers to cannot be read; see fxstore verify", stacklevel=4)
        return []
    # In this order: who has put one there said before that it uses it, or has committed by now.
    contents = [path for kind in ("graphs", "structures") for path in _contents(directory.root / kind)]
    used = publishing.used(directory)
    catalog.refresh(again=True)
    used |= _referred(directory, catalog, without or set())
    return [path for path in contents if path.relative_to(directory.root).as_posix() not in used]


def _referred(directory: Directory, catalog: Catalog, without: set[str]) -> set[str]:
    """Returns the graphs and structures that runs refer to, as paths within the store."""
    used: set[str] = set()
    for run_id, run in (catalog.committed() | catalog.incomplete).items():
        if run_id not in without:
            paths = (directory.structure(run.structure_hash), *map(directory.graph, run.graph_hashes))
            used.update(path.relative_to(directory.root).as_posix() for path in paths)
    return used


def _contents(folder: Path, named: re.Pattern[str] = _CONTENT) -> list[Path]:
    """Returns what stands where a store puts content; what is named otherwise, or is elsewhere, is none of it."""
    found = []
    for shard in sorted(filter(_SHARD.fullmatch, os.listdir(folder))):
        with suppress(FileNotFoundError, NotADirectoryError):
            if not (folder / shard).is_symlink():
                names = sorted(filter(named.fullmatch, os.listdir(folder / shard)))
                found += [folder / shard / name for name in names if name.startswith(shard)]
    return found


def _remove_unused(directory: Directory, catalog: Catalog) -> int:
    """Removes graphs and structures that nothing refers to."""
    unused = _unused(directory, catalog)
    if not unused:
        return 0
    aside = directory.staging / f"{ASIDE}{secrets.token_hex(8)}"
    for path in unused:
        target = aside / path.relative_to(directory.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(path, target)
    # Writers first: one that has committed since says no more what it uses, but its run is there.
    used = publishing.used(directory)
    catalog.refresh(again=True)
    _return(directory, aside, used | _referred(directory, catalog, set()))
    removed = [path for path in unused if not path.exists()]
    os.rename(aside, directory.staging / aside.name.replace(ASIDE, DOOMED))
    shutil.rmtree(directory.staging / aside.name.replace(ASIDE, DOOMED), ignore_errors=True)
    return len(removed)


def _return(directory: Directory, aside: Path, used: set[str] | None = None) -> None:
    """Puts back what was moved aside and is used (None: all of it)."""
    for kind in ("graphs", "structures"):
        if not (aside / kind).is_dir() or aside.is_symlink():
            continue
        for path in _contents(aside / kind):
            place = path.relative_to(aside)
            if used is None or place.as_posix() in used:
                (directory.root / place).parent.mkdir(parents=True, exist_ok=True)
                publishing.rename(path, directory.root / place)


def _put_back(directory: Directory) -> None:
    """Undoes what a killed collection had only begun."""
    for name in sorted(os.listdir(directory.staging)):
        if name.startswith(ASIDE):
            _return(directory, directory.staging / name)
            _remove(directory.staging / name)


def _remove_drawings(directory: Directory, grace: float) -> int:
    """Removes drawings that can be made again: of graphs that are gone, and of layouts that newer ones replaced.

    What was drawn to stand beside another graph is of no graph alone: it goes when it is old enough.
    """
    versions = sorted(_drawn_versions(directory).items())
    for _, path in versions[:-1]:
        shutil.rmtree(path, ignore_errors=True)
    count = len(versions[:-1])
    for path in _contents(versions[-1][1], _DRAWING) if versions else ():
        if not directory.graph(path.stem).exists() and (_CONTENT.fullmatch(path.stem) or _is_old(path, grace)):
            path.unlink(missing_ok=True)
            count += 1
    return count


def _drawn_versions(directory: Directory) -> dict[int, Path]:
    folder = directory.layouts
    names = os.listdir(folder) if folder.is_dir() and not folder.is_symlink() else ()
    found = {int(name[1:]): folder / name for name in names if name[:1] == "v" and name[1:].isdecimal()}
    return {version: path for version, path in found.items() if not path.is_symlink()}


def _left_over(directory: Directory, catalog: Catalog, grace: float) -> int:
    """Removes what killed processes left, and tags of runs that are gone; returns how many of these."""
    count = 0
    for name in sorted(os.listdir(directory.staging)):
        path = directory.staging / name
        if name == LOCK or not (name.startswith(DOOMED) or _is_old(path, grace)):
            continue
        _remove(path)
        count += 1
    for name in catalog.tags_of_none():
        if _is_old(directory.runs / name, grace):
            (directory.runs / name).unlink(missing_ok=True)
            count += 1
    return count


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_old(path: Path, grace: float) -> bool:
    try:
        return time.time() - path.lstat().st_mtime >= grace
    except FileNotFoundError:
        return False
