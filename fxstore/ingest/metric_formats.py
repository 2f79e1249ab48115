"""Two tables that other tools make: Inspector's numeric gap, and the CSV of the QNN intermediate output debugger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from fxstore.ingest.metric_rows import Where
from fxstore.ingest.overlays import NodeOverlay

_GAP: Final = frozenset({"aot_ops", "runtime_ops", "gap"})
_QNN: Final = ("name", "op_code", "target", "num_users", "pytorch_layout", "scale(s)", "zero_point(s)", "debug_handle")
_VERDICT: Final = "is_valid_score"
_NAN: Final = "an output holds NaN; Inspector reports it as 0"
_ZEROS: Final = "the runtime's output is all zero: its buffer may be missing"
_NO_MATCH: Final = "the debugger has no match between device and CPU"
_LOWER: Final = ("mse", "atol", "mae", "l1", "max_abs")


def is_numeric_gap(columns: Iterable[str]) -> bool:
    """Tells whether columns are those of ``Inspector.calculate_numeric_gap``."""
    return set(columns) >= _GAP


def is_qnn_debugger(columns: Iterable[str]) -> bool:
    """Tells whether columns are those of the QNN debugger's CSV; the metric's own name stands between them."""
    names = list(columns)
    return tuple(names[: len(_QNN)]) == _QNN and names[-1] == _VERDICT


def numeric_gap(frame: Any, name: str, metric: str, where: Where) -> NodeOverlay:
    """Returns the gaps of Inspector's frame on the last of each row's ``aot_ops``, whose output was compared.

    Inspector writes 0 where an output holds NaN: the value is NaN here. Where the runtime's output is all zero and the
    reference's is not, the reason says so: Inspector takes a missing buffer for zeros.
    """
    rows = [row for one in _records(frame) for row in _gaps(one, metric, where)]
    return NodeOverlay.of(name, "accuracy", rows, source="Inspector.calculate_numeric_gap")


def _records(frame: Any) -> Iterator[dict[str, Any]]:
    columns = {name: list(frame[name]) for name in frame.columns}
    for i in range(len(frame)):
        yield {name: values[i] for name, values in columns.items()}


def _gaps(row: dict[str, Any], metric: str, where: Where) -> Iterator[dict[str, Any]]:
    ops = [row["aot_ops"]] if isinstance(row["aot_ops"], str) else list(row["aot_ops"])
    gaps = list(row["gap"]) if isinstance(row["gap"], (list, tuple)) else [row["gap"]]
    reference, runtime = (_outputs(row.get(f"{side}_intermediate_output")) for side in ("aot", "runtime"))
    for port, gap in enumerate(gaps):
        value, reason = _checked(gap, reference, runtime, port if len(gaps) > 1 else None)
        yield {
            "stage": where.stage, "method": where.method, "path": where.path, "node": ops[-1] if ops else None,
            "port": port, "metric": metric, "value": value, "reason": reason, "sample": 0,
            "text": None if len(ops) < 2 else f"{', '.join(ops)}",
        }  # fmt: skip


def _outputs(value: Any) -> list[Any]:
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
            verdict = "valid" if str(valid).lower() == "true" else "not valid"
            rows.append({**about, "node": node, "metric": _VERDICT, "value": None, "text": verdict})
    better = "lower" if metric.lower() in _LOWER else "higher" if _is_ratio(metric.lower()) else None
    return NodeOverlay.of(name, "accuracy", rows, source="QNN intermediate output debugger", better=better)


def _is_ratio(metric: str) -> bool:
    return "cos" in metric or "snr" in metric


def _score(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
