"""Copying what is whole in a store, for who may do with the copy what they like."""

from __future__ import annotations

import atexit
import shutil
import warnings
from pathlib import Path
from typing import Final

from fxstore.store import reading, shapes, sums
from fxstore.store.catalog import Catalog
from fxstore.store.directory import Directory, temporary
from fxstore.store.verifying import needed

# While others compact all the time, the next try meets what the last one found.
_TRIES: Final = 8


def private_copy(directory: Directory) -> Directory:
    """Copies the runs of a store into a temporary directory, which is removed when the process ends.

    A run that is damaged is left out with a warning; one that is committed meanwhile is left out, never half there.
    """
    catalog = Catalog(directory)
    catalog.refresh()
    copy = temporary()
    atexit.register(copy.remove)
    for _ in range(_TRIES):
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
    described = [name for name in (*sums.DESCRIPTIONS, sums.NAME) if (folder / name).is_file()]
    try:
        for name in (*names, *described):
            with reading.opened(folder / name) as source, open(target / name, "wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    files = [target / name for name in names]
    damage = sums.damaged(files, digested=digested) or shapes.misshapen(files)
    return next((f"{folder / path.name}: {why}" for path, why in damage.items()), None)
