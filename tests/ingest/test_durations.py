"""Statistics of latencies: every event counts once."""

from __future__ import annotations

from fxstore.ingest.executorch.attach import Latency
from fxstore.ingest.executorch.events import durations
from fxstore.ingest.executorch.executions import EventRows
from fxstore.ingest.overlays import ROWS
from fxstore.records import Overlay


def overlay(*events: Latency) -> Overlay:
    rows = EventRows()
    for event in events:
        rows.add(event.position, event.metric, event, None, 0)
    return Overlay("runtime latency", "latency", "ETDump", rows.table(), "ns", "lower")


def test_nested_and_repeated_events_are_never_summed() -> None:
    own = [Latency(0, "latency", 10 * i, "DELEGATE_CALL") for i in range(1, 12)]
    inner = [Latency(0, "latency_inner", 3, "conv"), Latency(0, "latency_inner", 4, "relu")]
    found = durations(overlay(*own, *inner, Latency(None, "latency_framework", 500, "Method::execute")))
    assert found is not None
    got = {(row["ordinal"], row["metric"], row["text"]): row["value"] for row in found.metrics.to_pylist()}
    wanted = {"count": 11, "min": 10, "p50": 60, "p90": 100, "max": 110, "mean": 60}
    assert {name: got[0, f"latency.{name}", None] for name in wanted} == wanted
    assert got[0, "latency_inner.count", "conv"] == got[0, "latency_inner.count", "relu"] == 1
    assert got[None, "latency_framework.max", "Method::execute"] == 500


def test_without_events_there_are_none() -> None:
    assert durations(Overlay("x", "latency", "ETDump", ROWS.empty_table())) is None
