"""Typed access to parsed JSON that strangers wrote: the value of the declared type, or a line that says why not."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from fxstore.errors import SourceError

T = TypeVar("T", str, int, float, bool, list[object], dict[str, object])

_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
}  # fmt: skip
INT64 = range(-(2**63), 2**63)


class Malformed(ValueError):
    """A document that does not follow its schema; the message says where and how."""


def typed(value: object, kind: type[T], what: str) -> T:
    """Returns ``value`` if it is exactly of that JSON type; whole numbers must fit 64 bits.

    Raises:
        Malformed: It is not.
    """
    if type(value) is kind and (kind is not int or value in INT64):
        return value
    if kind is float and type(value) is int and value in INT64:
        return float(value)  # type: ignore[return-value]
    raise Malformed(f"{what} should be {_WORDS[kind]}, not {_brief(value)}")


def member(owner: object, key: str, kind: type[T]) -> T:
    """Returns a member that must be there, of that type."""
    try:
        value = owner[key]  # type: ignore[index]
    except KeyError:
        raise Malformed(f"{key!r} is missing") from None
    except TypeError:
        raise Malformed(f"what holds {key!r} should be an object, not {_brief(owner)}") from None
    return value if type(value) is kind and kind is not int else typed(value, kind, repr(key))


def optional(owner: dict[str, object], key: str, kind: type[T]) -> T | None:
    """Returns a member of that type, or None where it is missing or null."""
    value = owner.get(key)
    return None if value is None else typed(value, kind, key)


def union(value: object, what: str) -> tuple[str, object]:
    """Returns the one member that a tagged union holds: its tag and its content."""
    try:
        ((tag, content),) = value.items()  # type: ignore[attr-defined]
    except AttributeError:
        raise Malformed(f"{what} should be an object, not {_brief(value)}") from None
    except ValueError:
        raise Malformed(f"{what} should have one member") from None
    return tag, content


def each(values: Iterable[object], kind: type[T], what: str) -> Iterator[T]:
    """Yields the items of a list, each of that type."""
    return (typed(value, kind, what) for value in values)


def _brief(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, dict)):
        return _WORDS[type(value)]
    text = repr(value) if not isinstance(value, int) or value in INT64 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."


# Reads one JSON file from strangers: never more than its size promises, and nothing in it is executed.


MAX_BYTES: Final = 128 << 20
MAX_PARSED_BYTES: Final = 350 << 20
_HEAD: Final = 1 << 16
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""A pair, half of one, or any other escape."""


def head(path: Path) -> bytes:
    """Returns the first 64 KiB of a regular file; nothing where it cannot be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def read_json(path: Path, hint: str, parse: Callable[[str], object] = json.loads) -> object:
    """Returns a file's content, parsed as UTF-8 JSON.

    Args:
        path: A regular file.
        hint: What to do where it is none of those that are looked for.
        parse: Parses its text.

    Raises:
        SourceError: It cannot be read, is no JSON, is nested too deeply, or would take too much memory.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(f"{path}: is not a regular file", hint=hint)
        if status.st_size > MAX_BYTES:
            raise SourceError(f"{path}: is larger than {MAX_BYTES >> 20} MiB", hint=hint)
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}", hint=hint) from error
    if len(data) > MAX_BYTES or parsed_bytes(data) > MAX_PARSED_BYTES:
        raise SourceError(f"{path}: would take more memory than a graph may", hint=hint)
    try:
        return parse(_whole(data).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not UTF-8 at byte {error.start}", hint=hint) from None
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply", hint=hint) from None
    except ValueError as error:
        raise SourceError(f"{path}: is not JSON: {str(error)[:200]}", hint=hint) from None


def _whole(data: bytes) -> bytes:
    """Returns JSON in which half a character of UTF-16, which no file can hold, is the text of its escape."""
    if _SURROGATE.search(data) is None:
        return data
    return _ESCAPE.sub(lambda match: b"\\" + match[0] if match[1] else match[0], data)


def parsed_bytes(data: bytes) -> int:
    """Returns about what a document takes once parsed: small values by the comma, containers, its text."""
    text = len(data) * (2 if data.isascii() else 5)
    return text + 90 * data.count(b",") + 64 * data.count(b"[") + 200 * data.count(b"{")
