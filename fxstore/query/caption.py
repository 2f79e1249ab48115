"""The line over an answer: which run, overlay, scope, metric, sample and threshold it is about.

What is the same in every row is said once, in the caption, and leaves the table that people see. Files and pipes keep
all columns; there the caption goes to standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fxstore.query import text

if TYPE_CHECKING:
    from fxstore.store import CommittedRun

Row = Mapping[str, Any]

# In the order of the caption; a reader finds the others (name, source, value) in the table.
_CONSTANT: Final = (
    "metric",
    "overlay",
    "scope",
    "sample",
    "sample_name",
    "method",
    "path",
    "status",
    "asked_nid",
    "sync_id",
)
_QUIET: Final = frozenset({"status", "method", "asked_nid", "sync_id"})
_ASKED: Final = ("metric", "threshold", "stage", "node", "overlay", "scope", "sample")
_RANKINGS: Final = frozenset({"worst", "first_bad", "stage_errors"})


@dataclass(frozen=True)
class Caption:
    """What is said over an answer.

    Attributes:
        text: One line.
        constant: Columns that hold the same in every row, and that the line says or that say nothing.
    """

    text: str
    constant: tuple[str, ...]


def caption_of(
    question: str,
    asked: Mapping[str, object],
    run: CommittedRun | None,
    table: pa.Table,
    numbers: Callable[[], Sequence[Row]],
) -> Caption:
    """Returns the caption of an answer.

    Args:
        question: Name of the macro that answered.
        asked: Its arguments by name, without those that were left out.
        run: The run that it asked, given or by default; None for a question about several runs.
        table: The answer.
        numbers: The run's metrics by overlay, as ``store.metrics()`` gives them; only asked for where they are needed.
    """
    told = [f"run {run.name} ({run.run_id})"] if run is not None else []
    told += [f"{side} {asked[side]}" for side in ("base", "head") if side in asked]
    same = {
        name: table[name][0].as_py() for name in _CONSTANT if name in table.column_names and _is_constant(table[name])
    }
    shown = {name: value for name, value in same.items() if value not in (None, "") and name not in _QUIET}
    known = {name: value for name, value in asked.items() if name in _ASKED and value is not None} | shown
    if "sample_name" in known:
        known["sample"] = f"{known.get('sample')} ({known.pop('sample_name')})"
    told += [f"{name} {text.cell(value)}" for name, value in _ordered(known)]
    if "sample" not in known and "sample" in table.column_names and table["sample"].null_count < table.num_rows:
        told.append("each node's worst sample")
    line = ", ".join(told)
    other = _others(asked, numbers()) if question in _RANKINGS and asked.get("overlay") is not None else ""
    return Caption(f"{line}. {other}" if other else line, tuple(same))


def _ordered(known: Row) -> list[tuple[str, Any]]:
    return [(name, known[name]) for name in (*_ASKED, "path") if name in known]


def _is_constant(column: pa.ChunkedArray) -> bool:
    # Arrow's own functions take longer to load than a look at the few rows of an answer.
    return len(column) > 0 and all(value == column[0] for value in column)


def _others(asked: Row, rows: Sequence[Row]) -> str:
    """Says which other overlays hold the metric, and how bad their worst number is."""
    found: dict[str, tuple[float | None, str | None]] = {}
    for row in rows:
        if row["metric"] == asked.get("metric") and row["overlay"] != asked["overlay"] and row["better"] is not None:
            found[row["overlay"]] = _worse(found.get(row["overlay"], (None, None)), (row["worst"], row["better"]))
    if not found:
        return ""
    count = "1 other overlay holds" if len(found) == 1 else f"{len(found)} other overlays hold"
    name, (value, _) = min(found.items(), key=lambda item: _badness(*item[1]))
    worst = f"; the worst is {text.cell(value)} in {name}" if value is not None else ""
    return f"{count} {asked['metric']}{worst}."


def _worse(
    one: tuple[float | None, str | None], other: tuple[float | None, str | None]
) -> tuple[float | None, str | None]:
    return min(one, other, key=lambda item: _badness(*item))


def _badness(value: float | None, better: str | None) -> tuple[int, float]:
    """Sorts numbers from the worst on: NaN, then the number against its direction, then none."""
    if value is None:
        return 2, 0.0
    if math.isnan(value):
        return 0, 0.0
    return 1, value if better == "higher" else -value
