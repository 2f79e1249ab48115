"""Which stage introduced an error, over N stages."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fxstore import connect
from fxstore.errors import QueryError
from tests.store.records import chain, graph, metric, node, overlay, run

STAGES = ("float", "export", "passes", "device")
Numbers = dict[str, tuple[float | None, float | None]]


def answer(numbers: Numbers, against: dict[str, str], better: str = "higher", threshold: float = 0.99) -> Any:
    """What a run of four stages tells: of each measured stage the metric of ``mul`` and of ``tanh``."""
    graphs = {
        stage: graph(["mul", "tanh", node("output", "output")], chain("mul", "tanh", "output")) for stage in STAGES
    }
    overlays = [
        overlay(
            f"{stage} vs {against[stage]}",
            [
                metric(f"{stage}:{name}", "m", value, ref=f"{against[stage]}:{name}")
                for name, value in zip(("mul", "tanh"), values, strict=True)
            ],
            better=better,
        )
        for stage, values in numbers.items()
    ]
    with connect(":memory:") as store:
        store.commit(run(graphs, overlays=overlays))
        rows = store.stage_errors("m", threshold).arrow().to_pylist()
    return [(row["stage"], row["introduced"], row["name"], row["output"], row["bad"]) for row in rows]


FLOAT = dict.fromkeys(STAGES, "float")
PREVIOUS = dict(zip(STAGES[1:], STAGES, strict=False))


def test_a_stage_after_the_culprit_only_inherits_what_is_measured_against_float() -> None:
    found = answer({"export": (1.0, 1.0), "passes": (0.5, 0.8), "device": (0.5, 0.8)}, FLOAT)
    assert found == [
        ("export", False, None, 1.0, 0),
        ("passes", True, "mul", 0.8, 2),
        ("device", False, "mul", 0.8, 2),
    ]


def test_against_the_stage_before_each_has_errors_of_its_own() -> None:
    found = answer({"export": (0.9, 1.0), "passes": (1.0, 1.0), "device": (1.0, math.nan)}, PREVIOUS)
    assert [row[:3] for row in found] == [
        ("export", True, "mul"), ("passes", False, None), ("device", True, "tanh"),
    ]  # fmt: skip


def test_lower_may_be_better_and_what_is_not_measured_is_not_good() -> None:
    found = answer({"export": (0.0, None), "passes": (0.02, 0.0)}, FLOAT, "lower", 0.01)
    assert found == [("export", False, None, None, 0), ("passes", True, "mul", 0.0, 1)]


def test_an_unknown_metric_is_refused() -> None:
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["mul"])}))
        with pytest.raises(QueryError, match="no metric"):
            store.stage_errors("cosine", 0.99)
