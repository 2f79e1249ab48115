"""Limits of a whole verb: it runs in a process of its own, which ends at them whatever it does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

import click

from fxstore.errors import QueryError

_ENTRY: Final = "from fxstore.cli.limits import main; main()"
_ARGUMENTS: Final = "fxstore.arguments"
# What the process gets to put away what it has half written.
_GRACE_S: Final = 1.0
_TRIPPED: Final = 3
"""Exit code of a gate that has tripped: an answer, no failure."""

options = (
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Stop after this many seconds."),
    click.option("--memory", type=click.IntRange(min=64), metavar="MB", help="Memory limit in MB."),
)


@dataclass(frozen=True)
class Within:
    """Marks the process that the limits hold for.

    Attributes:
        memory_mb: Megabytes that DuckDB may use there, or None.
    """

    memory_mb: int | None


class Limited(click.Command):
    """A verb that remembers its arguments, so that another process can be given them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the arguments, and reads them."""
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def limited(verb: Callable[..., int | None]) -> Callable[..., int | None]:
    """Adds ``--timeout`` and ``--memory`` to a verb whose command is a :class:`Limited`."""

    @options[0]
    @options[1]
    @wraps(verb)
    def within(timeout: float | None, memory: int | None, **given: Any) -> int | None:
        context = click.get_current_context()
        if (timeout is None and memory is None) or context.find_object(Within) is not None:
            return verb(**given)
        return _run([str(context.info_name), *context.meta[_ARGUMENTS]], timeout, memory)

    return within


def memory_mb() -> int | None:
    """Returns the megabytes that DuckDB may use in this verb, or None where it has no such limit."""
    context = click.get_current_context(silent=True)
    found = context.find_object(Within) if context is not None else None
    return found.memory_mb if found is not None else None


def output(arguments: list[str], timeout: float | None, memory: int | None) -> str:
    """Runs a verb within limits and returns what it writes to standard output.

    Raises:
        QueryError: It fails, with its own words, or goes beyond a limit.
    """
    code, out, err = _ran(arguments, timeout, memory, subprocess.PIPE)
    if code not in (0, _TRIPPED):
        lines = err.decode("utf-8", "replace").strip().splitlines() or [f"it ended with code {code}"]
        with suppress(ValueError, KeyError, TypeError):
            told = json.loads(lines[-1])
            raise QueryError(str(told["error"]), hint=told["hint"])
        first = next((i for i, line in enumerate(lines) if line.startswith("fxstore: ")), 0)
        raise QueryError(
            lines[first].removeprefix("fxstore: "), hint=" ".join(" ".join(lines[first + 1 :]).split()) or None
        )
    return out.decode("utf-8", "replace")


def _run(arguments: list[str], timeout: float | None, memory: int | None) -> int:
    sys.stdout.flush()
    return _ran(arguments, timeout, memory, None)[0]


def _ran(arguments: list[str], timeout: float | None, memory: int | None, pipe: int | None) -> tuple[int, bytes, bytes]:
    """Runs a verb in a process of its own, and returns its exit code and what it wrote to pipes."""
    said = json.dumps({"arguments": arguments, "memory_mb": memory})
    with subprocess.Popen([sys.executable, "-c", _ENTRY, said], stdout=pipe, stderr=pipe) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise QueryError(f"it took longer than {timeout:g} s", hint="ask for less, or raise the limit") from None
    if process.returncode < 0:
        limit = f" of {memory} MB" if memory else ""
        raise QueryError(f"its process died; it may have gone beyond the memory limit{limit}", hint="raise the limit")
    return process.returncode, out or b"", err or b""


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    process.kill()


def main() -> None:
    """Runs a verb within its limits: what :func:`limited` gives a process to do."""
    try:
        sys.exit(_verb())
    except KeyboardInterrupt:
        sys.exit(1)


def _verb() -> int:
    from fxstore.cli import run
    from fxstore.query.sandbox import bound_memory

    said = json.loads(sys.argv[1])
    if said["memory_mb"] is not None:
        bound_memory(said["memory_mb"])
    # Not SIGINT, which what a script runs in the background ignores. Before this there is nothing to put away.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(said["arguments"], Within(said["memory_mb"]))
