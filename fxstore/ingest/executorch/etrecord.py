"""Reads ``.etrecord`` files with zipfile and json alone: neither torch nor executorch, and nothing is executed.

``executorch.devtools.parse_etrecord`` unpickles weights and evaluates the text of symbolic sizes; here both are left
alone, and the record's JSON graphs are read as what they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.archive import Archive
from fxstore.ingest.export.program_json import Program, read_program
from fxstore.ingest.json_input import Malformed, each, member, optional, typed
from fxstore.records import Delegate, Stage

_IDENTIFIER = "ETRECORD_V0"
_EXPORTED = "exported_program"
_EDGE = ("edge_dialect_exported_program", "edge_dialect_program")
_GRAPH_ID = "export_graph_id"
_MAPS = ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map")
_TENSORS = ("reference_outputs", "representative_inputs")
_COMPANIONS = ("_state_dict", "_constants", "_example_inputs")
_RESERVED = frozenset({_IDENTIFIER, _GRAPH_ID, *_MAPS, *_TENSORS})
_HINT = "save the record again with ETRecord.save()"

V = TypeVar("V")


@dataclass(frozen=True)
class EtRecordFile:
    """An ETRecord that was read from a file.

    Attributes:
        stages: ``exported``, then the ``graph_map`` entries in order, then ``edge``; a graph per method, and those
            nested in it. What the record does not hold is left out.
        debug_handle_map: Method and instruction to the debug handles of the nodes that it runs.
        delegate_map: Method and instruction to the delegate that it calls.
        num_outs: Method and instruction to its number of outputs (a tuple, where the record has several numbers).
        export_graph_id: Number by which provenance chains cite the exported graph, or None.
        status: ``complete``, or ``partial`` where the edge program or the runtime maps are missing.
        note: What is missing or was not read, or None; the first stage has it too.
    """

    stages: tuple[Stage, ...]
    debug_handle_map: dict[str, dict[int, tuple[int, ...]]]
    delegate_map: dict[str, dict[int, Delegate]]
    num_outs: dict[str, dict[int, int | tuple[int, ...]]]
    export_graph_id: int | None
    status: str
    note: str | None


def read_etrecord(path: str | os.PathLike[str]) -> EtRecordFile:
    """Returns the graphs and maps of an ``.etrecord`` file.

    Raises:
        SourceError: It is no record, is broken, or is refused; the message names file, entry and cause.
    """
    with Archive(path, "an ETRecord", _HINT) as archive:
        return _Record(archive).read()


@dataclass(frozen=True)
class _Entry:
    """One program of the archive: the stage that it belongs to, and its method."""

    name: str
    stage: str
    method: str


class _Record:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.notes: list[str] = []
        self.partial = False
        if _IDENTIFIER not in archive.names:
            raise archive.error(f"not an ETRecord, or cut off: its entry {_IDENTIFIER!r} is missing")

    def read(self) -> EtRecordFile:
        handles = self._map("debug_handle_map", handles_of)
        delegates = self._map("delegate_map", delegates_of)
        num_outs = self._map("instruction_id_to_num_outs_map", counts_of)
        graph_id = self._number(_GRAPH_ID)
        entries = self._entries([*handles, *delegates, *num_outs])
        stages = tuple(self._stages(entries, graph_id))
        self._missing({stage.name for stage in stages}, bool(handles))
        note = "; ".join(self.notes) or None
        stages = (replace(stages[0], note=note), *stages[1:])
        status = "partial" if self.partial else "complete"
        return EtRecordFile(stages, handles, delegates, num_outs, graph_id, status, note)

    def _entries(self, methods: list[str]) -> list[_Entry]:
        """Returns the programs, with the method names that the runtime maps know where the entries lost them."""
        entries = [_located(name) for name in self._programs()]
        taken = {(entry.stage, entry.method) for entry in entries}
        known = methods[0] if len(set(methods)) == 1 else "forward"
        renamed = [
            replace(entry, method=known) if entry.method == "forward" and (entry.stage, known) not in taken else entry
            for entry in entries
        ]
        if len({(entry.stage, entry.method) for entry in renamed}) < len(renamed):
            raise self.archive.error("holds two programs of one stage and method")
        return renamed

    def _programs(self) -> Iterator[str]:
        """Yields the entries that hold programs, decided by all names: a method's own may end like a companion's."""
        names = [name for name in self.archive.names if name not in _RESERVED]
        known = set(names)
        programs = {name for name in names if all(name + suffix in known for suffix in _COMPANIONS[:2])}
        companions = {program + suffix for program in programs for suffix in _COMPANIONS}
        for name in names:
            if name in programs:
                if name in companions:
                    raise self.archive.error("could be a program or belong to one", name)
                yield name
            elif name not in companions:
                self._left_over(name, known)

    def _left_over(self, name: str, known: set[str]) -> None:
        for suffix in _COMPANIONS:
            if name.endswith(suffix) and name.removesuffix(suffix) not in known:
                raise self.archive.error(f"belongs to {name.removesuffix(suffix)!r}, which is missing", name)
        if name.split("/")[0] in (_EXPORTED, *_EDGE) or any(name + suffix in known for suffix in _COMPANIONS):
            missing = next(name + suffix for suffix in _COMPANIONS if name + suffix not in known)
            if not any(name.endswith(suffix) for suffix in _COMPANIONS):
                raise self.archive.error(f"is a program without its entry {missing!r}", name)
        elif not any(name.endswith(suffix) for suffix in _COMPANIONS):
            self.partial = True
            self.notes.append(f"entry {name!r} belongs to no program and was not read")

    def _stages(self, entries: list[_Entry], graph_id: int | None) -> Iterator[Stage]:
        names = dict.fromkeys(["exported", *(e.stage for e in entries if e.stage != "edge"), "edge"])
        for name in names:
            programs = [self._program(entry, graph_id) for entry in entries if entry.stage == name]
            if programs:
                kind = name if name in ("exported", "edge") else programs[0].kind
                yield Stage(name, tuple(graph for program in programs for graph in program.graphs), kind)

    def _program(self, entry: _Entry, graph_id: int | None) -> Program:
        identities = [graph_id] if graph_id and entry.name == _EXPORTED else []
        return self.archive.converted(entry.name, lambda document: read_program(document, entry.method, identities))

    def _missing(self, stages: set[str], runtime: bool) -> None:
        if not stages:
            raise self.archive.error("holds no program")
        for there, what, needed in (
            ("exported" in stages, "no exported program", False),
            ("edge" in stages, "no edge program", True),
            (runtime, "no runtime maps", True),
        ):
            if not there:
                self.notes.append(what)
                self.partial |= needed

    def _map(self, name: str, convert: Callable[[object], dict[str, V]]) -> dict[str, V]:
        return self.archive.converted(name, convert) if name in self.archive.names else {}

    def _number(self, name: str) -> int | None:
        if name not in self.archive.names:
            return None
        return self.archive.converted(name, lambda document: typed(document, int, "the graph's number"))


def _located(name: str) -> _Entry:
    """Returns stage and method of a program's entry: ``edge_after_transform/forward`` of the ``graph_map``."""
    head, slash, rest = name.partition("/")
    if head == _EXPORTED or head in _EDGE:
        return _Entry(name, "exported" if head == _EXPORTED else "edge", rest if slash else "forward")
    stage, slash, method = name.rpartition("/")
    stage, method = (stage, method) if slash else (name, "forward")
    return _Entry(name, f"graph_map/{stage}" if stage in ("exported", "edge") else stage, method)


def handles_of(document: object) -> dict[str, dict[int, tuple[int, ...]]]:
    """Returns a parsed ``debug_handle_map``: method and instruction to debug handles.

    Raises:
        Malformed: It is none. So for the two below.
    """
    return _by_method(document, _handles)


def delegates_of(document: object) -> dict[str, dict[int, Delegate]]:
    """Returns a parsed ``delegate_map``: method and instruction to the delegate that it calls."""
    return _by_method(document, _delegate)


def counts_of(document: object) -> dict[str, dict[int, int | tuple[int, ...]]]:
    """Returns a parsed ``instruction_id_to_num_outs_map``: method and instruction to its number of outputs."""
    return _by_method(document, _count)


def _by_method(document: object, convert: Callable[[object], V]) -> dict[str, dict[int, V]]:
    """Returns a map by method and instruction; the oldest records hold one map, of ``forward``."""
    outer = typed(document, dict, "a map")
    if outer and all(key.isdecimal() for key in outer):
        outer = {"forward": outer}
    return {
        method: {_instruction(key): convert(value) for key, value in typed(inner, dict, f"{method!r}").items()}
        for method, inner in outer.items()
    }


def _instruction(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) <= 18):
        raise Malformed(f"an instruction should be a whole number, not {key[:60]!r}")
    return int(key)


def _handles(value: object) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(each(values, int, "a debug handle"))


def _delegate(value: object) -> Delegate:
    inner = optional(typed(value, dict, "a delegate"), "delegate_map", dict) or {}
    handles = {_instruction(key) if key.isdecimal() else key: _handles(given) for key, given in inner.items()}
    return Delegate(member(value, "name", str), handles)


def _count(value: object) -> int | tuple[int, ...]:
    return _handles(value) if isinstance(value, list) else typed(value, int, "a number of outputs")


# The adapter for ``.etrecord`` files; needs neither torch nor executorch.


class EtRecordFileAdapter:
    """A ``.etrecord`` file: the stages that it holds."""

    endings = (".etrecord",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.etrecord``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the record with zipfile and json alone."""
        # MERGED
        from fxstore.ingest.executorch.handles import Maps, counts

        record = read_etrecord(source)
        maps = Maps(record.debug_handle_map, record.delegate_map)
        stages = tuple(maps.on(stage) for stage in record.stages)
        return Ingested(stages, counts(record.num_outs), record.status)
