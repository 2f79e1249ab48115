"""A process of its own for one query, so that a limit holds whatever the query does.

DuckDB stops most queries when it is interrupted, but not all; a process can always be ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from fxstore.errors import QueryError, UsageError

_ENTRY: Final = "from fxstore.query.worker import main; main()"
# What the process itself needs beside the query.
_OWN_MB: Final = 1024
_HINT: Final = "ask for less, or raise the limit"


def fetch(
    path: Path,
    query: str,
    params: Sequence[Any] | Mapping[str, Any] | None,
    timeout: float | None,
    memory_mb: int | None,
) -> pa.Table:
    """Returns the rows of a query over the store at a path, run within limits in another process.

    Args:
        timeout: Seconds; the process is ended then.
        memory_mb: Megabytes that DuckDB may use; the process may use a gigabyte more.

    Raises:
        QueryError: The query is refused or fails, or goes beyond a limit.
        UsageError: A parameter is no plain value.
    """
    try:
        asked = json.dumps({"path": str(path), "query": query, "params": params, "memory_mb": memory_mb})
    except TypeError as error:
        raise UsageError(f"with a limit, parameters must be plain values: {error}") from error
    command = [sys.executable, "-c", _ENTRY]
    try:
        done = subprocess.run(command, input=asked.encode(), capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise QueryError(f"the query took longer than {timeout:g} s", hint=_HINT) from None
    if done.returncode == 0:
        with pa.ipc.open_stream(done.stdout) as reader:
            return reader.read_all()
    raise _error(done.stderr.decode("utf-8", "replace"), memory_mb)


def _error(said: str, memory_mb: int | None) -> QueryError:
    try:
        found = json.loads(said.splitlines()[-1])
        return QueryError(str(found["error"]), hint=found["hint"])
    except (ValueError, KeyError, IndexError, TypeError):
        limit = f" of {memory_mb} MB" if memory_mb else ""
        return QueryError(f"the query's process died; it may have gone beyond the memory limit{limit}", hint=_HINT)


def main() -> None:
    """Reads one question from standard input; writes its rows, or what is wrong with it."""
    from fxstore.errors import FxstoreError

    asked = json.loads(sys.stdin.read())
    try:
        table = _answer(**asked)
    except FxstoreError as error:
        print(json.dumps({"error": str(error), "hint": error.hint}), file=sys.stderr)
        sys.exit(1)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def _answer(path: str, query: str, params: Any, memory_mb: int | None) -> pa.Table:
    from fxstore.query.session import Store
    from fxstore.store import open_directory

    with Store(open_directory(path, read_only=True), memory_mb=memory_mb) as store:
        if memory_mb is not None:
            _limit((memory_mb + _OWN_MB) << 20)
        return store.sql(query, params).arrow()


def _limit(size: int) -> None:
    """Bounds the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + size, used + size))
