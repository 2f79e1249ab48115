"""The answer to one query."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TextIO

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore import schema, tables
from fxstore.errors import FxstoreError, QueryError
from fxstore.query import text
from fxstore.query.caption import Caption
from fxstore.query.engine import Engine

if TYPE_CHECKING:
    from fxstore.render.html import Page

# A query that names no node, with the node of each row added where that changes no row.


NODE: Final = "node of the row"
"""Name of the column that is added last."""
NID: Final = "nid"
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


Row = tuple[object, ...]
_ORDINAL = (1 << tables.ORDINAL_BITS) - 1
_LISTED_REASONS: Final = 7


@dataclass(frozen=True)
class Coverage:
    """How many nodes a ranking could have ranked.

    Attributes:
        nodes: Nodes of the ranked stages that could have a value.
        measured: Those that have one.
        reasons: Why the others have none, with their number.
    """

    nodes: int
    measured: int
    reasons: dict[str, int] = field(default_factory=dict)

    @classmethod
    def counted(cls, rows: Sequence[Mapping[str, Any]]) -> Coverage:
        """Returns the sum of rows that each say measured, reason and nodes (how many)."""
        measured = sum(row["nodes"] for row in rows if row["measured"])
        reasons: dict[str, int] = {}
        for row in rows:
            if not row["measured"] and row["nodes"]:
                reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["nodes"]
        reasons = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
        return cls(measured + sum(reasons.values()), measured, reasons)

    @property
    def not_measured(self) -> int:
        """Those that have none."""
        return self.nodes - self.measured

    def __str__(self) -> str:
        said = f"{self.measured} of {self.nodes} nodes measured"
        listed = [f"{count} {reason}" for reason, count in self.reasons.items()]
        if len(listed) > _LISTED_REASONS:
            rest = list(self.reasons.values())[_LISTED_REASONS - 1 :]
            listed[_LISTED_REASONS - 1 :] = [f"{sum(rest)} for {len(rest)} other reasons (relation coverage)"]
        why = ", ".join(listed)
        return f"{said}; not measured: {why}" if why else said


@dataclass(frozen=True)
class KnownNodes:
    """Which integers are nids: the run keys of a store in order, and the number of nodes of each run."""

    keys: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]

    def holds(self, values: npt.NDArray[np.int64]) -> bool:
        """Returns whether each value is the nid of a node that exists."""
        if not self.keys.size or not values.size:
            return False
        keys = values >> tables.ORDINAL_BITS
        places = np.searchsorted(self.keys, keys).clip(max=self.keys.size - 1)
        return bool(np.all((self.keys[places] == keys) & ((values & _ORDINAL) < self.nodes[places])))


class Result:
    """The rows of a query, fetched when they are first needed.

    Attributes:
        query: What was asked, as a user would write it.
        renderer: Makes the page of :meth:`compare`; set by the store that gave the result.
    """

    renderer: Callable[..., Page] | None = None

    def __init__(
        self,
        query: str,
        fetch: Callable[[], pa.Table],
        known_nodes: Callable[[], KnownNodes],
        cover: Callable[[], Coverage | None] = lambda: None,
        unnamed: str | None = None,
        why_empty: Callable[[], str | None] = lambda: None,
        caption: Callable[[pa.Table], Caption | None] = lambda table: None,
    ) -> None:
        self.query = query
        self._fetch = fetch
        self._known_nodes = known_nodes
        self._cover = cover
        self._unnamed = unnamed
        self._why_empty = why_empty
        self._caption = caption

    def rows_from(self, table: pa.Table) -> None:
        """Takes rows that need no statement."""
        self._fetch = lambda: table

    @cached_property
    def fetched(self) -> pa.Table:
        """The rows as they were fetched: with the node of each as a last column, where that could be added."""
        return self._fetch()

    @property
    def _has_nodes(self) -> bool:
        return NODE_IS_LAST in (self.fetched.schema.metadata or {})

    @cached_property
    def _table(self) -> pa.Table:
        table = self.fetched
        if self._has_nodes:
            table = table.select(range(table.num_columns - 1)).replace_schema_metadata(None)
        return table.rename_columns(_distinct(table.column_names))

    @cached_property
    def _rows(self) -> list[Row]:
        return text.rows_of(self._table)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; a repeated name gets a number."""
        return list(self._table.column_names)

    @cached_property
    def coverage(self) -> Coverage | None:
        """How many nodes were measured, where the query ranks nodes (``worst``, ``first_bad``); else None."""
        return self._cover()

    @cached_property
    def hint(self) -> str | None:
        """Why an empty answer may be empty, such as a name in a condition that nothing has; else None."""
        return None if len(self) else self._why_empty()

    @cached_property
    def caption(self) -> Caption | None:
        """What the answer is about (run, overlay, scope, metric, sample, threshold); None for an SQL statement's."""
        return self._caption(self._table)

    def arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table."""
        return self._table

    def df(self) -> Any:
        """Returns the rows as a pandas data frame.

        Raises:
            FxstoreError: pandas is not installed.
        """
        try:
            return self._table.to_pandas(maps_as_pydicts="strict")
        except ImportError as error:
            raise FxstoreError("a pandas data frame needs pandas", hint="pip install pandas") from error

    def pl(self) -> Any:
        """Returns the rows as a polars data frame.

        Raises:
            FxstoreError: polars is not installed.
        """
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise FxstoreError("a polars data frame needs polars", hint="pip install polars") from error
        return polars.from_arrow(self._table)

    def fetchall(self) -> list[Row]:
        """Returns the rows as tuples; a map is a dict, NULL is None."""
        return list(self._rows)

    def fetchone(self) -> Row | None:
        """Returns the first row, or None where there is none."""
        return self._rows[0] if self._rows else None

    def show(self, file: TextIO | None = None) -> None:
        """Prints the caption, the rows as a box without the columns that the caption says, and the coverage."""
        if self.caption is not None:
            print(text.visible(self.caption.text), file=file)
        columns, rows = self._shown()
        print(text.box(columns, rows, keep_last=columns[-1:] == [NID]), file=file)
        if self.coverage is not None:
            print(self.coverage, file=file)
        if self.hint is not None:
            print(self.hint, file=file)

    def _shown(self) -> tuple[list[str], Sequence[Row]]:
        """Returns the columns and rows that people see.

        Of a question's answer, what is the same in every row stands in the caption, overlays that differ beside their
        values, and nids last. An SQL statement's columns are those that were asked for.
        """
        if self.caption is None:
            return self.columns, self._rows
        names = [name for name in self.columns if name not in self.caption.constant]
        if "overlay" in names and "value" in names:
            names.remove("overlay")
            names.insert(names.index("value") + 1, "overlay")
        if NID in names:
            names.remove(NID)
            names.append(NID)
        kept = [self.columns.index(name) for name in names]
        return [self.columns[place] for place in kept], [tuple(row[place] for place in kept) for row in self._rows]

    def compare(self, **options: Any) -> Page:
        """Returns the page with the nodes that the result names highlighted; options as in ``Store.compare``.

        Raises:
            QueryError: The result names no node.
        """
        if self.renderer is None:
            raise QueryError("this result belongs to no store that renders", hint="ask through fxstore.connect(…)")
        return self.renderer(self, **options)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"<Result of {self.query!r}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        columns, rows = self._shown()
        return text.html_table(columns, rows, caption=self.caption.text if self.caption is not None else "")

    @cached_property
    def node_columns(self) -> list[str]:
        """Names of the columns that hold nodes, found by value: every number in them is the nid of a stored node."""
        known = self._known_nodes()
        return [
            name
            for name, column in zip(self._table.column_names, self._table.columns, strict=True)
            if (numbers := _integers(column)) is not None and known.holds(numbers)
        ]

    @cached_property
    def _added(self) -> list[list[int]] | None:
        """The node of each row, where the query could be completed by it; else None."""
        nodes = self.fetched.column(-1) if self._has_nodes else None
        numbers = _integers(nodes) if nodes is not None else None
        return _lists(nodes) if numbers is not None and self._known_nodes().holds(numbers) else None

    def row_nids(self) -> list[list[int]]:
        """Returns the nodes that each row names, in the order of its columns, each once.

        Where no column holds nodes, it is the node that the query's one relation has in that row, where it has one.
        """
        if len(self) and not self.node_columns and self._added is not None:
            return self._added
        parts = [_lists(self._table.column(name)) for name in self.node_columns]
        return [list(dict.fromkeys(nid for part in row for nid in part)) for row in zip(*parts, strict=True)] or [
            [] for _ in range(len(self))
        ]

    def nids(self) -> list[int]:
        """Returns the nodes that the result names, in the order of its rows, each once.

        Raises:
            QueryError: There are rows, no column of them holds nodes, and the query cannot be completed by one.
        """
        if len(self) and not self.node_columns and self._added is None:
            raise QueryError(
                "the result names no node: no column of it holds nids",
                hint=self._unnamed or TO_ANY,
            )
        return list(dict.fromkeys(nid for row in self.row_nids() for nid in row))


def _distinct(names: Sequence[str]) -> list[str]:
    taken: dict[str, int] = {}
    distinct = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        distinct.append(name if taken[name] == 1 else f"{name}_{taken[name]}")
    return distinct


def _integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
    """Returns all numbers of a column of integers, or of lists of them; None where it is neither or has none."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        column = pa.chunked_array([chunk.flatten() for chunk in column.chunks], kind.value_type)
        kind = column.type
    if not pa.types.is_integer(kind):
        return None
    try:
        numbers = column.drop_null().cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.size else None


def _lists(column: pa.ChunkedArray) -> list[list[int]]:
    """Returns the nids of each row of a node column."""
    found: list[Any] = column.to_pylist()
    return [
        [nid for nid in cell if nid is not None] if isinstance(cell, list) else [] if cell is None else [cell]
        for cell in found
    ]
