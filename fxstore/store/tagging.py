"""Tags that a run gets after it was committed, such as CI's verdict on it.

A committed run never changes, so each such tag is an empty file beside the runs, and its name says all: run, key and
value. To tag is to create one; readers see it when they list the runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from fxstore.errors import UsageError
from fxstore.store import parquet
from fxstore.store.directory import Directory
from fxstore.store.failing import read_only, unwritable

# Engines that read Parquet skip names that begin so.
_NAME: Final = re.compile(r"_tag\.([0-9a-f]{8})\.([^=]*)=([^=]*)")
_LONGEST: Final = 255
Tags = dict[str, str]


def add(directory: Directory, run_id: str, tags: Mapping[str, str]) -> None:
    """Adds tags to a committed run; one of a key that it has replaces that.

    Raises:
        UsageError: A tag is too long.
        StoreError: The store is read-only or cannot be written.
    """
    if directory.read_only:
        raise read_only(directory.location)
    names = {key: _name(run_id, key, value) for key, value in tags.items()}
    for key, name in names.items():
        if len(name) > _LONGEST:
            raise UsageError(f"the tag {key!r} is too long", hint="tags are short texts: key=value")
    try:
        for key, name in names.items():
            older = [
                path for path in directory.runs.glob(f"_tag.{run_id}.*") if _key(path) == key and path.name != name
            ]
            (directory.runs / name).touch()
            for path in older:
                with suppress(FileNotFoundError):
                    path.unlink()
        parquet.sync(directory.runs)
    except OSError as error:
        raise unwritable(directory.root, error) from error


def run_of(name: str) -> str | None:
    """Returns the id of the run that a file of this name tags; None where it is no tag."""
    said = _NAME.fullmatch(name)
    return said[1] if said else None


def files(names: Iterable[str], run_ids: Container[str]) -> list[str]:
    """Returns those of these names of files that are tags of some runs."""
    return [name for name in names if (of := run_of(name)) and of in run_ids]


def named(names: Iterable[str]) -> dict[str, Tags]:
    """Returns, for each run id, the tags that these names of files say."""
    found: dict[str, Tags] = {}
    for name in sorted(name for name in names if name.startswith("_tag.")):
        if said := _NAME.fullmatch(os.fspath(name)):
            found.setdefault(said[1], {})[unquote(said[2])] = unquote(said[3])
    return found


def _name(run_id: str, key: str, value: str) -> str:
    return f"_tag.{run_id}.{_quoted(key)}={_quoted(value)}"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _key(path: Path) -> str | None:
    said = _NAME.fullmatch(path.name)
    return unquote(said[2]) if said else None
