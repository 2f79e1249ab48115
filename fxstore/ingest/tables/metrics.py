"""Overlays out of whatever numbers a user brings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from fxstore.errors import SourceError, UsageError
from fxstore.ingest.adapters import Ingested
from fxstore.ingest.executorch.etdump import kind_of
from fxstore.ingest.executorch.inspector import NANOSECONDS
from fxstore.ingest.overlays import Laid, NodeOverlay, RunNodes
from fxstore.ingest.tables import metric_rows, metric_tables
from fxstore.ingest.tables.metric_rows import About, Where
from fxstore.ingest.tables.metric_tables import literal, records
from fxstore.metrics.definitions import known_better

# Tables that other tools make: Inspector's numeric gap and events, and the CSV of the QNN debugger.


_GAP: Final = frozenset({"aot_ops", "runtime_ops", "gap"})
_QNN: Final = ("name", "op_code", "target", "num_users", "pytorch_layout", "scale(s)", "zero_point(s)", "debug_handle")
_VERDICT: Final = "is_valid_score"
_NAN: Final = "an output holds NaN; Inspector reports it as 0"
_ZEROS: Final = "the runtime's output is all zero: its buffer may be missing"
_NO_MATCH: Final = "the debugger has no match between device and CPU"
_UNKNOWN: Final = (
    "the file shows a part of the outputs: whether they hold NaN, which Inspector reports as 0, is not known"
)
_EVENTS: Final = frozenset({"event_block_name", "event_name"})
_UNIT: Final = re.compile(r"p50(?: \((\w+)\))?")
_STATISTICS: Final = ("p10", "p50", "p90", "avg", "min", "max")
_LATENCIES: Final = {
    "kernel": "latency", "delegate_call": "latency", "operator": "latency_dispatch", "control": "latency_control",
    "framework": "latency_framework", "delegate_inner": "latency_inner",
}  # fmt: skip
_NO_NODE: Final = "the event names no node: make the Inspector with the ETRecord, or pass the Inspector itself"


def is_numeric_gap(columns: Iterable[str]) -> bool:
    """Tells whether columns are those of ``Inspector.calculate_numeric_gap``."""
    return set(columns) >= _GAP


def is_qnn_debugger(columns: Iterable[str]) -> bool:
    """Tells whether columns are those of the QNN debugger's CSV; the metric's own name stands between them."""
    names = list(columns)
    return tuple(names[: len(_QNN)]) == _QNN and names[-1] == _VERDICT


def numeric_gap(frame: Any, name: str, metric: str, where: Where) -> NodeOverlay:
    """Returns the gaps of Inspector's frame on the last of each row's ``aot_ops``, whose output was compared.

    The frame does not say which metric it holds, so it has a direction only where ``metric`` names one that is known.
    Inspector writes 0 where an output holds NaN: the value is NaN here. Where the runtime's output is all zero and the
    reference's is not, the reason says so: Inspector takes a missing buffer for zeros.
    """
    rows = [row for one in records(frame) for row in _gaps(one, metric, where)]
    better = known_better(metric)
    return NodeOverlay.of(name, "accuracy", rows, source="Inspector.calculate_numeric_gap", better=better)


def _gaps(row: dict[str, Any], metric: str, where: Where) -> Iterator[dict[str, Any]]:
    ops, gaps = (_several(literal(row[key])) for key in ("aot_ops", "gap"))
    reference, runtime = (_outputs(row.get(f"{side}_intermediate_output")) for side in ("aot", "runtime"))
    for port, gap in enumerate(gaps):
        value, reason = _checked(gap, reference, runtime, port if len(gaps) > 1 else None)
        yield {
            "stage": where.stage, "method": where.method, "path": where.path, "node": ops[-1] if ops else None,
            "port": port, "metric": metric, "value": value, "reason": reason, "sample": 0,
            "text": None if len(ops) < 2 else f"{', '.join(ops)}",
        }  # fmt: skip


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _outputs(value: Any) -> list[Any]:
    if isinstance(value, str):  # of a file
        return [value]
    given = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    found: list[Any] = []
    for one in given:
        try:
            found.append(np.asarray(one, dtype=np.float64))
        except (TypeError, ValueError, RuntimeError):
            found.append(None)
    return found


def _checked(gap: Any, reference: list[Any], runtime: list[Any], port: int | None) -> tuple[float | None, str | None]:
    pick = slice(None) if port is None else slice(port, port + 1)
    right, left = ([one for one in side[pick] if one is not None] for side in (reference, runtime))
    if texts := [one for one in (*reference, *runtime) if isinstance(one, str)]:
        if any(re.search(r"\bnan\b", text) for text in texts):
            return float("nan"), _NAN
        return (None if gap is None else float(gap)), _UNKNOWN if any("..." in text for text in texts) else None
    if any(np.isnan(one).any() for one in (*right, *left)):
        return float("nan"), _NAN
    zeros = bool(left) and all(not one.any() for one in left) and any(one.any() for one in right)
    return (None if gap is None else float(gap)), _ZEROS if zeros else None


def qnn_debugger(table: pa.Table, name: str, where: Where) -> NodeOverlay:
    """Returns score and verdict of the debugger's CSV; a node without a match has neither, and the reason."""
    columns = table.to_pydict()
    metric = table.column_names[-2]
    rows: list[dict[str, Any]] = []
    about = {"stage": where.stage, "method": where.method, "path": where.path, "port": 0, "sample": 0}
    for node, score, valid in zip(columns["name"], columns[metric], columns[_VERDICT], strict=True):
        number = _score(score)
        reason = _NO_MATCH if number is None else None
        rows.append({**about, "node": node, "metric": metric, "value": number, "reason": reason})
        if valid is not None and number is not None:
            is_valid = str(valid).lower() == "true"
            rows[-1]["verdict"] = "pass" if is_valid else "fail"
            text = "valid" if is_valid else "not valid"
            rows.append({**about, "node": node, "metric": _VERDICT, "value": None, "text": text})
    source = "QNN intermediate output debugger"
    return NodeOverlay.of(name, "accuracy", rows, source=source, better=known_better(metric))


def is_events(columns: Iterable[str]) -> bool:
    """Tells whether columns are those of ``Inspector.to_dataframe``, or of what Inspector prints and writes of it."""
    names = set(columns)
    return names >= _EVENTS and any(map(_UNIT.fullmatch, names))


def events(frame: Any, name: str, where: Where) -> NodeOverlay:
    """Returns the times of Inspector's events on the nodes that they name.

    An event's own name is never a node's. Its node is the one that ``stack_traces`` names, which an Inspector with an
    ETRecord fills in; of several each has the time, as ``latency_shared``. With ``raw`` there is one row for each
    execution, in ns where the frame says its unit; without, the frame's own statistics.
    """
    rows_of_events = list(records(frame))
    header = next(iter(rows_of_events), {})
    said = next((found[1] for column in header if (found := _UNIT.fullmatch(column))), None)
    factor = NANOSECONDS.get(str(said), 1)
    unit = "ns" if said in NANOSECONDS else said
    kept = "raw" in header
    rows = [row for one in rows_of_events for row in _event(one, factor, said, where)]
    return NodeOverlay.of(
        name, "latency" if kept else "statistics", rows, source="Inspector.to_dataframe", unit=unit, better="lower"
    )


def _event(row: dict[str, Any], factor: float, unit: str | None, where: Where) -> Iterator[dict[str, Any]]:
    event, identifier = row["event_name"], literal(row.get("delegate_debug_identifier"))
    inside = str(row.get("is_delegated_op")).lower() == "true"
    kind = kind_of(event, identifier or "" if inside else None, 0)
    named = literal(row.get("stack_traces"))
    # Inspector ends every name in a "_" of its own.
    nodes = [str(n).removesuffix("_") for n in named] if isinstance(named, dict) and kind != "framework" else []
    metric = _LATENCIES.get(kind, "latency_other")
    if metric == "latency" and len(nodes) > 1:
        metric = "latency_shared"
    reason = None if nodes or kind == "framework" else _NO_NODE
    places: list[str | None] = [*nodes] or [None]
    for node in places:
        about = {
            "stage": where.stage, "method": where.method, "path": where.path, "node": node, "port": 0,
            "text": event, "reason": reason,
        }  # fmt: skip
        for suffix, value, sample in _times(row, unit):
            yield {**about, "metric": metric + suffix, "value": value * factor, "sample": sample}


def _times(row: dict[str, Any], unit: str | None) -> Iterator[tuple[str, float, int | None]]:
    """Yields suffix of the metric, time and execution."""
    if "raw" in row:
        for sample, value in enumerate(_several(literal(row["raw"]))):
            if value is not None:
                yield "", float(value), sample
        return
    for statistic in _STATISTICS:
        value = row.get(f"{statistic} ({unit})" if unit else statistic)
        if value is not None:
            yield f".{'mean' if statistic == 'avg' else statistic}", float(value), None


def _score(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


_SEVERAL = "names several nodes"


@dataclass(frozen=True)
class Given(NodeOverlay):
    """An overlay that a user brings: a name that stands in several places is an error, not a guess."""

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlay on the run's nodes.

        Raises:
            UsageError: A name stands in several graphs, and nothing says in which.
        """
        check_names(self, run)
        return super().lay(run)


def check_names(overlay: NodeOverlay, run: RunNodes) -> None:
    """Raises where a name of the overlay stands in several graphs of the run, and nothing says in which."""
    columns = [overlay.rows[key].to_pylist() for key in ("node", "stage", "method", "path")]
    for node, stage, method, path in dict.fromkeys(zip(*columns, strict=True)):
        found = run.find(node, stage, method, path) if node is not None else 0
        if isinstance(found, str) and found.startswith(_SEVERAL):
            raise UsageError(
                f"overlay {overlay.name}: {node!r} {found}", hint="say which: stage='…', method='…' or path='…'"
            )


def overlay_of(
    name: str,
    data: Any,
    where: Mapping[str, str | None],
    about: Mapping[str, str | None],
    metric: str | None = None,
    metrics: Sequence[str] | None = None,
    node: str | None = None,
) -> Given:
    """Returns the overlay that a mapping, a table or a file of one gives.

    Args:
        name: Its name.
        data: Mapping of :func:`fxstore.ingest.tables.metric_rows.rows_of_mapping`, DataFrame, anything with
            ``__arrow_c_stream__``, or the path of a CSV or Parquet file.
        where: ``stage``, ``method`` and ``path`` of the nodes; None: any.
        about: ``kind``, ``unit`` and ``better``; None: told by the rows.
        metric: Name of the metric, where the data does not name it.
        metrics: Which to take of a table; default: all.
        node: The column that names the nodes.

    Raises:
        SourceError: The data cannot be read, or is refused.
        UsageError: It names no nodes, or an argument does not fit it.
    """
    if not isinstance(name, str) or not name:
        raise UsageError("an overlay's name is a text", hint="overlay('accuracy', …)")
    given, place = About(**about), Where(**where)
    if isinstance(data, Mapping):
        rows = metric_rows.rows_of_mapping(data, place, metric or "value")
        return _given(name, rows, "given", given)
    if isinstance(data, str):
        data = Path(data)
    table = data if metric_tables.is_pandas(data) and _is_inspectors(data.columns) else _table(data)
    names = table.column_names if isinstance(table, pa.Table) else list(table.columns)
    if is_numeric_gap(names):
        return _known(numeric_gap(table, name, metric or "gap", place), given)
    if is_events(names):
        return _known(events(table, name, place), given)
    if is_qnn_debugger(table.column_names):
        return _known(qnn_debugger(table, name, place), given)
    if metric is not None and metrics is None:
        metrics = [metric]
    rows = metric_rows.rows_of_table(table, place, metrics, node)
    source = data.suffix[1:].upper() if isinstance(data, Path) else "given"
    return _given(name, rows, source, given)


def _is_inspectors(columns: Iterable[str]) -> bool:
    """Tells whether a frame is Inspector's, whose cells are lists, dicts and tensors."""
    names = list(columns)
    return is_numeric_gap(names) or is_events(names)


def _given(name: str, rows: pa.Table, source: str, about: About) -> Given:
    kind, unit, better = about.of(rows)
    return Given(name, kind, rows, source, unit, better)


def _table(data: Any) -> Any:
    if isinstance(data, Path) and not data.is_file():
        raise SourceError(f"no such file: {data}", hint="check the path")
    if not (isinstance(data, Path) or metric_tables.is_pandas(data) or hasattr(data, "__arrow_c_stream__")):
        raise UsageError(
            f"an overlay cannot be made of a {type(data).__name__}",
            hint="pass a mapping from node to number, a DataFrame, an Arrow table, or a CSV or Parquet file",
        )
    return metric_tables.read_table(data)


def _known(overlay: NodeOverlay, about: About) -> Given:
    """Returns the same with what the user says about it."""
    found = Given(overlay.name, overlay.kind, overlay.rows, overlay.source, overlay.unit, overlay.better)
    return replace(
        found,
        kind=about.kind or found.kind,
        unit=about.unit or found.unit,
        better=about.better or found.better,
    )


# The adapter for numbers by node: mappings, DataFrames, Arrow streams, CSV and Parquet files.


class MetricsAdapter:
    """A table or a mapping of metrics: an overlay on the stages of the run's other sources."""

    options = frozenset({"stage", "method", "path", "metric", "metrics", "node", "kind", "unit", "better"})
    endings = (".csv", ".tsv", ".parquet")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a mapping of numbers, a table, or a file of one."""
        from fxstore.ingest.tables import metric_rows, metric_tables

        if isinstance(source, Path):
            return source.suffix.lower() in metric_tables.SUFFIXES and source.is_file()
        return (
            metric_tables.is_pandas(source)
            or hasattr(source, "__arrow_c_stream__")
            or metric_rows.is_mapping_of_metrics(source)
        )

    def read(
        self,
        source: Any,
        *,
        stage: str | None = None,
        method: str | None = None,
        path: str | None = None,
        metric: str | None = None,
        metrics: Sequence[str] | str | None = None,
        node: str | None = None,
        kind: str | None = None,
        unit: str | None = None,
        better: str | None = None,
    ) -> Ingested:
        """Returns one overlay, called after the file, or ``metrics``.

        Args:
            stage: Where its nodes are; default: in whatever stage has the name, as long as it is one.
            method: Entry point that they belong to; default: any.
            path: Nested graph that they stand in; default: the outermost that has the name.
            metric: Name of the metric, for a mapping of plain numbers and for Inspector's frame.
            metrics: Those to take from a table; default: all.
            node: The column that names the nodes; default: ``node``, ``name``, ``node_name`` or ``id``.
            kind: ``accuracy``, ``latency``, ``category``, ``static`` or ``statistics``; default: ``category`` for
                texts, else ``accuracy``.
            better: ``higher`` or ``lower``.

        Raises:
            SourceError: The table cannot be read, or is refused.
            UsageError: An option does not fit it.
        """
        # MERGED

        name = source.stem if isinstance(source, Path) else "metrics"
        chosen = [part for part in metrics.split(",") if part] if isinstance(metrics, str) else metrics
        about = {"kind": kind, "unit": unit, "better": better}
        where = {"stage": stage, "method": method, "path": path}
        return Ingested(overlays=(overlay_of(name, source, where, about, metric, chosen, node),))
