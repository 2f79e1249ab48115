"""A query that names no node, with the node of each row added where that changes no row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import duckdb

from fxstore import schema
from fxstore.query.engine import Engine

NODE: Final = "node of the row"
"""Name of the column that is added last."""
NODE_IS_LAST: Final = b"fxstore.node"
"""Key of a table's metadata where that column was added."""
TO_ANY: Final = "add nid to the SELECT (or src_nid, list(nid), any_value(nid))"
_ROW_BY_ROW: Final = frozenset({"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY"})
_AGGREGATES: Final = frozenset({
    "count", "count_star", "sum", "min", "max", "avg", "mean", "median", "any_value", "first", "list", "array_agg",
    "string_agg", "arg_min", "arg_max", "min_by", "max_by", "mode", "quantile_cont", "stddev", "bool_or", "bool_and",
})  # fmt: skip
_PLACE: Final = ("query_location", "query_location_length")


def with_nid(engine: Engine, tree: Mapping[str, Any]) -> str | None:
    """Returns a query with the nid of its one relation as a last column, or None where :func:`why_not` says why.

    The rows stay what they are: it is added to the tree of DuckDB's own parser, and the text that comes of this must
    give that very tree again.
    """
    if why_not(tree):
        return None
    node = tree["statements"][0]["node"]
    alias = node["from_table"].get("alias") or ""
    asked = _select(engine, f'SELECT {_quoted(alias)}{"." if alias else ""}nid AS "{NODE}"')["statements"][0]["node"]
    whole = node | {"select_list": [*node["select_list"], *asked["select_list"]]}
    completed = {**tree, "statements": [tree["statements"][0] | {"node": whole}]}
    try:
        ((text,),) = engine.rows("SELECT json_deserialize_sql(?::JSON)", [json.dumps(completed)])
        again = _select(engine, text)
    except (duckdb.Error, RecursionError):
        return None
    return str(text) if _bare(again) == _bare(completed) else None


def why_not(tree: Mapping[str, Any]) -> str | None:
    """Returns why a query's rows cannot each be given the node of its relation, and what to type; None if they can.

    A DISTINCT, a GROUP BY, an ORDER BY ALL or a set operation would take the column into account.
    """
    node = tree["statements"][0]["node"]
    if node["type"] != "SELECT_NODE":
        return f"its rows come from several SELECTs: {TO_ANY.replace('SELECT', 'first column of each', 1)}"
    kind = node["from_table"]["type"]
    if kind not in _ROW_BY_ROW:
        return "it joins relations; say whose node is meant: add a.nid to the SELECT" if kind == "JOIN" else TO_ANY
    is_grouped = node["group_expressions"] or node["having"] or node["aggregate_handling"] != "STANDARD_HANDLING"
    if is_grouped or any(map(_is_aggregate, node["select_list"])):
        return "its rows are groups of nodes: add list(nid) to the SELECT"
    if kind == "BASE_TABLE" and not _has_nid(node["from_table"]):
        return "its relation has no nid: join one that has it"
    for modifier in node["modifiers"]:
        if modifier["type"] == "DISTINCT_MODIFIER":
            return "its rows are distinct, each of several nodes: add nid to the SELECT"
        orders = modifier.get("orders") or ()
        if any(order["expression"]["class"] == "STAR" for order in orders):
            return "it is ordered by all columns: add nid to the SELECT"
    return None


def _is_aggregate(expression: Mapping[str, Any]) -> bool:
    return expression["class"] == "FUNCTION" and expression["function_name"] in _AGGREGATES


def _has_nid(table: Mapping[str, Any]) -> bool:
    """Says whether a relation has a nid, or may have it: what the statement itself defines may."""
    relation = schema.RELATIONS.get(str(table["table_name"]).lower())
    return relation is None or "nid" in [column.name for column in relation.columns]


def _select(engine: Engine, text: str) -> Any:
    ((serialized,),) = engine.rows("SELECT json_serialize_sql(?::VARCHAR)", [text])
    return json.loads(serialized)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if name else ""


def _bare(tree: Any) -> Any:
    """Returns a tree without the places in the text."""
    if isinstance(tree, dict):
        return {key: _bare(value) for key, value in tree.items() if key not in _PLACE}
    return [_bare(value) for value in tree] if isinstance(tree, list) else tree
