"""Reads JSON out of ZIP archives from strangers: refuses what could escape, explode or mislead, and writes nothing."""

from __future__ import annotations

import json
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, TypeVar, cast

from fxstore.errors import SourceError

V = TypeVar("V")

MAX_ENTRIES = 10_000
MAX_DIRECTORY_BYTES = 4 << 20
MAX_JSON_BYTES = 128 << 20
"""Of all entries that are read from one archive, unpacked."""
MAX_PARSED_BYTES = 400 << 20
MAX_RATIO = 200
"""Graphs as JSON deflate to a thirtieth; deflate itself stops at a thousandth."""
_CHUNK = 1 << 20
_LIMIT = MAX_DIRECTORY_BYTES + 1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


class Archive:
    """An open archive whose directory has been checked.

    Args:
        path: File to read.
        what: What the file should be, for messages.
        hint: What to do when it is not, for messages.

    Raises:
        SourceError: The file is missing, no regular file, no ZIP archive, or its directory is refused: encrypted or
            duplicate entries, names that leave the archive, unknown compression, more than it can hold.
    """

    def __init__(self, path: str | os.PathLike[str], what: str, hint: str) -> None:
        self.path = Path(path)
        self.what = what
        self.hint = hint
        self._read = 0
        size = self._size()
        self._file = self._open()
        try:
            self._zip = zipfile.ZipFile(cast("IO[bytes]", _Bounded(self._file)))
            self._entries = self._check(size)
        except SourceError:
            self._file.close()
            raise
        except _BROKEN as error:
            self._file.close()
            raise self.error(f"not {what}, or cut off: {_cause(error)}") from error

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries, folders left out, in the archive's order."""
        return tuple(self._entries)

    def error(self, cause: str, entry: str | None = None) -> SourceError:
        """Returns the error that names the file, the entry and the cause."""
        place = f"{self.path}: " if entry is None else f"{self.path}: entry {entry!r}: "
        return SourceError(place + cause, hint=self.hint)

    def json(self, name: str) -> object:
        """Returns an entry, parsed as UTF-8 JSON.

        Raises:
            SourceError: The entry is missing, broken, too large, or no JSON.
        """
        if name not in self._entries:
            raise self.error("is missing", name)
        try:
            data = self._bytes(self._entries[name])
            if _parsed_bytes(data) > MAX_PARSED_BYTES:
                raise self.error("would take more memory than a graph may", name)
            return json.loads(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self.error(f"is not UTF-8 at byte {error.start}", name) from error
        except RecursionError as error:
            raise self.error("is nested too deeply", name) from error
        except json.JSONDecodeError as error:
            raise self.error(f"is not JSON: {error}", name) from error
        except _BROKEN as error:
            raise self.error(f"cannot be read: {_cause(error)}", name) from error

    def converted(self, name: str, convert: Callable[[object], V]) -> V:
        """Returns what a function makes of an entry's JSON.

        Raises:
            SourceError: As :meth:`json`, or the document is not what the function expects.
        """
        document = self.json(name)
        try:
            return convert(document)
        except RecursionError as error:
            raise self.error("is nested too deeply", name) from error
        except (ValueError, OverflowError) as error:
            raise self.error(" ".join(str(error).split())[:300], name) from error

    def _size(self) -> int:
        try:
            status = self.path.stat()
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.path}: cannot be opened: {_cause(error)}", hint="check the path") from error
        if stat.S_ISDIR(status.st_mode):
            raise SourceError(f"{self.path}: is a folder", hint=f"name a file in it: {self.what}")
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(f"{self.path}: is not a regular file", hint=f"name a file: {self.what}")
        if not status.st_size:
            raise self.error("is empty")
        return status.st_size

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be opened: {_cause(error)}", hint="check its rights") from error

    def _check(self, size: int) -> dict[str, zipfile.ZipInfo]:
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise self.error(f"has {len(entries)} entries, more than {MAX_ENTRIES}")
        for name, count in Counter(info.filename for info in entries).items():
            if count > 1:
                raise self.error(f"stands in the archive {count} times", name)
        for info in entries:
            if cause := _refusal(info):
                raise self.error(cause, info.orig_filename)
        if sum(info.compress_size for info in entries) > size:
            raise self.error("has entries that overlap or end after the file does")
        return {info.filename: info for info in entries if not info.is_dir()}

    def _bytes(self, info: zipfile.ZipInfo) -> bytes:
        if info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise self.error(f"unpacks to more than {MAX_RATIO} times its size", info.filename)
        self._read += info.file_size
        if self._read > MAX_JSON_BYTES:
            raise self.error(f"and those before it unpack to more than {MAX_JSON_BYTES >> 20} MiB", info.filename)
        data = bytearray()
        with self._zip.open(info) as stream:
            while chunk := stream.read(_CHUNK):
                data += chunk
        if len(data) != info.file_size:
            raise self.error("is cut off", info.filename)
        return bytes(data)


class _Bounded:
    """A file that refuses to be read in pieces larger than an archive's directory may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, _LIMIT) if size >= 0 else _LIMIT)
        if len(data) >= _LIMIT:
            raise ValueError(f"its directory is larger than {MAX_DIRECTORY_BYTES >> 20} MiB")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()


def _refusal(info: zipfile.ZipInfo) -> str | None:
    name = info.orig_filename
    parts = name.replace("\\", "/").split("/")
    if "\0" in name or "\\" in name or parts[0] == "" or ".." in parts or ":" in parts[0]:
        return "has a name that leaves the archive"
    if info.flag_bits & 0x1:
        return "is encrypted"
    if info.compress_type not in _METHODS:
        return f"is compressed by method {info.compress_type}, which no record uses"
    return None


def _parsed_bytes(data: bytes) -> int:
    """Returns about what a document takes once parsed: small values by the comma, containers, its text."""
    text = len(data) * (1 if data.isascii() else 4)
    return text + 90 * data.count(b",") + 64 * data.count(b"[") + 200 * data.count(b"{")


def _cause(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__
