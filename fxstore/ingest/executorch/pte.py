"""Reads ``.pte`` programs: plans, instructions, delegates and what is inside of them. Nothing is loaded or run.

The file is a FlatBuffer of ``executorch/schema/program.fbs``, with an extended header that says where its segments are.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fxstore.errors import SourceError
from fxstore.ingest.adapters import Ingested
from fxstore.ingest.build import GraphBuilder, Value
from fxstore.ingest.executorch.xnnpack import BACKEND, delegate_graph, finite, output_count
from fxstore.ingest.flatbuffer import BROKEN, Buffer, Table
from fxstore.ingest.names import op_type
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Graph, Stage

DTYPES: Final = MappingProxyType({
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32",
    15: "bfloat16", 16: "quint4x2", 17: "quint2x4", 22: "bits16", 23: "float8_e5m2", 24: "float8_e4m3fn",
    25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64",
})  # fmt: skip
"""By number in ``executorch/schema/scalar_type.fbs``."""
_ITEM_BITS: Final = MappingProxyType({
    0: 8, 1: 8, 2: 16, 3: 32, 4: 64, 5: 16, 6: 32, 7: 64, 8: 32, 9: 64, 10: 128, 11: 8, 12: 8, 13: 8, 14: 32, 15: 16,
    16: 4, 17: 2, 22: 16, 23: 8, 24: 8, 25: 8, 26: 8, 27: 16, 28: 32, 29: 64,
})  # fmt: skip
_HINT = "pass the file that ExecutorchProgramManager.save() wrote"
_MAX_INSTRUCTIONS = 1 << 18
_MAX_VALUES = 1 << 21
_DELEGATE = "executorch_call_delegate"
_NULL, _TENSOR, _TENSOR_LIST = 1, 5, 10
_LISTS: Final = MappingProxyType({7: "q", _TENSOR_LIST: "i", 11: "i"})
"""Members of ``KernelTypes`` whose items are numbers of values, with the code of a number."""


@dataclass(frozen=True)
class Size:
    """How many bytes something in a program takes; ``node`` None for what belongs to the method."""

    method: str
    path: str
    node: str | None
    metric: str
    count: int


@dataclass
class Program:
    """A program that was read.

    Attributes:
        graphs: For each method its graph, then those of its delegates that can be looked into.
        sizes: Of constants, delegates and planned memory.
        notes: What could not be looked into, and why.
        version: Of the schema.
    """

    graphs: list[Graph] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    version: int = 0


def read_pte(path: str | os.PathLike[str]) -> Program:
    """Returns the methods of a ``.pte`` file as graphs; a node per instruction, in order.

    Raises:
        SourceError: The file is no program, is broken, or has more in it than a run can hold.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            if not path.is_file() or os.fstat(file.fileno()).st_size < 16:
                raise SourceError(f"{path}: not a .pte program", hint=_HINT)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
                return _guarded(path, data)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error


def program_of(data: bytes | memoryview, name: str = "the program") -> Program:
    """Returns the methods of a program in memory; as :func:`read_pte`."""
    with memoryview(data) as view:
        return _guarded(Path(name), view)


def _guarded(path: Path, data: memoryview) -> Program:
    if bytes(data[4:6]) != b"ET" or not bytes(data[6:8]).isdigit():
        raise SourceError(f"{path}: not a .pte program", hint=_HINT)
    file = _File(data)
    try:
        return file.read()
    except BROKEN as error:
        cause = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: broken .pte program: {cause}", hint=_HINT) from error
    finally:
        file.close()


class _File:
    """The program's FlatBuffer and its segments."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._views: list[memoryview] = []
        self._size, self._base = len(data), 0
        if bytes(data[8:12]) == b"eh00" and len(data) >= 32:
            self._size, self._base = struct.unpack_from("<QQ", data, 16)
        self.program = Program()

    def read(self) -> Program:
        root = Buffer(self._view(0, min(self._size, len(self._data)))).root()
        self.program.version = root.number(0, "I")
        self._inline = [table.bytes(0) for table in root.tables(3)]
        self._views += self._inline
        self._segments = [(table.number(0, "Q"), table.number(1, "Q")) for table in root.tables(4)]
        for plan in root.tables(1):
            _Plan(self, plan).read()
        if not self.program.graphs:
            raise ValueError("it has no method")
        return self.program

    def payload(self, reference: Table | None) -> memoryview | None:
        """Returns a delegate's data, wherever it is; None where the file does not hold it."""
        if reference is None:
            return None
        location, index = reference.number(0, "b"), reference.number(1, "I")
        if location == 0:
            return self._inline[index] if index < len(self._inline) else None
        if index >= len(self._segments):
            return None
        offset, size = self._segments[index]
        return self._view(self._base + offset, size) if self._base + offset + size <= len(self._data) else None

    def close(self) -> None:
        for view in self._views:
            view.release()

    def _view(self, start: int, size: int) -> memoryview:
        view = self._data[start : start + size]
        self._views.append(view)
        return view


@dataclass(frozen=True)
class _Delegate:
    backend: str
    payload: memoryview | None


class _Plan:
    """One method while it becomes a graph."""

    def __init__(self, file: _File, plan: Table) -> None:
        self.file = file
        self.plan = plan
        self.method = plan.text(0) or "forward"
        self.builder = GraphBuilder(self.method)
        self.values = list(plan.tables(2))
        if len(self.values) > _MAX_VALUES:
            raise ValueError(f"more than {_MAX_VALUES} values")
        self.operators = [f"{op.text(0) or ''}.{op.text(1) or 'default'}" for op in plan.tables(6)]
        self.delegates = [_Delegate(d.text(0) or "unknown", file.payload(d.table(1))) for d in plan.tables(7)]
        self.producers: dict[int, tuple[int, int]] = {}
        self.moved: dict[int, list[tuple[int, int]]] = {}
        self.callers: dict[int, int] = {}
        self.names: Counter[str] = Counter()
        self.instructions = 0

    def read(self) -> None:
        for i, number in enumerate(self.plan.numbers(3, "i")):
            name = f"input_{i}"
            self.builder.signature[name] = f"input:{i}"
            self.producers[number] = (self._placeholder(name, "input", number), 0)
        for chain in self.plan.tables(5):
            for instruction in chain.tables(2):
                self._instruction(*instruction.union(0))
        output = self.builder.node("output", "output", "output", "output", kind="output")
        for i, number in enumerate(self.plan.numbers(4, "i")):
            for path, found in self._argument(f"0[{i}]", number) if number in self.producers else ():
                if isinstance(found, tuple):
                    self.builder.use(*found, output, path)
        self.file.program.graphs.append(self.builder.finish())
        self._size(None, "planned_memory_bytes", sum(self.plan.numbers(8, "q")))
        for index, position in self.callers.items():
            self._inside(index, position)

    def _instruction(self, tag: int, table: Table | None) -> None:
        self.instructions += 1
        if self.instructions > _MAX_INSTRUCTIONS:
            raise ValueError(f"more than {_MAX_INSTRUCTIONS} instructions")
        if table is None:
            raise ValueError("an instruction without arguments")
        if tag == 1:
            self._kernel(self.operators[table.number(0, "i")], table.numbers(1, "i"))
        elif tag == 2:
            self._delegate(table.number(0, "i"), table.numbers(1, "i"))
        elif tag == 3:
            self._move(table.number(0, "i"), table.number(1, "i"))
        elif tag == 4:
            self._call("jump_false", "executorch.jump_false", "jump_false", [(0, table.number(0, "i"))], [], {
                "destination_instruction": table.number(1, "i")
            })  # fmt: skip
        elif tag == 5:
            self._call("free", "executorch.free", "free", [(0, table.number(0, "i"))], [])
        else:
            self._call(f"instruction_{tag}", f"executorch.instruction_{tag}", "unknown", [], [])

    def _kernel(self, operator: str, args: Sequence[int]) -> None:
        """Adds a kernel's call; its last argument is what it returns, which its ``out`` arguments hold, too."""
        target = operator.replace("::", ".", 1)
        outputs = self._items(args[-1]) if args else []
        inputs = [(i, n) for i, n in enumerate(args[:-1]) if n not in outputs and self._items(n) != outputs]
        base = re.sub(r"\W+", "_", target.removesuffix(".out")).strip("_") or "kernel"
        self._call(base, target, op_type(target), inputs, outputs)

    def _delegate(self, index: int, args: Sequence[int]) -> None:
        delegate = self.delegates[index]
        count = sum(1 for _ in takewhile(self._is_room, reversed(args)))
        if delegate.backend == BACKEND and delegate.payload is not None:
            with suppress(*BROKEN):
                count = min(output_count(delegate.payload), len(args))
        first = len(args) - count
        position = self._call(
            _DELEGATE, _DELEGATE, _DELEGATE, list(enumerate(args[:first])), args[first:], backend=delegate.backend
        )
        self.callers.setdefault(index, position)
        if delegate.payload is not None:
            self._size(position, "payload_bytes", len(delegate.payload))

    def _move(self, source: int, target: int) -> None:
        """Adds a move: the last of each branch, whose values are read from one place whichever branch ran."""
        position = self._call("move", "executorch.move", "move", [(0, source)], [target])
        self.moved.setdefault(target, []).append((position, 0))

    def _call(
        self,
        base: str,
        target: str,
        kind: str,
        inputs: Sequence[tuple[int, int]],
        outputs: Sequence[int],
        constants: dict[str, object] | None = None,
        backend: str | None = None,
    ) -> int:
        attrs = dict(constants or {})
        taken: list[tuple[int, int, str]] = []
        for i, number in inputs:
            for path, found in self._argument(str(i), number):
                if isinstance(found, tuple):
                    taken.append((*found, path))
                else:
                    attrs[path] = found.json
        self.names[base] += 1
        name = base if self.names[base] == 1 else f"{base}_{self.names[base] - 1}"
        position = self.builder.node(
            name, "call_function", target, "delegate" if backend else "op", kind=kind,
            values=[self._value(number) for number in outputs] or [Value()], backend=backend,
            attrs={"args": attrs} if attrs else None,
        )  # fmt: skip
        for source, port, path in taken:
            self.builder.use(source, port, position, path)
        self.builder.handle(position, "instruction", [self.instructions - 1])
        self.producers.update({number: (position, port) for port, number in enumerate(outputs)})
        return position

    def _argument(self, path: str, number: int) -> Iterator[tuple[str, tuple[int, int] | _Constant]]:
        """Yields what an argument reads: other nodes' values, or constants; of a list with values, item by item."""
        tag, table = self.values[number].union(0) if number >= 0 else (_NULL, None)
        if number in self.producers:
            yield from ((path, one) for one in self.moved.get(number) or [self.producers[number]])
        elif tag == _TENSOR:
            self.producers[number] = (self._placeholder(f"constant_{number}", "constant", number), 0)
            yield path, self.producers[number]
        elif tag in _LISTS and table is not None:
            items = table.numbers(0, _LISTS[tag])
            found = [one for i, n in enumerate(items) for one in self._argument(f"{path}[{i}]", self._flat(n))]
            whole = [one.json for _, one in found if isinstance(one, _Constant)]
            yield from found if len(whole) < len(found) else [(path, _Constant(whole))]
        else:
            yield path, _Constant(_scalar(tag, table))

    def _flat(self, number: int) -> int:
        """Returns an item of a list, which must be no list itself."""
        if number >= 0 and self.values[number].number(0, "B") in _LISTS:
            raise ValueError("a list in a list")
        return number

    def _items(self, number: int) -> list[int]:
        """Returns the values that an argument stands for: those of a list of tensors, else itself."""
        tag, table = self.values[number].union(0) if number >= 0 else (_NULL, None)
        return list(table.numbers(0, "i")) if tag == _TENSOR_LIST and table is not None else [number]

    def _is_room(self, number: int) -> bool:
        """Tells whether an argument is memory that nothing has filled so far."""
        if number < 0 or number in self.producers:
            return False
        tag, table = self.values[number].union(0)
        return tag == _TENSOR and table is not None and not table.number(5, "I")

    def _placeholder(self, name: str, role: str, number: int) -> int:
        tag, table = self.values[number].union(0)
        attrs: dict[str, object] = {}
        extra = table.table(9) if tag == _TENSOR and table is not None else None
        if extra is not None and (fqn := extra.text(1)):
            attrs["fqn"] = fqn
            self.builder.signature[name] = f"state:{fqn}"
        position = self.builder.node(
            name, "placeholder", name, role, kind="placeholder", values=[self._value(number)], attrs=attrs
        )
        if role == "constant" and table is not None:
            self._size(position, "constant_bytes", _bytes(table))
        return position

    def _value(self, number: int) -> Value:
        tag, table = self.values[number].union(0)
        if tag != _TENSOR or table is None:
            return Value()
        return Value(DTYPES.get(table.number(0, "b"), "unknown"), tuple(map(str, table.numbers(2, "i"))), "cpu")

    def _size(self, position: int | None, metric: str, count: int) -> None:
        name = None if position is None else self.builder.name(position)
        self.file.program.sizes.append(Size(self.method, "", name, metric, count))

    def _inside(self, index: int, position: int) -> None:
        delegate, path = self.delegates[index], f"lowered_module_{index}"
        if delegate.payload is None:
            self.file.program.notes.append(f"{self.method}: the payload of {path} is not in the file")
        elif delegate.backend != BACKEND:
            self.file.program.notes.append(f"{self.method}: {path} of {delegate.backend} is not looked into")
        else:
            try:
                graph = delegate_graph(delegate.payload, self.method, path, ("", position))
            except BROKEN as error:
                cause = " ".join(str(error).split())[:200]
                self.file.program.notes.append(f"{self.method}: the payload of {path} is broken: {cause}")
            else:
                self.file.program.graphs.append(graph)


@dataclass(frozen=True)
class _Constant:
    json: object


def _scalar(tag: int, table: Table | None) -> object:
    """Returns a constant of ``KernelTypes`` as JSON has it."""
    if table is None or tag == _NULL:
        return None
    if tag == 2:
        return table.number(0, "q")
    if tag == 3:
        return bool(table.number(0, "b"))
    if tag == 4:
        return finite(table.number(0, "d", 0.0))
    if tag == 6:
        return table.text(0)
    if tag == 8:
        return [finite(number) for number in table.numbers(0, "d")]
    return [bool(number) for number in table.numbers(0, "b")] if tag == 9 else f"<value of kind {tag}>"


def _bytes(tensor: Table) -> int:
    items: int = math.prod(tensor.numbers(2, "i"))
    return items * _ITEM_BITS.get(tensor.number(0, "b"), 0) // 8


# The adapter for ``.pte`` files; needs neither torch nor executorch.


if TYPE_CHECKING:
    pass  # MERGED


class PteFileAdapter:
    """A ``.pte`` program: one stage with a graph per method, those of its XNNPACK delegates, and sizes."""

    endings = (".pte",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.pte``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the program's FlatBuffer; nothing is loaded or run."""
        # MERGED

        program = read_pte(source)
        stage = Stage("", tuple(program.graphs), "runtime", note="; ".join(program.notes) or None)
        return Ingested((stage,), (sizes(program),))


def sizes(program: Program) -> NodeOverlay:
    """Returns the sizes in a program as an overlay: of constants and payloads by node, of memory by method."""
    return NodeOverlay.of("size", "static", _sizes(program), source="the program", unit="bytes", better="lower")


def _sizes(program: Program) -> Iterator[dict[str, object]]:
    for size in program.sizes:
        text = size.method if size.node is None else None
        yield {
            "method": size.method, "path": size.path, "node": size.node, "metric": size.metric,
            "value": float(size.count), "text": text,
        }  # fmt: skip
