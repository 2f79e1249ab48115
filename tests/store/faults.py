"""Fails, or kills, at the n-th file operation of a block."""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OF_PATHS = ("mkdir", "rename", "replace", "open", "listdir", "scandir", "stat", "lstat", "unlink", "rmdir", "utime")


class Faults:
    """Counts the operations on files below a directory, and fails the n-th.

    Attributes:
        left: Operations until the failure; above 0 in the end where there were not so many.
        what: What failed.
    """

    def __init__(self, root: Path, at: int, kind: str) -> None:
        self.root = str(root)
        self.left = at
        self.kind = kind
        self.what = ""

    def strikes(self, what: str) -> bool:
        self.left -= 1
        if self.left == 0:
            self.what = what
        return self.left == 0

    def strike(self) -> None:
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = errno.EIO if self.kind == "io" else errno.ENOSPC
        raise OSError(number, os.strerror(number), self.what)

    def is_ours(self, path: object, named: dict[str, Any]) -> bool:
        return isinstance(path, int) or "dir_fd" in named or str(path).startswith(self.root)

    def wrapped(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if self.is_ours(path, named) and self.strikes(f"{name} {path}"):
                self.strike()
            return None if name == "fsync" else inner(path, *arguments, **named)

        return call

    def opened(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if not self.is_ours(path, named):
                return inner(path, *arguments, **named)
            if self.strikes(f"open {path}"):
                self.strike()
            return File(inner(path, *arguments, **named), self)

        return call


class File:
    """A file whose writes may fail when half is written."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self._faults = faults

    def write(self, content: Any) -> Any:
        if self._faults.strikes(f"write {self._file.name}"):
            self._file.write(content[: len(content) // 2])
            if self._faults.kind == "short" and isinstance(self._file, io.FileIO):
                return len(content) // 2
            self._file.flush()
            self._faults.strike()
        return self._file.write(content)

    def __enter__(self) -> File:
        self._file.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def faults(root: Path, at: int, kind: str) -> Iterator[Faults]:
    """Fails the n-th operation on files below ``root``.

    Args:
        kind: ``io`` (EIO), ``full`` (ENOSPC, a write is half done), ``short`` (the same, but a raw write only says that
            it wrote less), ``kill`` (this process).
    """
    found = Faults(root, at, kind)
    real: list[tuple[Any, str, Any]] = [(os, name, getattr(os, name)) for name in (*OF_PATHS, "fsync")]
    opener = builtins.open
    try:
        for owner, name, inner in real:
            setattr(owner, name, found.wrapped(name, inner))
        builtins.open = io.open = found.opened(opener)
        yield found
    finally:
        builtins.open = io.open = opener
        for owner, name, inner in real:
            setattr(owner, name, inner)
