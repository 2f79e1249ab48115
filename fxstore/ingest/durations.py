"""Statistics of the events of a latency overlay, which keeps every event."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.ingest.overlays import ROWS
from fxstore.records import Overlay


def durations(overlay: Overlay) -> Overlay | None:
    """Returns count, min, p50, p90, max and mean of each node's events, in the unit of the overlay; None without any.

    A node's own time (``latency``) is one event per execution; what is nested in it or contains it has a metric of its
    own, told apart by the event's name in ``text``, so that nothing is summed twice. The run's own events have no node.
    Percentiles are interpolated linearly.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in overlay.metrics.to_pylist():
        if row["value"] is not None:
            own = row["metric"] == "latency"
            groups[row["ordinal"], row["metric"], None if own else row["text"]].append(row)
    if not groups:
        return None
    rows = [row for (_, _, text), events in groups.items() for row in _statistics(events, text)]
    table = pa.Table.from_pylist(rows, schema=ROWS)
    return Overlay(f"{overlay.name} statistics", "statistics", overlay.source, table, overlay.unit, overlay.better)


def _statistics(events: list[dict[str, Any]], text: str | None) -> list[dict[str, Any]]:
    times = np.array([event["value"] for event in events])
    p50, p90 = np.percentile(times, [50, 90])
    found = {
        "count": float(times.size),
        "min": float(times.min()),
        "p50": float(p50),
        "p90": float(p90),
        "max": float(times.max()),
        "mean": float(times.mean()),
    }
    first = {**events[0], "sample": None, "text": text}
    return [
        {
            **first,
            "metric": f"{first['metric']}.{name}",
            "value": value,
            "unit": "1" if name == "count" else first["unit"],
        }
        for name, value in found.items()
    ]
