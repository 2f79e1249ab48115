"""The verb ``mcp``: the agents' server, on standard input and output only.

Each question of the store is a tool with the arguments of its Python method. It is asked in a process of its own, which
ends at the limits whatever the question does. The tools that give no table (``why``, ``check``, ``compare``) are the
verbs of those names, run within the same limits.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fxstore.cli import limits, options
from fxstore.errors import FxstoreError, MissingExtraError

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result

_MOST_ROWS: Final = 200
_INSTRUCTIONS: Final = (
    "Graphs of PyTorch and ExecuTorch compiles. Ask `why` first: it says which stage introduced an error and where. "
    "Then the ready questions (worst, first_bad, stage_errors, sync, trace, history, diff, …), or `sql`: one read-only "
    "SELECT of DuckDB over what `schema` lists. A run is named by id or name; without one, the latest is meant. "
    f"An answer has at most {_MOST_ROWS} rows; row_count says how many there are."
)
_RENAMED: Final = {"run_diff": "diff"}


@click.command()
@options.store
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Stop a tool after this many seconds.",
)
@click.option(
    "--memory", type=click.IntRange(min=64), default=2048, show_default=True, help="Memory limit of a tool in MB."
)
def mcp(store_path: str, timeout: float, memory: int) -> None:
    """Serve the store to agents by the Model Context Protocol, on standard input and output; reads only.

    Example: fxstore mcp --store fxstore-runs
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise MissingExtraError("the server for agents", "mcp") from error
    from fxstore import __version__

    def said(answer: Callable[[], Any]) -> str:
        try:
            return json.dumps(answer(), ensure_ascii=False, allow_nan=False)
        except FxstoreError as error:
            told = {"error": str(error), "hint": error.hint}
            raise ToolError(json.dumps(told, ensure_ascii=False)) from error

    with options.opened(store_path) as store:
        server = MCPServer("fxstore", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
        for tool in [*_questions(store, timeout, memory, said), *_verbs(store, store_path, timeout, memory, said)]:
            server.tool(structured_output=False)(tool)
        server.run("stdio")


Said = Callable[[Callable[[], Any]], str]
Tool = Callable[..., str]


def _questions(store: Store, timeout: float, memory: int, said: Said) -> list[Tool]:
    """Returns a tool per question, with the signature and the documentation of the method that asks it."""
    from fxstore.query.sandbox import QUESTIONS

    asker: Any = store.limited(timeout, memory)
    return [_tool(name, getattr(type(store), name), getattr(asker, name), said) for name in sorted(QUESTIONS)]


def _tool(name: str, method: Callable[..., Any], ask: Callable[..., Result], said: Said) -> Tool:
    def tool(**given: Any) -> str:
        rows = _changes if name == "run_diff" else _rows
        return said(lambda: rows(ask(**{key: value for key, value in given.items() if value is not None})))

    known = inspect.signature(method, eval_str=True, locals={"Result": object})
    plain = [one for key, one in known.parameters.items() if key not in ("self", "timeout", "memory_mb", "params")]
    tool.__signature__ = known.replace(parameters=plain, return_annotation=str)  # type: ignore[attr-defined]
    tool.__annotations__ = {one.name: one.annotation for one in plain} | {"return": str}
    tool.__name__ = _RENAMED.get(name, name)
    tool.__doc__ = inspect.getdoc(method)
    return tool


def _verbs(store: Store, store_path: str, timeout: float, memory: int, said: Said) -> list[Tool]:
    def schema(relation: str | None = None) -> str:
        """Relations, macros, columns and what they mean, as JSON; of one relation, or all."""
        return said(lambda: json.loads(store.schema(relation).to_json()))

    def verb(name: str, *arguments: str) -> str:
        return limits.output([name, "--store", store_path, *arguments], timeout, memory)

    def why(run: str | None = None, base: str | None = None) -> str:
        """The verdict on a run: which stage introduced an error, where, how far it goes, what was not measured."""
        given = [*(["--base", base] if base else []), "--", *([run] if run else [])]
        return said(lambda: json.loads(verb("why", "--format=json", *given)))

    def check(base: str, head: str, rules: list[str]) -> str:
        """What rules such as "cosine >= 0.99" or "p90_ms <= 1.1 * base" find in the run head against the run base."""
        given = [part for rule in rules for part in ("--rule", rule)]
        return said(lambda: json.loads(verb("check", "--format=json", *given, "--", base, head)))

    def compare(query: str | None = None, run: str | None = None) -> str:
        """Writes a page with the stages side by side, the nodes of a query highlighted, and returns its path."""

        def page() -> dict[str, Any]:
            path = Path(tempfile.mkdtemp(prefix="fxstore-page-")) / "compare.html"
            asked = [*(["--query", query] if query else []), *(["--run", run] if run else [])]
            verb("compare", "-o", str(path), *asked)
            return {"path": str(path), "bytes": path.stat().st_size}

        return said(page)

    return [schema, why, check, compare]


def _rows(result: Result) -> dict[str, Any]:
    return _told(result, result.arrow().slice(0, _MOST_ROWS))


def _changes(result: Result) -> dict[str, Any]:
    """Returns the nodes that changed, and of all nodes how many did what."""
    import pyarrow.compute as pc

    table = result.arrow()
    counts = {row["values"]: row["counts"] for row in pc.value_counts(table["change"]).to_pylist()}
    changed = table.filter(pc.not_equal(table["change"], "same"))
    return {**_told(result, changed.slice(0, _MOST_ROWS)), "counts": counts}


def _told(result: Result, rows: Any) -> dict[str, Any]:
    from fxstore.query.text import json_value, rows_of

    plain = [dict(zip(result.columns, map(json_value, row), strict=True)) for row in rows_of(rows)]
    said: dict[str, Any] = {"columns": result.columns, "rows": plain, "row_count": len(result)}
    if result.coverage is not None:
        said["coverage"] = str(result.coverage)
    if result.hint is not None:
        said["hint"] = result.hint
    return said
