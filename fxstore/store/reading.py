"""How what stands in a store is read that others may have put there: plain files only, and texts of a sane size."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from typing import Any, Final

from fxstore.store import sealing

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
        return json.loads(sealing.checked(said))
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
