"""The payload's container: a JSON header and typed columns, in one byte string."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MAGIC: Final = b"FXPG"
_ALIGN: Final = 8
_INTS: Final = (("i1", np.int8), ("i2", np.int16), ("i4", np.int32))
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:[/\\]|file:")
_PACKAGES: Final = re.compile(r".*[/\\](?:site|dist)-packages[/\\]", re.DOTALL)
_HOME: Final = re.compile(r"(?:file:/*|[A-Za-z]:)?[/\\]?(?:(?:home|Users)[/\\][^/\\]+|root)[/\\]")
_PARTS: Final = 3
_PATHS = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?(?:(?:/|\\{1,2})[\w.+@~-]+){2,}")
"""Absolute paths inside a text, JSON text included, where each backslash stands twice."""


class Strings:
    """Each distinct text once, numbered by first use; NULL is -1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str | None) -> int:
        """Returns the number of that text."""
        return -1 if text is None else self._numbers.setdefault(text, len(self._numbers))

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Returns the number of each text."""
        return [self.number(text) for text in texts]

    def all(self) -> list[str]:
        """Returns the texts in the order of their numbers."""
        return list(self._numbers)


def short_path(path: str) -> str:
    """Returns an absolute path from its package on, else its last three parts; a relative one as it is.

    Neither a home directory nor a topmost one is among the parts.
    """
    if not _ABSOLUTE.match(path):
        return path
    installed = _PACKAGES.match(path)
    rest = path[installed.end() :] if installed else _HOME.sub("", path)
    parts = [part for part in re.split(r"[/\\]", rest) if part]
    if installed:
        return "/".join(parts)
    return "/".join((parts[1:] or parts if rest == path else parts)[-_PARTS:])


def short_paths(text: str) -> str:
    """Returns a text with every absolute path in it as :func:`short_path` has it."""
    return _PATHS.sub(lambda found: short_path(found[0].replace("\\\\", "\\")), text)


class Columns:
    """Typed columns, each stored in the narrowest type that holds it, little-endian, aligned to eight bytes."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._parts: list[bytes] = []

    def ints(self, name: str, values: Sequence[int] | npt.NDArray[Any], *, delta: bool = False) -> None:
        """Adds integers of at most 32 bits; with ``delta`` each one is stored as the difference to the one before."""
        wide = np.asarray(values, dtype=np.int64)
        stored = np.diff(wide, prepend=0) if delta else wide
        low, high = (int(stored.min()), int(stored.max())) if stored.size else (0, 0)
        for code, kind in _INTS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                self._add(name, code, stored.astype(f"<{code}"), delta)
                return
        raise ValueError(f"column {name!r} does not fit into 32 bits")

    def floats(self, name: str, values: Sequence[float] | npt.NDArray[Any], *, delta: bool = False) -> None:
        """Adds doubles; with ``delta`` as differences, which is exact for integers below 2^53."""
        wide = np.asarray(values, dtype="<f8")
        self._add(name, "f8", np.diff(wide, prepend=0.0) if delta else wide, delta)

    def _add(self, name: str, code: str, stored: npt.NDArray[Any], delta: bool) -> None:
        self._entries.append({"name": name, "type": code, "length": int(stored.size), "delta": delta})
        self._parts.append(_padded(stored.tobytes()))

    def pack(self, header: dict[str, Any]) -> bytes:
        """Returns magic, header length, header and columns; the header gains the entry ``columns``."""
        text = json.dumps(
            {**header, "columns": self._entries}, ensure_ascii=True, allow_nan=False, separators=(",", ":")
        )
        head = text.encode("ascii")
        return b"".join([_padded(MAGIC + struct.pack("<I", len(head)) + head), *self._parts])


def _padded(block: bytes) -> bytes:
    return block + b"\0" * (-len(block) % _ALIGN)
