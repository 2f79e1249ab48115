"""Rows of the times that an ETDump holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from fxstore.ingest.attach import Latency
from fxstore.ingest.etdump import Event
from fxstore.ingest.overlays import ROWS


class EventRows:
    """Collects rows."""

    def __init__(self) -> None:
        self._rows: list[tuple[int | None, str, float, str | None, str | None, int | None]] = []

    def add(
        self, ordinal: int | None, metric: str, event: Latency | Event, reason: str | None, sample: int | None
    ) -> None:
        """Adds one timed event."""
        self._rows.append((ordinal, metric, float(event.duration_ns or 0), event.name, reason, sample))

    def framework(self, events: Iterable[Event], sample: int | None) -> None:
        """Adds the runtime's own events, on the run."""
        for event in events:
            if event.kind == "framework":
                self.add(None, "latency_framework", event, None, sample)

    def lost(self, events: Iterable[Event], reason: str, sample: int | None = None) -> int:
        """Adds timed events that lie on no node; returns how many."""
        timed = [event for event in events if event.duration_ns is not None]
        for event in timed:
            framework = event.kind == "framework"
            metric = "latency_framework" if framework else "latency_unplaced"
            self.add(None, metric, event, None if framework else reason, sample)
        return sum(event.kind != "framework" for event in timed)

    def table(self) -> pa.Table:
        """Returns the rows; schema :data:`fxstore.ingest.overlays.ROWS`."""
        count = len(self._rows)
        columns: dict[str, Any] = {name: [None] * count for name in ROWS.names}
        columns["status"] = ["ok"] * count
        for key, cells in zip(
            ("ordinal", "metric", "value", "text", "reason", "sample"), zip(*self._rows, strict=True), strict=False
        ):
            columns[key] = list(cells)
        return pa.table(columns, schema=ROWS)
