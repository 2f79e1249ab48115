"""Tables that other tools make: Inspector's numeric gap and events, and the CSV of the QNN debugger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from fxstore.ingest.etdump import kind_of
from fxstore.ingest.inspector import NANOSECONDS
from fxstore.ingest.metric_rows import Where
from fxstore.ingest.metric_tables import literal, records
from fxstore.ingest.overlays import NodeOverlay
from fxstore.metrics.definitions import known_better

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
