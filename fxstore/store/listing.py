"""What the directories of a store list, as it stood together at one time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from fxstore.store.directory import ASIDE, Directory, has_content

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
