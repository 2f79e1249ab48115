"""Writes small ETDumps, so that what no runtime here produces can be tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

Field = tuple[str, int, Any]
"""Builder method (``Int32``, ``UOffsetTRelative``, …), field number, value."""
flatbuffers = pytest.importorskip("flatbuffers", reason="ETDumps are written with flatbuffers")

Row = Callable[[flatbuffers.Builder], int]


def profile(
    name: str | None,
    instruction: int,
    start: int,
    end: int,
    *,
    chain: int = 0,
    delegate_id: str | int | None = None,
) -> Row:
    """A timed event."""

    def write(b: flatbuffers.Builder) -> int:
        texts = _texts(b, [(0, name), (4, delegate_id if isinstance(delegate_id, str) else None)])
        number = [("Int32", 3, delegate_id)] if isinstance(delegate_id, int) else []
        fields = [("Int32", 1, chain), ("Int32", 2, instruction), ("Uint64", 6, start), ("Uint64", 7, end)]
        event = _table(b, 8, [*texts, *number, *fields])
        return _table(b, 3, [("UOffsetTRelative", 0, event)])

    return write


def tensor(scalar: int, sizes: Sequence[int], offset: int, strides: Sequence[int] | None = None) -> Row:
    """A logged tensor."""
    strides = _dense(sizes) if strides is None else strides

    def write(b: flatbuffers.Builder) -> int:
        vectors = [("UOffsetTRelative", field, _longs(b, v)) for field, v in ((1, sizes), (2, strides))]
        return _table(b, 4, [("Int8", 0, scalar), *vectors, ("Int64", 3, offset)])

    return write


def value(instruction: int, *tensors: Row, output: bool = False, delegate_id: str | int | None = None) -> Row:
    """A logged value: one tensor, a list of several, or a number."""

    def write(b: flatbuffers.Builder) -> int:
        fields: list[Field] = []
        if len(tensors) == 1:
            fields = [("Int8", 0, 5), ("UOffsetTRelative", 1, tensors[0](b))]
        elif tensors:
            items = _offsets(b, [t(b) for t in tensors])
            fields = [("Int8", 0, 6), ("UOffsetTRelative", 2, _table(b, 1, [("UOffsetTRelative", 0, items)]))]
        if output:
            fields.append(("UOffsetTRelative", 7, _table(b, 1, [("Bool", 0, True)])))
        entry = _table(b, 8, fields)
        inner: list[Field] = [("Int32", 3, delegate_id)] if isinstance(delegate_id, int) else []
        inner += _texts(b, [(4, delegate_id if isinstance(delegate_id, str) else None)])
        event = _table(b, 6, [("Int32", 1, instruction), ("UOffsetTRelative", 2, entry), *inner])
        return _table(b, 3, [("UOffsetTRelative", 2, event)])

    return write


def dump(*blocks: Sequence[Row], size_prefixed: bool = True) -> bytes:
    """A whole file of executions."""
    b = flatbuffers.Builder(1024)
    rows = []
    for events in blocks:
        items = _offsets(b, [event(b) for event in events])
        name = b.CreateString("Execute")
        rows.append(_table(b, 4, [("UOffsetTRelative", 0, name), ("UOffsetTRelative", 3, items)]))
    root = _table(b, 2, [("UOffsetTRelative", 1, _offsets(b, rows))])
    (b.FinishSizePrefixed if size_prefixed else b.Finish)(root, b"ED00")
    return bytes(b.Output())


def _table(b: flatbuffers.Builder, size: int, fields: Sequence[Field]) -> int:
    b.StartObject(size)
    for kind, number, content in fields:
        getattr(b, f"Prepend{kind}Slot")(number, content, 1 << 30 if kind == "Int32" else 0)
    return int(b.EndObject())


def _texts(b: flatbuffers.Builder, texts: Sequence[tuple[int, str | None]]) -> list[Field]:
    return [("UOffsetTRelative", field, b.CreateString(text)) for field, text in texts if text is not None]


def _offsets(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _longs(b: flatbuffers.Builder, numbers: Sequence[int]) -> int:
    b.StartVector(8, len(numbers), 8)
    for number in reversed(numbers):
        b.PrependInt64(number)
    return int(b.EndVector())


def _dense(sizes: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return strides[::-1]
