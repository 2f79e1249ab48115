"""Reads one JSON file from strangers: never more than its size promises, and nothing in it is executed."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fxstore.errors import SourceError

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
