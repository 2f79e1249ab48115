"""How finished directories get into a store: staged first, then renamed at once, so that none is ever half there."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore.records import content_hash
from fxstore.store import parquet, reading, sums
from fxstore.store.directory import Directory
from fxstore.store.runs import CommittedRun

USES: Final = "uses"


@contextmanager
def staged(directory: Directory) -> Iterator[Path]:
    """Gives a new directory for what is not yet published; it goes away at the end."""
    staging = directory.staging / secrets.token_hex(8)
    try:
        staging.mkdir()
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def use(directory: Directory, staging: Path, structures: Iterable[str], graphs: Iterable[str]) -> None:
    """Says which structures and graphs a run that is being written refers to, so that no ``gc`` takes them away.

    To be called before looking whether they are there.
    """
    paths = [*map(directory.structure, structures), *map(directory.graph, graphs)]
    text = "".join(f"{path.relative_to(directory.root).as_posix()}\n" for path in paths)
    with open(staging / USES, "w", encoding="utf-8") as file:
        file.write(text)


def used(directory: Directory) -> set[str]:
    """Returns what writers have said that they use, as paths within the store."""
    found: set[str] = set()
    for entry in os.listdir(directory.staging):
        try:
            found.update(reading.content(directory.staging / entry / USES).decode("utf-8", "replace").splitlines())
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def place(finished: Path, target: Path) -> set[Path]:
    """Puts a finished directory of immutable content in place; what is there already is identical, so ours is dropped.

    Returns:
        The directories whose names changed, for :func:`fxstore.store.parquet.sync`.
    """
    parquet.sync(finished)
    changed = {target.parent}
    if not target.parent.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        changed.add(target.parent.parent)
    rename(finished, target)
    return changed


def rename(finished: Path, target: Path) -> bool:
    """Renames a directory; returns False where the target exists already."""
    try:
        os.rename(finished, target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def content_of(own: Mapping[str, pa.Table]) -> str:
    """Returns the digest of the tables of a structure, by which it is addressed."""
    digest = hashlib.sha256()
    for name, table in own.items():
        digest.update(f"{name}\n".encode() + content_hash(table))
    return digest.hexdigest()[:32]


def commit(directory: Directory, staging: Path, run: CommittedRun, own: Mapping[str, pa.Table]) -> bool:
    """Commits a run by one rename; returns False where its id is taken.

    Args:
        own: Its overlays and metrics, as :data:`fxstore.tables.RUN_TABLES` has them.
    """
    target = directory.run(run.run_id)
    if target.exists() or _compacted(directory, run.run_id):
        return False
    finished = staging / run.run_id
    finished.mkdir()
    for name, table in own.items():
        keyed = parquet.with_key(table, "run_key", run.run_key, pa.int32())
        parquet.write(keyed, finished / f"{name}.parquet")
    digests = sums.of_files(finished, [f"{name}.parquet" for name in own])
    content = directory.structure(run.structure_hash), *map(directory.graph, run.graph_hashes)
    run = run._replace(digests=sums.are_beside(content))
    parquet.write_text(run.to_json(digests), finished / "run.json")
    parquet.sync(finished)
    if not rename(finished, target):
        return False
    if _compacted(directory, run.run_id):  # between the look and the rename, and the run's directory was taken away
        os.rename(target, finished.with_name(f"{run.run_id}.taken"))
        return False
    parquet.sync(directory.runs)
    return True


def _compacted(directory: Directory, run_id: str) -> bool:
    """Tells whether a segment holds a run of that id; it may say yes where none does, and then another id is drawn."""
    sought = f'"{run_id}"'.encode()
    try:
        names = os.listdir(directory.segments)
    except FileNotFoundError:
        return False
    for name in names:
        try:
            if sought in reading.content(directory.segment(name) / "runs.json"):
                return True
        except OSError:
            continue
    return False
