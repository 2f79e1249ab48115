"""Walks FlatBuffers from strangers, field by field, with struct alone: nothing is imported, and nothing executed.

The binary format: https://flatbuffers.dev/internals. A file whose offsets lead out of it, or that refers to its parts
so often that it would unfold into more than it is, is broken.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

BROKEN = (struct.error, IndexError, ValueError, TypeError, OverflowError, RecursionError, MemoryError)
"""What reading a broken buffer raises."""

_SIZES = {code: struct.calcsize("<" + code) for code in "bBhHiIqQfd?"}
_ROOMS = {code: struct.Struct("<" + code) for code in _SIZES}
_UNFOLD = 4
"""How many times its own size a buffer may be read."""


class Buffer:
    """The bytes of one FlatBuffer, and how much of them may still be read."""

    __slots__ = ("data", "left")

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = data
        self.left = _UNFOLD * len(data) + 1024

    def root(self, start: int = 0) -> Table:
        """Returns the root table of the buffer that starts there."""
        return self.table(start + self.number(start, "I"))

    def table(self, position: int) -> Table:
        """Returns the table at a position."""
        self.spend(4)
        vtable = position - self.number(position, "i")
        size = self.number(vtable, "H")
        if size < 4 or vtable + size > len(self.data):
            raise ValueError("a table beyond the end")
        return Table(self, position, vtable, size)

    def number(self, position: int, code: str) -> Any:
        """Returns the number at a position, by its struct code."""
        if position < 0:
            raise ValueError("an offset before the beginning")
        return _ROOMS[code].unpack_from(self.data, position)[0]

    def spend(self, size: int) -> None:
        """Counts bytes as read."""
        self.left -= size
        if self.left < 0:
            raise ValueError("refers to its parts too often")


class Table:
    """One table, by field number in the order of its schema; a union takes two."""

    __slots__ = ("_buffer", "_position", "_size", "_vtable")

    def __init__(self, buffer: Buffer, position: int, vtable: int, size: int) -> None:
        self._buffer = buffer
        self._position = position
        self._vtable = vtable
        self._size = size

    def number(self, field: int, code: str, default: Any = 0) -> Any:
        """Returns a number, or the default where it is not written."""
        position = self._field(field)
        return self._buffer.number(position, code) if position else default

    def text(self, field: int) -> str | None:
        """Returns a text, or None where there is none; what is no UTF-8 is replaced."""
        position = self._field(field)
        if not position:
            return None
        start, count = self._vector(position, 1)
        return str(self._buffer.data[start : start + count], "utf-8", "replace")

    def table(self, field: int) -> Table | None:
        """Returns a table, or None where there is none."""
        position = self._field(field)
        return self._buffer.table(self._follow(position)) if position else None

    def union(self, field: int) -> tuple[int, Table | None]:
        """Returns which member a union holds, from 1, and that member; 0 for none."""
        return self.number(field, "B"), self.table(field + 1)

    def tables(self, field: int) -> Iterator[Table]:
        """Yields the tables of a list."""
        position = self._field(field)
        if not position:
            return
        start, count = self._vector(position, 4)
        for at in range(start, start + 4 * count, 4):
            yield self._buffer.table(self._follow(at))

    def numbers(self, field: int, code: str) -> tuple[Any, ...]:
        """Returns a list of numbers, by the struct code of one."""
        position = self._field(field)
        if not position:
            return ()
        start, count = self._vector(position, _SIZES[code])
        return struct.unpack_from(f"<{count}{code}", self._buffer.data, start)

    def bytes(self, field: int) -> memoryview:
        """Returns a list of bytes, as a view; empty where there is none."""
        position = self._field(field)
        if not position:
            return memoryview(b"")
        start, count = self._vector(position, 1)
        return memoryview(self._buffer.data)[start : start + count]

    def _field(self, field: int) -> int:
        """Returns the position of a field, or 0 where it is not written."""
        at = 4 + 2 * field
        if at + 2 > self._size:
            return 0
        offset = self._buffer.number(self._vtable + at, "H")
        return self._position + offset if offset else 0

    def _follow(self, position: int) -> int:
        return position + int(self._buffer.number(position, "I"))

    def _vector(self, position: int, item: int) -> tuple[int, int]:
        start = self._follow(position)
        count = self._buffer.number(start, "I")
        if start + 4 + item * count > len(self._buffer.data):
            raise ValueError("a list beyond the end")
        self._buffer.spend(item * count)
        return start + 4, count
