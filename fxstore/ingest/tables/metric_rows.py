"""Rows of an overlay out of a table or a mapping that a user brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fxstore.errors import UsageError, nearest
from fxstore.ingest.overlays import NAMED
from fxstore.kinds import kind_of
from fxstore.metrics.definitions import DIRECTIONS, known_better

NO_VALUE: Final = "no value given"
_ABOUT: Final = ("stage", "method", "path", "port", "sample", "scope", "reason", "ref_stage", "ref_node", "text")
_NODE_FIRST: Final = ("node", "name", "node_name", "id")


@dataclass(frozen=True)
class Where:
    """What every row means, unless it says otherwise itself: a stage, a method, a nested graph; None: any."""

    stage: str | None = None
    method: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class About:
    """What an overlay is; as :class:`fxstore.records.Overlay` has it.

    Raises:
        UsageError: The kind or the direction is none that there is.
    """

    kind: str | None = None
    unit: str | None = None
    better: str | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            kind_of(self.kind)
        if self.better is not None and self.better not in DIRECTIONS:
            hint = nearest(str(self.better), DIRECTIONS) or f"one of {', '.join(DIRECTIONS)}"
            raise UsageError(f"better cannot be {self.better!r}", hint=hint)
        if self.unit is not None and not isinstance(self.unit, str):
            raise UsageError(f"a unit is a text, not {self.unit!r}", hint="unit='ns'")

    def of(self, rows: pa.Table) -> tuple[str, str | None, str | None]:
        """Returns kind, unit and direction of an overlay with these rows; what is not given is told by them."""
        text = rows.num_rows > 0 and rows["value"].null_count == rows.num_rows > rows["text"].null_count
        names = rows["metric"].unique().to_pylist()
        better = self.better
        if better is None and len(names) == 1:
            better = known_better(names[0])
        return self.kind or ("category" if text else "accuracy"), self.unit, better


def rows_of_mapping(data: Mapping[Any, Any], where: Where, metric: str = "value") -> pa.Table:
    """Returns one row per node and metric.

    Args:
        data: Node, or (node, port), to a number, a text, None, or a mapping from metric to one of these.

    Raises:
        UsageError: A key is no name, or a value none of these.
    """
    columns = _Columns(where)
    for key, given in data.items():
        node, port = key if isinstance(key, tuple) and len(key) == 2 else (key, 0)
        if not isinstance(node, str) or not isinstance(port, int) or isinstance(port, bool) or port < 0:
            raise UsageError(f"{key!r} names no node", hint="keys are names of nodes, or (name, port)")
        for name, value in given.items() if isinstance(given, Mapping) else ((metric, given),):
            columns.add(node, port, str(name), value)
    return columns.table()


class _Columns:
    def __init__(self, where: Where) -> None:
        self.where = where
        self.nodes: list[str] = []
        self.ports: list[int] = []
        self.metrics: list[str] = []
        self.values: list[float | None] = []
        self.texts: list[str | None] = []

    def add(self, node: str, port: int, metric: str, given: Any) -> None:
        value, text = measured(given, f"{metric} of node {node!r}")
        self.nodes.append(node)
        self.ports.append(port)
        self.metrics.append(metric)
        self.values.append(value)
        self.texts.append(text)

    def table(self) -> pa.Table:
        numbers, texts = pa.array(self.values, pa.float64()), pa.array(self.texts, pa.string())
        given = {"node": self.nodes, "port": self.ports, "metric": self.metrics, "value": numbers, "text": texts}
        return _named(len(self.nodes), given, self.where)


def measured(given: Any, what: str) -> tuple[float | None, str | None]:
    """Returns a value as number or text; neither for None. NaN is a number, a truth value is a text.

    Raises:
        UsageError: It is neither number nor text.
    """
    if given is None or type(given).__name__ in ("NAType", "NaTType"):
        return None, None
    if isinstance(given, str):
        return None, given
    if isinstance(given, bool) or type(given).__name__ in ("bool_", "bool"):
        return None, "true" if given else "false"
    try:
        return float(given), None
    except (TypeError, ValueError, RuntimeError, OverflowError):
        kind = type(given).__name__
        raise UsageError(f"{what} is a {kind}", hint="a value is a number, a text, or None for no value") from None


def _named(count: int, given: Mapping[str, Any], where: Where) -> pa.Table:
    """Returns rows of :data:`fxstore.ingest.overlays.NAMED`; a row without number and text says so."""
    columns: dict[str, Any] = {name: pa.nulls(count, NAMED.field(name).type) for name in NAMED.names}
    columns["sample"] = pa.array([0] * count, pa.int32())
    for name in ("stage", "method", "path"):
        if (fixed := getattr(where, name)) is not None:
            columns[name] = pa.array([fixed] * count, pa.string())
    columns.update(given)
    table = pa.table(columns, schema=NAMED)
    empty = pc.and_(table["value"].is_null(), table["text"].is_null())
    reason = pc.if_else(pc.and_(empty, table["reason"].is_null()), NO_VALUE, table["reason"])
    return table.set_column(table.schema.get_field_index("reason"), "reason", reason)


def rows_of_table(
    table: pa.Table, where: Where, metrics: Sequence[str] | None = None, node: str | None = None
) -> pa.Table:
    """Returns one row per node and metric.

    A table with the columns ``metric`` and ``value`` has one already; else every column that does not say where a row
    belongs is a metric.

    Args:
        metrics: The columns, or in a long table the metrics, to take; default: all.
        node: The column that names the nodes; default: ``node``, ``name``, ``node_name`` or ``id``.

    Raises:
        UsageError: A column is not there.
    """
    named = {name: i for i, name in enumerate(table.column_names)}
    key = _node_column(named, node)
    common = {name: _typed(table, named, name) for name in _ABOUT if name in named}
    common["node"] = _text(table.column(named[key]))
    if {"metric", "value"} <= named.keys():
        return _long(table, named, common, where, metrics)
    chosen = _chosen(list(named), [key, *_ABOUT], metrics)
    parts = []
    for name in chosen:
        values, texts = _measured(table.column(named[name]), name)
        given = {**common, "metric": pa.array([name] * table.num_rows), "value": values, "text": texts}
        parts.append(_named(table.num_rows, _ports(given), where))
    return pa.concat_tables(parts) if parts else NAMED.empty_table()


def _long(
    table: pa.Table, named: Mapping[str, int], common: dict[str, Any], where: Where, metrics: Sequence[str] | None
) -> pa.Table:
    values, texts = _measured(table.column(named["value"]), "value")
    if "text" in common:
        texts = pc.coalesce(common["text"], texts)
    given = {**common, "metric": _text(table.column(named["metric"])), "value": values, "text": texts}
    rows = _named(table.num_rows, _ports(given), where)
    if metrics is None:
        return rows
    known = rows["metric"].unique().to_pylist()
    _known(metrics, known, "metric")
    return rows.filter(pc.is_in(rows["metric"], pa.array(list(metrics), pa.string())))


def _ports(given: dict[str, Any]) -> dict[str, Any]:
    count = len(given["metric"])
    return given if "port" in given else {**given, "port": pa.array([0] * count, pa.int32())}


def _node_column(named: Iterable[str], node: str | None) -> str:
    names = list(named)
    if node is not None:
        _known([node], names, "column")
        return node
    for name in _NODE_FIRST:
        if name in names:
            return name
    raise UsageError(
        "no column names the nodes", hint=f"call it 'node', or say which: node='…'; there are {', '.join(names[:20])}"
    )


def _chosen(columns: list[str], context: list[str], metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        return [name for name in columns if name not in context]
    _known(metrics, columns, "column")
    return list(metrics)


def _known(asked: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in asked:
        if name not in known:
            hint = nearest(str(name), known) or f"there are {', '.join(map(str, known[:20]))}"
            raise UsageError(f"there is no {what} {name!r}", hint=hint)


def _typed(table: pa.Table, named: Mapping[str, int], name: str) -> Any:
    column, kind = table.column(named[name]), NAMED.field(name).type
    try:
        return _text(column) if pa.types.is_string(kind) else column.cast(kind)
    except pa.ArrowException:
        raise UsageError(
            f"column {name!r} holds what is no whole number", hint="ports and samples count from 0"
        ) from None


def _text(column: Any) -> Any:
    if pa.types.is_string(column.type):
        return column
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _measured(column: Any, name: str) -> tuple[Any, Any]:
    """Returns numbers and texts of a column."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.cast(pa.float64(), safe=False), pa.nulls(len(column), pa.string())
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.float64()), pa.nulls(len(column), pa.string())
    pairs = [_of_cell(value, name) for value in column.to_pylist()]
    return pa.array([v for v, _ in pairs], pa.float64()), pa.array([t for _, t in pairs], pa.string())


def _of_cell(value: Any, name: str) -> tuple[float | None, str | None]:
    """A text is a number only where the whole column is: the file's reader told so already."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (list, tuple, dict, bytes)):
        return None, str(value)[:1000]
    return measured(value, f"column {name!r}")


def is_mapping_of_metrics(source: object) -> bool:
    """Tells whether a mapping holds numbers or texts by node."""
    if not isinstance(source, Mapping) or not source:
        return False
    return all(_is_key(key) and _is_value(value) for key, value in _first(source.items()))


def _first(items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    yield from (item for item, _ in zip(items, range(100), strict=False))


def _is_key(key: object) -> bool:
    return isinstance(key, str) or (isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str))


def _is_value(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(k, str) and _is_value(v) for k, v in _first(value.items()))
    return value is None or isinstance(value, (str, int, float)) or hasattr(value, "__float__")
