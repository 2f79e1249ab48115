"""Reads an ETDump and its debug buffer: what ran, how long it took, and the tensors that were logged.

The file is a FlatBuffer of ``executorch/devtools/etdump/etdump_schema_flatcc.fbs``. It is walked directly, since
``executorch.devtools`` takes ten seconds to import and starts a compiler for each file; no package is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fxstore.errors import SourceError
from fxstore.ingest.adapters import Ingested
from fxstore.ingest.flatbuffer import BROKEN, Buffer, Table

Array = npt.NDArray[Any]

MISSING_BUFFER: Final = "no tensor data (debug buffer missing)"
_SHORT_BUFFER: Final = "no tensor data (debug buffer too short)"
_MOST_REPEATS: Final = 16
_OVERLAP: Final = "no tensor data (its place in the debug buffer is another value's)"
_NOT_LOGGED: Final = "no tensor data (not logged)"
NOT_A_TENSOR: Final = "not a tensor"

_IDENTIFIER = b"ED00"
_BFLOAT16 = 15
# executorch/runtime/core/portable_type/scalar_type.h; bfloat16 is widened to float32 when it is read
_DTYPES: Final = MappingProxyType(
    {
        0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 5: "f2", 6: "f4", 7: "f8", 11: "?", 12: "i1", 13: "u1", 14: "i4",
        _BFLOAT16: "u2", 22: "u2", 27: "u2", 28: "u4", 29: "u8",
    }
)  # fmt: skip
_KINDS: Final = MappingProxyType(
    {
        "OPERATOR_CALL": "operator",
        "DELEGATE_CALL": "delegate_call",
        "JF_CALL": "control",
        "MOVE_CALL": "control",
        "FREE_CALL": "control",
        "Method::init": "framework",
        "Method::execute": "framework",
        "Program::load_method": "framework",
    }
)


@dataclass(frozen=True)
class Logged:
    """One logged value: its tensor, or the reason why there is none."""

    array: Array | None
    reason: str | None = None


@dataclass(frozen=True)
class Event:
    """One event, in the order in which the runtime wrote it.

    Attributes:
        kind: ``kernel`` (a kernel's own time), ``operator`` (the same work again, with its dispatch),
            ``delegate_call``, ``delegate_inner`` (inside a delegate), ``control`` (jumps and moves), ``framework``
            (loading, a whole execution), ``value`` (logged values of an instruction), ``output`` (logged outputs of the
            method) or ``other``.
        name: The kernel's or the runtime's name; never a node's. For ``delegate_inner`` the backend's.
        instruction: Index in the method's instructions; None for framework events, which only carry a 0.
        delegate_id: The backend's own identifier, or None.
        start_ns: By the runtime's clock; None for values.
        duration_ns: None for values.
        values: What was logged; empty for timed events.
    """

    kind: str
    name: str | None
    instruction: int | None
    delegate_id: str | int | None = None
    start_ns: int | None = None
    duration_ns: int | None = None
    values: tuple[Logged, ...] = ()


@dataclass(frozen=True)
class Block:
    """The events of one load or of one execution; the file does not say of which method.

    Attributes:
        is_execution: Whether it ran anything; else it only loaded.
    """

    name: str
    events: tuple[Event, ...]
    is_execution: bool


@dataclass(frozen=True)
class Dump:
    """A whole ETDump.

    Attributes:
        used_bytes: How much of the debug buffer is used: its end is slack.
    """

    blocks: tuple[Block, ...]
    used_bytes: int

    @property
    def executions(self) -> tuple[Block, ...]:
        """The executions, in order."""
        return tuple(block for block in self.blocks if block.is_execution)

    @property
    def has_values(self) -> bool:
        """Whether any tensor was logged and is in the debug buffer."""
        return any(
            logged.array is not None for block in self.blocks for event in block.events for logged in event.values
        )


def read_etdump(etdump: bytes, debug_buffer: bytes | memoryview | None = None) -> Dump:
    """Returns the events of an ETDump, with views into the debug buffer as their tensors.

    Args:
        etdump: Content of the ``.etdp`` file.
        debug_buffer: Content of the debug buffer; without it no event has a tensor, never zeros.

    Raises:
        SourceError: If the bytes are no ETDump.
    """
    reader = _Reader(debug_buffer)
    try:
        root = _root(etdump)
        blocks = tuple(reader.block(run) for run in root.tables(1))
    except BROKEN as error:
        raise SourceError("broken ETDump", hint="write it again with write_etdump_result_to_file") from error
    return Dump(blocks, reader.used_bytes)


def _root(data: bytes) -> Table:
    for prefix in (4, 0):  # with a size before it, as the runtime writes it, or without
        if data[prefix + 4 : prefix + 8] == _IDENTIFIER:
            return Buffer(data).root(prefix)
    raise SourceError("not an ETDump", hint="pass the file that write_etdump_result_to_file wrote first (.etdp)")


class _Reader:
    def __init__(self, debug_buffer: bytes | memoryview | None) -> None:
        self.buffer = debug_buffer
        self.used_bytes = 0
        self._read_bytes = 0

    def block(self, run: Table) -> Block:
        events = tuple(self._events(run.tables(3)))
        ran = any(e.name == "Method::execute" or e.kind in ("kernel", "operator", "delegate_call") for e in events)
        return Block(run.text(0) or "", events, ran)

    def _events(self, rows: Iterator[Table]) -> Iterator[Event]:
        for row in rows:
            if (profile := row.table(0)) is not None:
                yield _profile_event(profile)
            elif (debug := row.table(2)) is not None:
                yield self._debug_event(debug)

    def _debug_event(self, row: Table) -> Event:
        entry = row.table(2)
        is_output = entry is not None and (flag := entry.table(7)) is not None and bool(flag.number(0, "b"))
        return Event(
            kind="output" if is_output else "value",
            name=row.text(5),
            instruction=None if is_output else row.number(1, "i", -1),
            delegate_id=_delegate_id(row, 3),
            values=tuple(self._logged(entry)) if entry is not None else (),
        )

    def _logged(self, entry: Table) -> Iterator[Logged]:
        tensor, several = entry.table(1), entry.table(2)
        if tensor is not None:
            yield self._tensor(tensor)
        elif several is not None:
            yield from (self._tensor(item) for item in several.tables(0))
        else:
            yield Logged(None, NOT_A_TENSOR)

    def _tensor(self, row: Table) -> Logged:
        scalar, sizes, strides, offset = (
            row.number(0, "b"),
            row.numbers(1, "q"),
            row.numbers(2, "q"),
            row.number(3, "q"),
        )
        if scalar not in _DTYPES:
            return Logged(None, f"scalar type {scalar} is not read")
        dtype = np.dtype(_DTYPES[scalar])
        if offset < 0 or min(sizes, default=0) < 0:
            return Logged(None, _NOT_LOGGED)
        count = math.prod(sizes)
        self.used_bytes = max(self.used_bytes, offset + count * dtype.itemsize)
        if self.buffer is None:
            return Logged(None, MISSING_BUFFER)
        if offset + count * dtype.itemsize > len(self.buffer):
            return Logged(None, _SHORT_BUFFER)
        self._read_bytes += count * dtype.itemsize
        if self._read_bytes > _MOST_REPEATS * len(self.buffer):  # the runtime gives each value a place of its own
            return Logged(None, _OVERLAP)
        flat = np.frombuffer(self.buffer, dtype, count, offset)
        if scalar == _BFLOAT16:
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        return _shaped(flat, sizes, strides)


def _shaped(flat: Array, sizes: Sequence[int], strides: Sequence[int]) -> Logged:
    """Returns the tensor; its memory is dense, but its axes may be in any order."""
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))
    if not flat.size or len(strides) != len(sizes):
        return Logged(flat.reshape(sizes))
    if min(strides, default=0) < 0 or reach >= flat.size:
        return Logged(None, "strides do not fit the sizes")
    item = flat.itemsize
    return Logged(np.lib.stride_tricks.as_strided(flat, sizes, [s * item for s in strides], writeable=False))


def _profile_event(row: Table) -> Event:
    name, delegate_id = row.text(0), _delegate_id(row, 3)
    kind = kind_of(name, delegate_id, row.number(1, "i"))
    start, end = row.number(6, "Q"), row.number(7, "Q")
    return Event(
        kind=kind,
        name=name if name is not None else None if delegate_id is None else str(delegate_id),
        instruction=None if kind == "framework" else row.number(2, "i", -1),
        delegate_id=delegate_id,
        start_ns=start,
        duration_ns=max(end - start, 0),
    )


def kind_of(name: str | None, delegate_id: str | int | None, chain: int) -> str:
    """Returns the kind of a timed event, as :class:`Event` has it; a negative chain is no instruction's."""
    if (kind := _KINDS.get(name or "")) is not None:
        return kind
    if delegate_id is not None:
        return "delegate_inner"
    if name is not None and name.startswith("native_call_"):
        return "kernel"
    return "framework" if chain < 0 else "other"


def _delegate_id(row: Table, field: int) -> str | int | None:
    text, number = row.text(field + 1), row.number(field, "i", -1)
    return text or (number if number >= 0 else None)


# Adapters for what a run leaves: an ETDump file, or a live Inspector. Numbers alone, laid on the stages of a run.


_MOST_BYTES: Final = 1 << 27


class EtDumpFileAdapter:
    """An ETDump (``.etdp``), with its debug buffer where that is given."""

    options = frozenset({"debug_buffer", "stage"})

    endings = (".etdp", ".etdump")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.etdp`` or ``.etdump``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path, debug_buffer: str | Path | bytes | None = None, stage: str | None = None) -> Ingested:
        """Reads the dump; nothing is run.

        Args:
            debug_buffer: The debug buffer's content, or the path of its file.
            stage: The program that ran; default: that whose operators the events name.
        """
        # MERGED
        from fxstore.ingest.executorch.events import EventLayer

        data = _content(source)
        buffer = debug_buffer if isinstance(debug_buffer, bytes | None) else _mapped(Path(debug_buffer))
        try:
            return Ingested(
                overlays=(EventLayer(read_etdump(data, buffer), stages=None if stage is None else [stage]),)
            )
        except SourceError as error:
            raise SourceError(f"{source}: {error}", hint=error.hint) from error


class InspectorAdapter:
    """A live ``executorch.devtools.Inspector``: its events, and the stages of its ETRecord where it has one."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is an Inspector."""
        home = "executorch.devtools.inspector._inspector"
        return any(cls.__module__ == home and cls.__qualname__ == "Inspector" for cls in type(source).__mro__)

    def read(self, source: Any) -> Ingested:
        """Takes a snapshot of its events."""
        from fxstore.ingest.executorch.events import EventLayer
        from fxstore.ingest.executorch.inspector import dump_of
        from fxstore.ingest.export.live import EtRecordAdapter

        record = source._etrecord
        found = Ingested() if record is None else EtRecordAdapter().read(record)
        return found.with_overlays([EventLayer(dump_of(source), "Inspector")])


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SourceError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB", hint="trace fewer runs")
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error


def _mapped(path: Path) -> memoryview:
    """Returns a debug buffer without reading it: it may be larger than the memory, and little of it be used."""
    import mmap

    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    except ValueError:  # an empty file
        return memoryview(b"")
