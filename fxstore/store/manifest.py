"""MANIFEST.json: what many ``run.json`` say, in one file, so that a store of ten thousand runs opens at once.

What segments hold is not in it: they say it themselves, in the same form.

It is a cache and never the truth: a run is committed by the rename of its directory alone. Readers list the
directories, take from the manifest what it knows of them, and read the ``run.json`` of the others; so writers need no
lock, and a manifest that lost a race, or is lost altogether, costs time only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from fxstore.store import parquet, reading
from fxstore.store.directory import ASIDE, FORMAT, RUN_PREFIX, Directory, has_content, replace
from fxstore.store.runs import LATER, CommittedRun, check, check_format, checked

# Runs that may be missing in the manifest before a writer adds them: reading one run.json takes about 0.1 ms.
_BEHIND: Final = 64
_COUNT: Final = re.compile(r'\{"format": \d+, "count": (\d+),')
_OWN: Final = CommittedRun._fields[:8]
_SHARED: Final = CommittedRun._fields[8:]


def to_text(runs: Iterable[CommittedRun], **more: Any) -> str:
    """Returns the runs as one JSON text: a list per field, and what runs of one model have in common only once.

    Args:
        more: What else it is to say.
    """
    runs = list(runs)
    places, shared = common(runs)
    columns = {name: [getattr(run, name) for run in runs] for name in _OWN}
    said: dict[str, Any] = {"format": FORMAT, "count": len(runs), "runs": {**columns, "shared": places}}
    said["shared"] = [{name: getattr(run, name) for name in _SHARED} for run in shared]
    return reading.sealed(json.dumps({**said, **more}))


def common(runs: Sequence[CommittedRun]) -> tuple[list[int], list[CommittedRun]]:
    """Groups runs by what does not change from one run of a model to the next: structure, stages and versions.

    Returns:
        For each run the number of its group, and for each group its first run.
    """
    # Runs that one manifest told of hold the very same objects, so that most need no look at their contents.
    seen: dict[tuple[str, bool, int, int], int] = {}
    groups: dict[str, int] = {}
    firsts: list[CommittedRun] = []
    places = []
    for run in runs:
        key = run.structure_hash, run.digests, id(run.stages), id(run.versions)
        if key not in seen:
            seen[key] = groups.setdefault(json.dumps([getattr(run, name) for name in _SHARED]), len(firsts))
            if seen[key] == len(firsts):
                firsts.append(run)
        places.append(seen[key])
    return places, firsts


def from_text(text: str) -> dict[str, CommittedRun]:
    """Returns the runs of such a text by their ids.

    Raises:
        ValueError, KeyError, TypeError, IndexError: The text holds none.
    """
    return from_said(reading.parsed(text))


def from_said(found: Any) -> dict[str, CommittedRun]:
    """Returns the runs of such a text that is read already.

    Raises:
        ValueError, KeyError, TypeError, IndexError: It holds none.
    """
    check_format(found["format"])
    columns = [found["runs"][name] for name in _OWN]
    _check_columns(columns)
    told = [{**LATER, **one} for one in found["shared"]]
    shared = [tuple(checked({name: one[name] for name in _SHARED}).values()) for one in told]
    own = zip(*columns, found["runs"]["shared"], strict=True)
    return {values[0]: CommittedRun(*values, *shared[place]) for *values, place in own}


def _check_columns(columns: Sequence[list[Any]]) -> None:
    """Raises where a field cannot be what it says; values that are alike are looked at once."""
    for name, column in zip(_OWN, columns, strict=True):
        simple = column if name == "tags" else set(column)
        for value in simple:
            check(name, value)
    if [f"{key:08x}" for key in columns[1]] != columns[0]:
        raise ValueError("a run_id is not its run_key")


def load(directory: Directory) -> dict[str, CommittedRun]:
    """Returns what the manifest says; nothing where it is missing or cannot be read."""
    try:
        return from_text(reading.text(directory.manifest))
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}


def save(directory: Directory, runs: Iterable[CommittedRun]) -> None:
    """Replaces the manifest; of two writers at once the last one counts."""
    text = to_text(runs)
    replace(directory, directory.manifest, lambda path: parquet.write_text(text, path))


def keep_up(directory: Directory) -> None:
    """Writes the manifest anew where many runs are not in it yet; a failure changes nothing."""
    from fxstore.store.catalog import Catalog

    with suppress(OSError):
        committed = sum(name.startswith(RUN_PREFIX) for name in os.listdir(directory.runs))
        if committed < _BEHIND:
            return
        if abs(committed - _known(directory)) >= _BEHIND:
            catalog = Catalog(directory)
            catalog.refresh()
            save(directory, catalog.loose())


def _known(directory: Directory) -> int:
    """Returns how many runs the manifest says that it holds, from its first bytes."""
    try:
        with reading.opened(directory.manifest) as file:
            said = _COUNT.match(file.read(64).decode())
    except (OSError, ValueError):
        return 0
    return int(said[1]) if said else 0


# What the directories of a store list, as it stood together at one time.


# While others commit all the time, one listing is as good as the next.
_LOOKS: Final = 3


class Names(NamedTuple):
    """What a store's directories list: of runs and their tags, and of segments."""

    beside_runs: frozenset[str]
    segments: frozenset[str]


def changed(path: Path) -> int:
    """Returns the time of a directory's last change in nanoseconds, 0 where it is not there."""
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def listed(path: Path) -> frozenset[str]:
    """Returns the names in a directory; as they stood at one time, as far as its time tells."""
    for _ in range(_LOOKS):
        before = changed(path)
        try:
            found = frozenset(os.listdir(path))
        except FileNotFoundError:
            if not (path.parent / "FORMAT").exists() or has_content(path.parent):
                raise
            found = frozenset()  # what copies a store may leave out what is empty
        if changed(path) == before:
            break
    return found


def is_collecting(directory: Directory) -> bool:
    """Tells whether a collection has moved graphs aside, and may put some back."""
    try:
        return any(name.startswith(ASIDE) for name in os.listdir(directory.staging))
    except FileNotFoundError:
        return False
