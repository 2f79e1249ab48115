"""How what stands in a store is read that others may have put there: plain files only, and texts of a sane size."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from typing import Any, Final

# JSON texts that end with a digest of themselves, so that a flipped bit in a name is noticed like one in a bracket.


_SEAL: Final = re.compile(r',\s*"sha256": "([0-9a-f]{64})"\s*\}\s*\Z')
_LONGEST: Final = 100


def sealed(text: str) -> str:
    """Returns the text of a JSON object with one more member, ``sha256``: the digest of what stands before it."""
    said = text.rstrip()[:-1].rstrip()
    return f'{said}, "sha256": "{_digest(said)}"}}'


def checked(text: str) -> str:
    """Returns the text; one that has no digest is taken as it is.

    Raises:
        ValueError: The text is not the one that was sealed.
    """
    end = max(0, len(text) - _LONGEST)
    seal = _SEAL.search(text, end)
    if seal and _digest(text[: seal.start()]) != seal[1]:
        raise ValueError("its text is not the one that was written")
    return text


def _digest(said: str) -> str:
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


MOST_BYTES: Final = 1 << 28
"""Bytes of the largest text of a store: a manifest of a million runs is smaller."""
# What a process lacks that has too much open, or no memory left.
_OF_THE_PROCESS: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EINTR, errno.EAGAIN, errno.ETIMEDOUT}
)
# Opening a pipe would wait for who writes to it.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """Opens a plain file; of a pipe or a device nobody knows when it ends.

    Raises:
        OSError: It is none, or cannot be read.
    """
    handle = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no plain file", os.fspath(path))
    return os.fdopen(handle, "rb")


def text(path: str | os.PathLike[str]) -> str:
    """Returns a file's text.

    Raises:
        OSError: It is no plain file, too large for a text of a store, or cannot be read.
        ValueError: It is no UTF-8.
    """
    return content(path).decode("utf-8")


def content(path: str | os.PathLike[str]) -> bytes:
    """Returns what a file that holds a text has.

    Raises:
        OSError: It is no plain file, too large for a text of a store, or cannot be read.
    """
    with opened(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, "it is far larger than such a file can be", os.fspath(path))
        return file.read()


def parsed(said: str) -> Any:
    """Returns what a JSON text says whose digest, where it has one, is right.

    Raises:
        ValueError: It is no JSON, nested beyond all measure, or not the text that was written.
    """
    try:
        return json.loads(checked(said))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def blames_the_file(error: BaseException) -> bool:
    """Tells whether a failed read says something about the file, and not about the process that reads it."""
    return not isinstance(error, MemoryError) and getattr(error, "errno", None) not in _OF_THE_PROCESS


def odd(paths: Iterable[str | os.PathLike[str]]) -> bool:
    """Tells whether some of these paths cannot be opened as files: what is there is a pipe, a device, a directory."""
    for path in paths:
        with suppress(OSError):
            if not stat.S_ISREG(os.stat(path).st_mode):
                return True
    return False
