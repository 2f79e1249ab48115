"""The verb ``mcp``: the agents' server, on standard input and output only."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fxstore.cli import options
from fxstore.errors import FxstoreError, MissingExtraError

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result

_MOST_ROWS: Final = 200
_INSTRUCTIONS: Final = (
    "Graphs of PyTorch and ExecuTorch compiles: ask `schema` first, then `sql` (one read-only SELECT of DuckDB), or "
    "the ready questions worst, sync, trace and diff. A run is named by id or name; without one, the latest is meant."
)


@click.command()
@options.store
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Of `sql`, in seconds.",
)
@click.option("--memory", type=click.IntRange(min=64), default=2048, show_default=True, help="Of `sql`, in MB.")
def mcp(store_path: str, timeout: float, memory: int) -> None:
    """Serves the store to agents by the Model Context Protocol, on standard input and output; it only reads."""
    try:
        from mcp.server import MCPServer
    except ImportError as error:
        raise MissingExtraError("the server for agents", "mcp") from error
    with options.opened(store_path) as store:
        server = MCPServer("fxstore", instructions=_INSTRUCTIONS, log_level="ERROR")
        for tool in _tools(store, timeout, memory):
            server.tool(structured_output=False)(tool)
        server.run("stdio")


def _tools(store: Store, timeout: float, memory: int) -> list[Callable[..., str]]:
    def schema(relation: str | None = None) -> str:
        """Relations, macros, columns and what they mean, as JSON; of one relation, or all."""
        return _said(lambda: json.loads(store.schema(relation).to_json()))

    def sql(query: str) -> str:
        """Answers one read-only SELECT over the store's relations and macros."""
        return _said(lambda: _rows(store.sql(query, timeout=timeout, memory_mb=memory)))

    def worst(metric: str, n: int = 20, run: str | None = None, stage: str | None = None) -> str:
        """The worst nodes of a run by a metric (cosine, mse, ...): NaN first, with counterparts in other stages."""
        return _said(lambda: _rows(store.worst(metric, n=n, run=run, stage=stage)))

    def sync(stage: str, node: str, run: str | None = None) -> str:
        """The counterparts of a node in every stage, with the evidence."""
        return _said(lambda: _rows(store.sync(stage, node, run=run)))

    def trace(stage: str, node: str, run: str | None = None) -> str:
        """Where a node came from and what became of it, hop by hop."""
        return _said(lambda: _rows(store.trace(stage, node, run=run)))

    def diff(base: str, head: str) -> str:
        """What became of each node between two runs; nodes that are the same are only counted."""
        return _said(lambda: _changes(store.run_diff(base, head)))

    def compare(query: str | None = None, run: str | None = None) -> str:
        """Writes a page with the stages side by side, the nodes of a query highlighted, and returns its path."""
        return _said(lambda: _page(store, query, run))

    return [schema, sql, worst, sync, trace, diff, compare]


def _said(answer: Callable[[], Any]) -> str:
    try:
        return json.dumps(answer(), ensure_ascii=False, allow_nan=False)
    except FxstoreError as error:
        return json.dumps({"error": str(error), "hint": error.hint}, ensure_ascii=False)


def _rows(result: Result) -> dict[str, Any]:
    from fxstore.query.text import json_value

    rows = [dict(zip(result.columns, map(json_value, row), strict=True)) for row in result.fetchall()[:_MOST_ROWS]]
    said: dict[str, Any] = {"columns": result.columns, "rows": rows, "row_count": len(result)}
    if result.coverage is not None:
        said["coverage"] = str(result.coverage)
    if result.hint is not None:
        said["hint"] = result.hint
    return said


def _changes(result: Result) -> dict[str, Any]:
    place = result.columns.index("change")
    said = _rows(result)
    counts: dict[str, int] = {}
    for row in result:
        counts[str(row[place])] = counts.get(str(row[place]), 0) + 1
    changed = [row for row in result if row[place] != "same"][:_MOST_ROWS]
    rows = [dict(zip(result.columns, row, strict=True)) for row in changed]
    return {**said, "rows": rows, "counts": counts}


def _page(store: Store, query: str | None, run: str | None) -> dict[str, Any]:
    page = store.compare(run=run, highlight=store.sql(query) if query else None)
    path = Path(tempfile.mkdtemp(prefix="fxstore-page-")) / "compare.html"
    page.save(path)
    return {"path": str(path), "bytes": path.stat().st_size}
