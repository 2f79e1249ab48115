"""Lays the events of an ETDump on the nodes of a run: each where it belongs, and none of them twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.ingest.executorch.etdump import Dump
from fxstore.ingest.executorch.executions import EventRows, Execution, executions, methods_of
from fxstore.ingest.executorch.runtime_values import runtime_statistics
from fxstore.ingest.overlays import ROWS, Laid, RunNodes
from fxstore.records import Overlay


@dataclass(frozen=True)
class EventLayer:
    """What an ETDump holds, as overlays: its times, and statistics of the values that were logged, if any were.

    Times: one row per event, ``sample`` the execution, ``text`` the event's name. ``latency`` is a node's own time, one
    row per execution of the node; these alone may be added. Every other metric is a part of it, contains it, or is it
    once more: ``latency_inner`` the operators of a delegate, ``latency_shared`` one instruction on each of the several
    nodes of an edge graph that it stands for, ``latency_dispatch``, ``latency_control``, ``latency_framework`` (of the
    run, no node's), ``latency_other``.

    Args:
        compared: What the values are compared with, or why with nothing; the statistics' source says it.
        values: Whether to lay their statistics at all.
        stages: On which stages; None: on all.
        method: Of which method all executions are; None: the events tell.
    """

    dump: Dump
    source: str = "ETDump"
    name: str = "latency"
    compared: str = "compared with nothing: no inputs were given"
    values: bool = True
    stages: Sequence[str] | None = None
    method: str | None = None

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlays; what fits no method or no node is on the run itself, with the reason."""
        methods = methods_of(run, self.stages, self.method)
        placed = list(executions(self.dump, methods))
        rows = EventRows()
        notes = list(self._times(placed, rows))
        if self.values and self.dump.has_values:
            table, lost = runtime_statistics(placed)
            source = f"{self.source} and debug buffer; {self.compared}"
            told = () if lost is None else (f"runtime values: {lost}",)
            yield Laid(Overlay("runtime values", "statistics", source, table), told)
        yield Laid(Overlay(self.name, "latency", self.source, rows.table(), "ns", "lower"), tuple(notes))

    def _times(self, placed: Sequence[Execution], rows: EventRows) -> Iterator[str]:
        for block in self.dump.blocks:
            if not block.is_execution:
                rows.framework(block.events, None)
        for one in placed:
            if one.reason is not None:
                rows.lost(one.block.events, one.reason)
                yield f"{self.name}: execution {one.number} of the dump {one.reason}"
                continue
            for i, method in enumerate(one.methods):
                if lost := method.lay(one.block, one.sample, rows, first=i == 0):
                    yield f"{self.name}: {lost} events lie on no node of stage {method.stage}"


# Statistics of the events of a latency overlay, which keeps every event.


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
