"""Reads the structured logs that ``TORCH_TRACE=directory`` makes ``torch.compile`` write; nothing in them is executed.

A record is a line ``V1129 18:03:36.001000 PID FILE:LINE] {JSON}``, and, where the JSON says ``has_payload``, the text
that follows it, each line behind a tab, with its MD5 in the JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from fxstore.errors import SourceError
from fxstore.ingest.adapters import Ingested

MAX_HEADER_BYTES: Final = 4 << 20
MAX_PAYLOAD_BYTES: Final = 16 << 20
MAX_PAYLOAD_LINES: Final = 500_000
MAX_TEXT_BYTES: Final = 128 << 20
"""Of all graphs of one trace."""
MAX_FILES: Final = 1000
MAX_PROBLEMS: Final = 5
_HEADER: Final = re.compile(rb"(?:\[rank(\d{1,9})\]:)?[VDIWEC]\d{4} [\d:.]+ (\d{1,10}) [^\]]{1,1000}\] (?=\{)")
_RECORD: Final = re.compile(rb"\n(?=[^\t])")
_HINT: Final = "name a directory that TORCH_TRACE was set to, or a log in it"


@dataclass(frozen=True)
class Origin:
    """Who compiled: a rank where the log names one, and the process that wrote the log."""

    rank: int | None
    log: str
    process: int | None


@dataclass(frozen=True)
class GraphRecord:
    """One graph that was logged.

    Attributes:
        origin: Who logged it.
        compiled: The compile's id as torch prints it, ``0/0``, ``0/0_1`` for a further attempt; or what stands for it.
        stage: What the graph is: ``dynamo_output_graph``, ``aot_joint_graph`` …; ``''`` where the record has no name.
        text: The printed graph; None where the record holds its nodes itself.
        nodes: The record's own nodes, as parsed JSON, or None.
        where: File and line.
    """

    origin: Origin
    compiled: str
    stage: str
    text: str | None
    nodes: list[object] | None
    where: str


@dataclass
class Trace:
    """What the logs of a trace hold.

    Attributes:
        records: The graphs in the order in which they were logged.
        problems: One line per record that is damaged, with file and line.
        versions: Of torch, where a log names it.
    """

    records: list[GraphRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def problem(self, where: str, what: str) -> None:
        """Notes what is wrong with a record."""
        self.problems.append(f"{where}: {what}")


def logs(path: Path) -> list[Path]:
    """Returns the logs at a path: itself, or those that a directory holds, by name; empty where there is none."""
    if path.is_file():
        return [path] if _is_log(path) else []
    if not path.is_dir():
        return []
    found: list[Path] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if len(found) == MAX_FILES:
                break
            if entry.name.endswith((".log", ".jsonl", ".txt")) and entry.is_file() and _is_log(Path(entry.path)):
                found.append(Path(entry.path))
    return sorted(found)


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.readline(1 << 16)
    except OSError:
        return False
    return bool(_HEADER.match(head)) or _is_row(head)


def _is_row(line: bytes) -> bool:
    return line.startswith(b"{") and b'"compile_id"' in line and b'"nodes"' in line


def read_trace(path: Path) -> Trace:
    """Returns the graphs that the logs at a path hold.

    Raises:
        SourceError: There is no log, or it cannot be read, or it holds more than :data:`MAX_TEXT_BYTES` of graphs.
    """
    files = logs(path)
    if not files:
        raise SourceError(f"{path}: holds no log of TORCH_TRACE", hint=_HINT)
    trace = Trace()
    for file in files:
        try:
            with file.open("rb") as opened:
                _Log(trace, file.name, opened).read()
        except OSError as error:
            raise SourceError(f"{file}: cannot be read: {error.strerror or error}", hint=_HINT) from error
    return trace


class _Log:
    def __init__(self, trace: Trace, name: str, file: BinaryIO) -> None:
        self.trace = trace
        self.name = name
        self.file = file
        self.line = 0
        self.ahead: bytes | None = None

    def read(self) -> None:
        while line := self._next():
            where = f"{self.name}, line {self.line}"
            if line.startswith(b"\t"):
                continue
            if len(line) > MAX_HEADER_BYTES:
                self._skip(line)
                self.trace.problem(where, f"the record is longer than {MAX_HEADER_BYTES >> 20} MiB")
            elif match := _HEADER.match(line):
                self._record(line[match.end() :], match, where)
            elif line.startswith(b"{"):
                self._row(line, where)
            elif line.strip():
                self.trace.problem(where, "is no record, or is cut off")

    def _next(self) -> bytes:
        """Returns the next line, or the first MiB of one that is too long; empty at the end."""
        if self.ahead is not None:
            line, self.ahead = self.ahead, None
        else:
            line = self.file.readline(MAX_HEADER_BYTES + 1)
        self.line += 1
        return line

    def _skip(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self.file.readline(MAX_HEADER_BYTES)

    def _record(self, text: bytes, match: re.Match[bytes], where: str) -> None:
        payload = has = b'"has_payload"' in text
        wanted = b"_graph" in text or b"graph_dump" in text or b'"torch_version"' in text
        if not wanted:
            return
        header = self._json(text, where)
        if header is None:
            return
        name = _graph_name(header)
        version = _named(header.get("artifact")) == "torch_version"
        if not has or not (name or version):
            return
        body = self._payload(header.get("has_payload"), where) if payload else None
        if body is None:
            return
        if version:
            self._version(body)
        elif "class " in body[:1000]:
            origin = Origin(_integer(header.get("rank"), match[1]), self.name, int(match[2]))
            self._add(GraphRecord(origin, _compile_id(header), name, body, None, where), len(body))

    def _row(self, line: bytes, where: str) -> None:
        """Takes in a graph that is one JSON object a line: rank, compile id, nodes."""
        row = self._json(line, where)
        nodes = row.get("nodes") if row is not None else None
        if row is not None and isinstance(nodes, list):
            origin = Origin(_integer(row.get("rank")), self.name, _integer(row.get("process")))
            stage = row.get("stage")
            name = stage if isinstance(stage, str) else ""
            self._add(GraphRecord(origin, _text(row.get("compile_id")), name, None, nodes, where), len(line))

    def _add(self, record: GraphRecord, size: int) -> None:
        self.trace.size += size
        if self.trace.size > MAX_TEXT_BYTES:
            raise SourceError(f"{record.where}: the graphs take more than {MAX_TEXT_BYTES >> 20} MiB", hint=_HINT)
        self.trace.records.append(record)

    def _payload(self, digest: object, where: str) -> str | None:
        """Returns the text behind a record; None, and a problem, where it is not what was logged."""
        lines: list[bytes] = []
        size, count = 0, 0
        read = self.file.readline
        while (line := read(MAX_HEADER_BYTES + 1)).startswith(b"\t"):
            size += len(line)
            count += 1
            if size > MAX_PAYLOAD_BYTES or count > MAX_PAYLOAD_LINES:
                break
            lines.append(line[1:])
        self.line += count
        self.ahead = line
        if len(lines) < count:
            self.ahead = None
            self._skip_payload()
            self.trace.problem(where, f"the graph is longer than {MAX_PAYLOAD_BYTES >> 20} MiB")
            return None
        body = b"".join(lines).removesuffix(b"\n")
        if digest not in (hashlib.md5(body, usedforsecurity=False).hexdigest(), None):
            cut = "is cut off" if not line else "is damaged: another process wrote into it, or it was edited"
            self.trace.problem(f"{self.name}, line {self.line}", f"the graph of the record at {where} {cut}")
            return None
        return body.decode("utf-8", "replace")

    def _skip_payload(self) -> None:
        """Moves to the next line that is no payload, block by block."""
        while block := self.file.read(1 << 20):
            block += self.file.readline(MAX_HEADER_BYTES) if block.endswith(b"\n") else b""
            found = _RECORD.search(block)
            end = found.end() if found else len(block)
            self.line += block.count(b"\n", 0, end)
            if found:
                self.file.seek(end - len(block), os.SEEK_CUR)
                return

    def _json(self, text: bytes, where: str) -> dict[str, object] | None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            self.trace.problem(where, "is no record, or is cut off")
            return None
        return found if isinstance(found, dict) else None

    def _version(self, body: str) -> None:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return
        version = found.get("pytorch_version") if isinstance(found, dict) else None
        if isinstance(version, str):
            self.trace.versions.setdefault("torch", version[:100])


def _graph_name(header: dict[str, object]) -> str:
    """Returns the name of the graph that a record holds, or ``''``."""
    for key in header:
        if key.endswith("_graph"):
            return key
    name = _named(header.get("graph_dump"))
    if name:
        return name
    artifact = _named(header.get("artifact"))
    return artifact if artifact.endswith("_graph") else ""


def _named(value: object) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def _compile_id(header: dict[str, object]) -> str:
    """Returns the id as torch prints it: ``[!autograd/]frame/compile[_attempt]``; ``none`` where there is none."""
    frame, compiled, attempt = (_integer(header.get(key)) for key in ("frame_id", "frame_compile_id", "attempt"))
    autograd = _integer(header.get("compiled_autograd_id"))
    parts = [] if autograd is None else [f"!{autograd}"]
    parts += [] if frame is None else [f"{frame}/{compiled or 0}"]
    return "/".join(parts) + (f"_{attempt}" if parts and attempt else "") or "none"


def _integer(*values: object) -> int | None:
    for value in values:
        if isinstance(value, bytes):
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else "none" if value is None else str(value)[:100]


def origins(records: Sequence[GraphRecord]) -> dict[Origin, str]:
    """Returns a name for each origin: ``rank0`` where it has a rank, else ``process0`` in order of appearance.

    A process has one rank: what it logged before it knew its rank belongs to it, too. A single origin is named ``''``:
    there is nothing to tell it from.
    """
    given = dict.fromkeys(record.origin for record in records)
    ranks: dict[tuple[str, int | None], int] = {
        (one.log, one.process): one.rank for one in given if one.rank is not None and one.process is not None
    }
    names: dict[Origin, str] = {}
    processes: dict[tuple[str, int | None], int] = {}
    for one in given:
        process = (one.log, one.process)
        rank = ranks.get(process) if one.rank is None else one.rank
        number = processes.setdefault(process, len(processes)) if rank is None else 0
        names[one] = f"process{number}" if rank is None else f"rank{rank}"
    return names if len(set(names.values())) > 1 else dict.fromkeys(names, "")


# The adapter for what ``TORCH_TRACE`` makes torch.compile write; needs no torch.


class TorchTraceAdapter:
    """A directory that ``TORCH_TRACE`` was set to, or a log in it: a stage per kind of graph."""

    endings = (".log", ".jsonl", ".txt")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a log, or a directory that holds one."""
        # MERGED

        return isinstance(source, Path) and bool(logs(source))

    def read(self, source: Path) -> Ingested:
        """Reads every graph of every compile, by rank or process."""
        # MERGED
        from fxstore.ingest.compile.trace_stages import stages_of

        trace = read_trace(source)
        stages, overlays = stages_of(trace)
        status = "partial" if any(stage.status != "complete" for stage in stages) else "complete"
        return Ingested(tuple(stages), tuple(overlays), status, trace.versions)
