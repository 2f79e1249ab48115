"""One committed run, as its ``run.json`` describes it."""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from fxstore import tables
from fxstore.errors import UsageError
from fxstore.store import parquet, reading
from fxstore.store.directory import FORMAT, UPGRADE, Directory, read_only, unwritable

# As text in the order of time, and as every engine reads it.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
_HASH: Final = re.compile("[0-9a-f]{32}")
_MOST_STAGES: Final = (1 << 31) - 1
# Fields that came later, with what they are where an early fxstore did not write them.
LATER: Final[dict[str, Any]] = {"digests": False}
STAGE_FIELDS: Final = ("stage", "stage_index", "kind", "status", "note")


class CommittedRun(NamedTuple):
    """One run as its ``run.json`` describes it.

    Attributes:
        run_id: Eight hexadecimal digits of ``run_key``.
        run_key: 31 bits; the high bits of each of the run's nids.
        created_at: UTC, ISO 8601 with microseconds, by the writer's clock.
        content: Digest of the rows of its overlays and metrics; ``''`` where a store of an early fxstore has none.
        stages: One mapping per stage, in order: stage, stage_index, kind, status, note.
        graph_hashes: Each distinct graph once.
        nodes: Number of nodes: ordinals run from 0 to it.
        digests: Whether its structure and all its graphs had ``SHA256SUMS`` when it was committed, so that a missing
            one is damage; False where an early fxstore wrote it.
    """

    run_id: str
    run_key: int
    name: str
    model: str | None
    created_at: str
    status: str
    tags: dict[str, str]
    content: str
    versions: dict[str, str]
    structure_hash: str
    stages: tuple[dict[str, Any], ...]
    graph_hashes: tuple[str, ...]
    nodes: int
    digests: bool = False

    def to_json(self, files: Mapping[str, str] | None = None) -> str:
        """Returns the text of the run's ``run.json``.

        Args:
            files: Digests of the files beside it, by name.
        """
        said = {"format": FORMAT, **self._asdict(), "files": dict(files or {})}
        text = json.dumps(said, indent=1, ensure_ascii=False)
        return reading.sealed(text.encode("utf-8", "backslashreplace").decode())  # of what is no character its escape

    @classmethod
    def from_json(cls, text: str) -> CommittedRun:
        """Returns the run that a ``run.json`` describes.

        Raises:
            ValueError, KeyError, TypeError: The text does not describe one.
        """
        found = {"content": "", **LATER, **reading.parsed(text)}
        check_format(found["format"])
        return cls(**checked({name: found[name] for name in cls._fields}))


def check_format(format: object) -> None:
    """Raises where what describes runs is of a format that this fxstore does not know.

    Raises:
        ValueError: It is.
    """
    if type(format) is not int or format > FORMAT:
        raise ValueError(f"it has format {format!r:.20}, and this fxstore reads up to {FORMAT}: {UPGRADE}")


def check(name: str, value: object) -> None:
    """Raises where a field of a run is of another kind than it must be.

    Raises:
        ValueError: It is.
    """
    if not _GOOD[name](value):
        raise ValueError(f"its {name} cannot be {value!r:.60}")


def checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fields of a run as :class:`CommittedRun` takes them.

    Raises:
        ValueError: One is of another kind than it must be.
    """
    for name, value in fields.items():
        check(name, value)
    if "run_key" in fields and f"{fields['run_key']:08x}" != fields["run_id"]:
        raise ValueError("its run_id is not its run_key")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _text(value: object) -> bool:
    return isinstance(value, str)


def _maybe_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) and isinstance(value[key], str) for key in value)


def _time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(_TIME.fullmatch(value) and datetime.datetime.fromisoformat(value))
    except ValueError:
        return False


def _number(limit: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and 0 <= value <= limit


def _hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _stage(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() >= set(STAGE_FIELDS)
        and all(map(_text, (value["stage"], value["kind"], value["status"])))
        and _maybe_text(value["note"])
        and _number(_MOST_STAGES)(value["stage_index"])
    )


def _list_of(good: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(good, value))


_GOOD: Final[dict[str, Callable[[object], bool]]] = {
    "run_id": _text,
    "run_key": _number((1 << tables.RUN_KEY_BITS) - 1),
    "name": _text,
    "model": _maybe_text,
    "created_at": _time,
    "status": _text,
    "tags": _texts,
    "content": lambda value: value == "" or _hash(value),
    "versions": _texts,
    "structure_hash": _hash,
    "stages": _list_of(_stage),
    "graph_hashes": _list_of(_hash),
    "nodes": _number(1 << tables.ORDINAL_BITS),
    "digests": lambda value: isinstance(value, bool),
}


# Tags that a run gets after it was committed, such as CI's verdict on it.
#
# A committed run never changes, so each such tag is an empty file beside the runs, and its name says all: run, key and
# value. To tag is to create one; readers see it when they list the runs.


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
