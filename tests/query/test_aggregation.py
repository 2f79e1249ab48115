"""One number per node: the worst of an accuracy, the median of times, the sum of bytes, everywhere the same."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.render.page.run_tables import node_values
from tests.query.conftest import nid
from tests.store.records import Row, chain, graph, metric, node, overlay, run

# One cold execution of twenty.
COLD = [900.0] + [1.0 + i / 100 for i in range(19)]
STEADY = [10.0 + i / 100 for i in range(20)]


def times(name: str, values: list[float]) -> list[Row]:
    return [metric(f"edge:{name}", "latency", value, sample=i, unit="ns") for i, value in enumerate(values)]


def size(name: str, value: float | None, port: int = 0, sample: int | None = None) -> Row:
    return metric(f"edge:{name}", "size", value, unit="bytes", port=port, sample=sample)


def night(name: str = "night", factor: float = 1.0) -> Any:
    made = graph([node("x", "placeholder"), "conv", "relu", "split"], chain("x", "conv", "relu", "split"))
    sizes = [
        size("conv", 60.0), size("split", 40.0), size("split", 40.0, 1), size("relu", 50.0, sample=0),
        size("relu", 50.0, sample=1), size("x", 10.0), size("x", None, 1),
    ]  # fmt: skip
    cosines = [metric(f"edge:{n}", "cosine", v, sample=i) for n, vs in (("conv", (1.0, 0.9)), ("relu", (0.8, 0.95)))
               for i, v in enumerate(vs)]  # fmt: skip
    latency = [*times("conv", COLD), *times("relu", [factor * v for v in STEADY])]
    overlays = [
        overlay("times", latency, "latency", "lower"), overlay("sizes", sizes, "static", "lower"),
        overlay("acc", cosines),
    ]  # fmt: skip
    return run({"edge": made}, name=name, overlays=overlays)


@pytest.fixture
def store() -> Any:
    with connect(":memory:") as opened:
        opened.commit(night())
        opened.commit(night("slower", 2.0))
        yield opened


def test_one_cold_execution_does_not_make_a_kernel_the_slowest(store: Store) -> None:
    columns = "name, round(value, 3), round(p10, 3), round(p90, 3), executions, cold, sample"
    rows = store.sql(f"SELECT {columns} FROM worst('latency', run := 'night')").fetchall()
    assert rows == [("relu", 10.095, 10.019, 10.171, 20, 0, None), ("conv", 1.095, 1.018, 1.162, 20, 1, None)]


def test_a_time_of_one_execution(store: Store) -> None:
    rows = store.sql("SELECT name, value, executions FROM worst('latency', run := 'night', sample := 0)").fetchall()
    assert rows == [("conv", 900.0, 1), ("relu", 10.0, 1)]


def test_only_the_first_executions_can_be_cold() -> None:
    with connect(":memory:") as opened:
        for values, cold in (([9.0, 8.0, 1.0, 1.0, 1.0], 2), ([1.0, 1.0, 9.0, 1.0], 0), ([5.0], 0), ([9.0, 1.0], 0)):
            opened.commit(run({"edge": graph(["conv"])}, overlays=[overlay("t", times("conv", values), "latency")]))
            assert opened.sql("SELECT cold, executions FROM worst('latency')").fetchall() == [(cold, len(values))]


def test_bytes_of_all_ports_add_up_and_those_of_samples_do_not(store: Store) -> None:
    rows = store.sql("SELECT name, value, sample, reason FROM worst('size', run := 'night')").fetchall()
    assert rows == [
        ("split", 80.0, None, None), ("conv", 60.0, None, None), ("relu", 50.0, 0, None),
        ("x", 10.0, None, "the sum of 1 outputs of 2"),
    ]  # fmt: skip


EXPECTED = {"latency": ("relu", 10.095), "size": ("split", 80.0), "cosine": ("relu", 0.8)}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_every_question_gives_the_same_number(store: Store, name: str) -> None:
    of, value = EXPECTED[name]
    known = pytest.approx(value)
    assert dict(store.sql("SELECT name, value FROM worst($1, run := 'night')", [name]).fetchall())[of] == known
    diff = store.sql("SELECT name, base_value FROM metric_diff('night', 'night', $1)", [name]).fetchall()
    assert dict(diff)[of] == known
    history = store.sql("SELECT run, value FROM history('edge', $1, $2, run := 'night')", [of, name]).fetchall()
    assert dict(history)["night"] == known
    found = store.run("night")
    assert found is not None
    (page,) = [one for one in node_values(store, found.run_id) if one.metric == name]
    assert page.values[nid(store, f"edge:{of}", "night")] == known
    assert {row[0] for row in store.sql("SELECT aggregation FROM metrics WHERE metric = $1", [name]).fetchall()} == {
        {"latency": "median", "size": "sum", "cosine": "worst"}[name]
    }


def test_a_gate_sees_the_same_numbers(store: Store) -> None:
    tripped = store.check("night", "night", ["size <= 70", "cosine >= 0.85"])
    assert [(row["name"], row["value"]) for row in tripped.rows() if row["state"] == "tripped"] == [
        ("split", 80.0), ("relu", 0.8),
    ]  # fmt: skip
    slower = store.check("night", "slower", ["latency <= 1.5 * base"])
    assert [row["name"] for row in slower.rows() if row["state"] == "tripped"] == ["relu"]


def test_the_spread_of_both_runs_is_in_a_diff(store: Store) -> None:
    rows = store.sql(
        "SELECT name, base_executions, head_executions, head_p90 > 2 * base_p10, change "
        "FROM metric_diff('night', 'slower', 'latency')"
    ).fetchall()
    assert rows == [("relu", 20, 20, True, "worse"), ("conv", 20, 20, False, "same")]


def test_nan_in_one_sample_is_the_worst_of_all() -> None:
    rows = [metric("edge:conv", "cosine", v, sample=i) for i, v in enumerate((0.1, math.nan, 0.5))]
    with connect(":memory:") as opened:
        opened.commit(run({"edge": graph(["conv"])}, overlays=[overlay("acc", rows)]))
        ((value, status, sample),) = opened.sql("SELECT value, status, sample FROM worst('cosine')").fetchall()
        assert math.isnan(value)
        assert (status, sample) == ("non_finite", 1)
