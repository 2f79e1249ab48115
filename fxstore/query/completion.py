"""A query that names no node, with the node of each row added where that changes no row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fxstore.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from fxstore.query.result import Result

NODE: Final = "node of the row"


def with_nodes(query: str, ask: Callable[[str], Result]) -> pa.Table | None:
    """Returns the rows of a query with the node of each as a last column; None where that cannot be added."""
    completed = with_nid(query)
    try:
        return ask(completed).arrow() if completed else None
    except QueryError:
        return None


def with_nid(query: str) -> str | None:
    """Returns the query with the nid of its one relation as a last column, or None where rows could change by it.

    It is added to one plain SELECT from one relation or macro only: a DISTINCT, a GROUP BY, an ORDER BY ALL or a set
    operation would take it into account, and an aggregate has no node of its own.
    """
    import sqlglot
    from sqlglot import exp

    try:
        select = sqlglot.parse_one(query, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    if not isinstance(select, exp.Select):
        return None
    source = select.args.get("from_") or select.args.get("from")
    table = source.this if source is not None else None
    changing = ("distinct", "group", "having", "joins", "laterals", "sample", "into", "pivots")
    if not isinstance(table, exp.Table) or any(select.args.get(part) for part in changing):
        return None
    if any(table.args.get(part) for part in ("joins", "pivots", "sample", "laterals")) or _orders_by_all(select):
        return None
    if table.alias_or_name.lower() in {cte.alias_or_name.lower() for cte in select.ctes}:
        return None
    # A macro without an alias has no name to qualify by.
    node = exp.column("nid", table=table.alias_or_name or None, quoted=True)
    return str(select.select(exp.alias_(node, NODE, quoted=True), copy=True).sql("duckdb"))


def _orders_by_all(select: object) -> bool:
    from sqlglot import exp

    assert isinstance(select, exp.Select)
    order = select.args.get("order")
    return order is not None and any(item.name.lower() == "all" for item in order.find_all(exp.Column, exp.Var))
