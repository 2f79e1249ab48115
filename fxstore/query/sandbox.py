"""The questions of a store within limits that hold whatever a question does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fxstore.errors import FxstoreError, QueryError, UsageError
from fxstore.query.caption import Caption
from fxstore.query.hints import literal
from fxstore.query.result import NODE_IS_LAST, Coverage, KnownNodes, Result

if TYPE_CHECKING:
    import pyarrow as pa

# A process of its own for one question, so that a limit holds whatever the query does.
#
# DuckDB stops most queries when it is interrupted, but not all; a process can always be ended.


_COVERAGE: Final = b"fxstore.coverage"
_ENTRY: Final = "from fxstore.query.sandbox import main; main()"
# What the process itself needs beside the query.
_OWN_MB: Final = 1024
_HINT: Final = "ask for less, or raise the limit"
Told = tuple[pa.Table, Coverage | None, Caption | None, str | None]
"""Rows, coverage, caption and hint of an answer."""


def fetch(
    path: str,
    question: str,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    timeout: float | None,
    memory_mb: int | None,
) -> Told:
    """Asks a question to the store at a path within limits, in another process.

    Args:
        question: Name of the store's method, with its arguments after it.
        timeout: Seconds; the process is ended then.
        memory_mb: Megabytes that DuckDB may use; the process may use a gigabyte more.

    Raises:
        QueryError: The question is refused or fails, or goes beyond a limit.
        UsageError: An argument is none that the question takes, or no plain value.
    """
    said = {"path": path, "question": question, "arguments": arguments, "named": named, "memory_mb": memory_mb}
    try:
        asked = json.dumps(said)
    except TypeError as error:
        raise UsageError(f"with a limit, parameters must be plain values: {error}") from error
    command = [sys.executable, "-c", _ENTRY]
    try:
        done = subprocess.run(command, input=asked.encode(), capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise QueryError(f"the query took longer than {timeout:g} s", hint=_HINT) from None
    if done.returncode == 0:
        with pa.ipc.open_stream(done.stdout) as reader:
            table = reader.read_all()
        coverage, caption, hint = json.loads((table.schema.metadata or {}).get(_COVERAGE, b"[null, null, null]"))
        kept = {NODE_IS_LAST: b""} if NODE_IS_LAST in (table.schema.metadata or {}) else None
        table = table.replace_schema_metadata(kept)
        return (
            table,
            coverage and Coverage(**coverage),
            caption and Caption(caption["text"], tuple(caption["constant"])),
            hint,
        )
    raise _error(done.stderr.decode("utf-8", "replace"), memory_mb)


def _error(said: str, memory_mb: int | None) -> FxstoreError:
    try:
        found = json.loads(said.splitlines()[-1])
        kind = UsageError if found["exit_code"] == UsageError.exit_code else QueryError
        return kind(str(found["error"]), hint=found["hint"])
    except (ValueError, KeyError, IndexError, TypeError):
        limit = f" of {memory_mb} MB" if memory_mb else ""
        return QueryError(f"the query's process died; it may have gone beyond the memory limit{limit}", hint=_HINT)


def main() -> None:
    """Reads one question from standard input; writes its rows, or what is wrong with it."""
    asked = json.loads(sys.stdin.read())
    try:
        table = _answer(**asked)
    except FxstoreError as error:
        print(json.dumps({"error": str(error), "hint": error.hint, "exit_code": error.exit_code}), file=sys.stderr)
        sys.exit(1)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def _answer(path: str, question: str, arguments: list[Any], named: dict[str, Any], memory_mb: int | None) -> pa.Table:
    from fxstore.query.across import Store
    from fxstore.store import open_directory

    with Store(open_directory(path, read_only=True), memory_mb=memory_mb) as store:
        if memory_mb is not None:
            bound_memory(memory_mb)
        result: Result = getattr(store, question)(*arguments, **named)
        told = [result.coverage, result.caption]
        coverage = json.dumps([*(one and asdict(one) for one in told), result.hint])
        table = result.fetched
        return table.replace_schema_metadata({**(table.schema.metadata or {}), _COVERAGE: coverage})


def bound_memory(memory_mb: int) -> None:
    """Bounds the memory of this process to so many megabytes and a gigabyte for itself, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    size = (memory_mb + _OWN_MB) << 20
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + size, used + size))


QUESTIONS: Final = frozenset({
    "sql", "worst", "first_bad", "sync", "sync_nid", "trace", "ancestors", "descendants", "neighbourhood",
    "nodes_between", "shortest_path", "common_ancestors", "subgraph", "match", "run_diff", "metric_diff", "op_counts",
    "fallback", "history", "first_broken", "same_operator", "stage_errors", "runs",
    "stages", "metrics", "overlays",
})  # fmt: skip


class Limited:
    """Asks each question in a process of its own, which ends at the limits; made by ``Store.limited``.

    Every method of the store that gives a :class:`Result` is here, with the same arguments; names are checked when the
    rows are needed.
    """

    def __init__(
        self,
        path: str,
        known_nodes: Callable[[], KnownNodes],
        finished: Callable[[Result], Result],
        timeout: float | None,
        memory_mb: int | None,
    ) -> None:
        self._path = path
        self._known_nodes = known_nodes
        self._finished = finished
        self._limits = timeout, memory_mb

    def __getattr__(self, question: str) -> Callable[..., Result]:
        if question not in QUESTIONS:
            raise AttributeError(f"{question!r} is no question that takes limits")

        def ask(*arguments: Any, **named: Any) -> Result:
            answer = _Answer(lambda: fetch(self._path, question, arguments, named, *self._limits))
            given = [*map(literal, arguments), *(f"{name} := {literal(value)}" for name, value in named.items())]
            shown = f"{question}({', '.join(given)})"
            if question == "sql":
                shown = str(arguments[0] if arguments else named.get("query"))
            told = Result(
                shown,
                lambda: answer.said[0],
                self._known_nodes,
                lambda: answer.said[1],
                why_empty=lambda: answer.said[3],
                caption=lambda table: answer.said[2],
            )
            return self._finished(told)

        return ask


class _Answer:
    """Rows and coverage of one question, asked once."""

    def __init__(self, fetch: Callable[[], Told]) -> None:
        self._fetch = fetch

    @cached_property
    def said(self) -> Told:
        return self._fetch()
