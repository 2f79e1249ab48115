"""Writes the values of an ETDump as files: one ``.npy`` for each, and an index that says what each is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from fxstore.errors import SourceError
from fxstore.ingest.executorch.etdump import MISSING_BUFFER, Array, Block, Dump
from fxstore.ingest.executorch.executions import Execution, executions, methods_of
from fxstore.ingest.executorch.runtime_values import called
from fxstore.ingest.overlays import RunNodes
from fxstore.records import Stage

INDEX: Final = "index.json"
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME: Final = 80


def write_dump(stages: Sequence[Stage], dump: Dump, folder: Path) -> None:
    """Writes every value that a dump holds into a new folder.

    A value lies in one file, in its logical shape, however many nodes have it. The index has a row for each node: file,
    stage, method, execution, path, node, port, dtype, shape, and ``dim_order``, the order of the axes in the dump's
    memory (``[0, 2, 3, 1]`` is channels last). What has no value is listed with its reason, and so is what lies on no
    node, which is written all the same.

    Args:
        stages: The graphs that name the values; without any that fit, a value is named by its instruction.

    Raises:
        SourceError: The dump has no values.
    """
    if not dump.has_values:
        raise SourceError(f"there is nothing to write: {MISSING_BUFFER}", hint="pass the debug buffer, too")
    folder.mkdir()
    files = _Files(folder)
    index: dict[str, list[dict[str, Any]]] = {"values": [], "missing": [], "unplaced": []}
    for one in executions(dump, methods_of(RunNodes(stages))):
        placed: set[tuple[object, ...]] = set()
        for row, array, reason in _rows(one):
            if array is None:
                index["missing"].append({**row, "reason": reason})
            else:
                placed.add(_memory(array))
                index["values"].append({**row, **files.put(array, str(row["node"]))})
        for row, array in _rest(one, placed):
            index["unplaced"].append({**row, **files.put(array, str(row["event"]))})
    text = ",\n".join(f"{json.dumps(name)}: [\n{_lines(rows)}\n]" for name, rows in index.items())
    (folder / INDEX).write_text(f"{{\n{text}\n}}\n", "utf-8")


class _Files:
    """Files of one folder, one for each array in the dump."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[tuple[object, ...], str] = {}

    def put(self, array: Array, name: str) -> dict[str, object]:
        """Writes an array, once, and returns what the index says of it."""
        key = _memory(array)
        file = self._names.get(key)
        if file is None:
            file = self._names[key] = f"{len(self._names):05d}-{_ODD.sub('_', name)[:_LONGEST_NAME]}.npy"
            np.save(self._folder / file, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
        order = sorted(range(array.ndim), key=lambda axis: (-array.strides[axis], axis))
        return {"file": file, "dtype": str(array.dtype), "shape": list(array.shape), "dim_order": order}


def _rows(one: Execution) -> Iterator[tuple[dict[str, object], Array | None, str | None]]:
    """Yields what the index says of each node, with its value or the reason why there is none."""
    for method in one.methods:
        laid = method.values(one.block)
        about = {"stage": method.stage, "method": method.name, "execution": one.sample}
        for key in sorted(laid.values.keys() | laid.missing.keys()):
            row: dict[str, object] = {**about, **dict(zip(("path", "node", "port"), key, strict=True))}
            if note := laid.notes.get(key):
                row["note"] = note
            yield row, laid.values.get(key), laid.missing.get(key)


def _rest(one: Execution, placed: Iterable[tuple[object, ...]]) -> Iterator[tuple[dict[str, object], Array]]:
    """Yields the values of an execution that lie on no node, and what the dump itself says of them."""
    known = {place[0] for place in placed}
    names = _kernels(one.block)
    reasons = {name: why for method in one.methods for name, why in method.values(one.block).unplaced.items()}
    for event in one.block.events:
        for number, logged in enumerate(event.values):
            if logged.array is None or _memory(logged.array)[0] in known:
                continue
            name = (
                "output"
                if event.kind == "output"
                else names.get(event.instruction) or f"instruction_{event.instruction}"
            )
            row = {
                "execution": one.number,
                "event": name,
                "instruction": event.instruction,
                "delegate_id": event.delegate_id,
                "number": number,
                "reason": one.reason or reasons.get(called(event)) or "no node has it as it was logged",
            }
            yield row, logged.array


def _kernels(block: Block) -> dict[int | None, str]:
    """Returns the kernel, or the call of a delegate, that each instruction ran."""
    return {e.instruction: e.name or "" for e in block.events if e.kind in ("kernel", "delegate_call")}


def _memory(array: Array) -> tuple[object, ...]:
    """Returns where an array lies, which tells equal views from others."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
