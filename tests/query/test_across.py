"""Counts, fallback, and one node over many runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from fxstore import Store, connect
from fxstore.cli import run as fxstore
from fxstore.errors import QueryError
from fxstore.records import RunRecord
from tests.store.records import chain, graph, metric, node, overlay, run


def lowered(name: str = "r", times: Mapping[str, Sequence[float]] | None = None) -> RunRecord:
    """x -> softmax -> a delegate (conv, relu) -> gelu, gelu_1."""
    call = node("call", op_type="executorch_call_delegate", role="delegate", backend="Xnnpack")
    names = ["x", "softmax", "call", "gelu", "gelu_1", "output"]
    rows = [node("x", "placeholder"), "softmax", call, "gelu", "gelu_1", node("output", "output")]
    inner = graph([node("a", "placeholder"), "conv", "relu", node("out", "output")], chain("a", "conv", "relu", "out"),
                  path="lowered_module_0", parent=("", "call"))  # fmt: skip
    latency = [{**metric(f"lowered:{n}", "latency", v), "sample": i, "unit": "ns"} for n, vs in (times or {}).items()
               for i, v in enumerate(vs)]  # fmt: skip
    overlays = [overlay("times", latency, "latency", "lower")] if times else []
    return run({"float": graph(["relu", "relu_1"], chain("relu", "relu_1")),
                "lowered": [graph(rows, chain(*names)), inner]}, name=name, overlays=overlays)  # fmt: skip


def test_operators_are_counted_per_stage_with_those_in_delegates() -> None:
    with connect(":memory:") as store:
        store.commit(lowered())
        rows = store.sql("SELECT stage, op_type, nodes, delegated FROM op_counts()").fetchall()
        assert rows == [
            ("float", "relu", 2, 0), ("lowered", "gelu", 2, 0), ("lowered", "conv", 1, 1),
            ("lowered", "executorch_call_delegate", 1, 0), ("lowered", "relu", 1, 1), ("lowered", "softmax", 1, 0),
        ]  # fmt: skip
        assert len(store.op_counts(stage="lowered").nids()) == 6
        store.commit(lowered("again"))
        assert store.sql("SELECT sum(nodes) FROM operators WHERE op_type = 'relu'").fetchall() == [(6,)]


def test_fallback_with_its_time_and_without() -> None:
    with connect(":memory:") as store:
        store.commit(lowered())
        assert store.sql("SELECT op_type, nodes, time, unit, share, measured FROM fallback()").fetchall() == [
            ("gelu", 2, None, None, None, 0), ("softmax", 1, None, None, None, 0),
        ]  # fmt: skip
        times = {"softmax": [5.0, 6.0, 90.0], "gelu": [1.0, 1.0, 1.0], "call": [13.0, 13.0, 13.0]}
        store.commit(lowered("timed", times))
        rows = store.sql("SELECT op_type, time, unit, share, measured FROM fallback(run := 'timed')").fetchall()
        assert rows == [("softmax", 6.0, "ns", 0.3, 1), ("gelu", 1.0, "ns", 0.05, 1)]
        assert len(store.fallback().nids()) == 3


def nightly(name: str, value: float | None, edit: bool = False, model: str = "tiny") -> RunRecord:
    """relu between two convolutions; edited: an operator in front, and all names counted anew."""
    modules = {"conv": "a", "relu": "a.act", "relu_1": "b.act"}
    if edit:
        modules = {"relu": "new", "conv": "a", "relu_1": "a.act", "relu_2": "b.act"}
    inner = [node(n, module_path=module) for n, module in modules.items()]
    rows = [node("x", "placeholder"), *inner, node("output", "output")]
    names = [row["name"] for row in rows]
    of = "relu_1" if edit else "relu"
    rows_of = [metric(f"edge:{of}", "cosine", value, reason=None if value is not None else "not executed")]
    record = run({"edge": graph(rows, chain(*names))}, name=name, overlays=[overlay("acc", rows_of)])
    return RunRecord(**{**vars(record), "model": model})


@pytest.fixture
def nights() -> Store:
    store = connect(":memory:")
    values = [0.99, 0.98, None, 0.5, 0.4, 0.97, math.nan]
    for i, value in enumerate(values):
        store.commit(nightly(f"n{i}", value, edit=i in (2, 4, 6)))
    store.commit(nightly("other", 0.1, model="other"))
    return store


def test_the_history_of_a_node_follows_it_through_renamed_graphs(nights: Store) -> None:
    with nights as store:
        rows = store.history("edge", "relu", "cosine", run="n0").fetchall()
        names = [(row[1], row[4], row[5], row[7]) for row in rows]
        assert [row[:2] for row in names[:6]] == [
            ("n0", 0.99), ("n1", 0.98), ("n2", None), ("n3", 0.5), ("n4", 0.4), ("n5", 0.97),
        ]  # fmt: skip
        assert names[6][0] == "n6"
        assert math.isnan(float(str(names[6][1])))
        assert [row[2] for row in names] == ["ok", "ok", "not_measured", "ok", "ok", "ok", "non_finite"]
        assert [row[3] for row in names[:3]] == ["graph", "graph", "fingerprint"]
        found = store.sql(
            "SELECT name FROM nodes WHERE nid IN (SELECT nid FROM history('edge', 'relu', 'cosine', run := 'n0'))"
        )
        assert {name for (name,) in found} == {"relu", "relu_1"}


def test_the_first_run_where_it_broke(nights: Store) -> None:
    with nights as store:
        rows = store.sql("""
            SELECT run, value, last_good_value, unknown, is_over
            FROM first_broken('edge', 'relu', 'cosine', 0.9, run := 'n0')
        """).fetchall()
        assert [row[0] for row in rows] == ["n6", "n3"]
        assert rows[1] == ("n3", 0.5, 0.98, 1, True)
        assert rows[0][2:] == (0.97, 0, False)
        with pytest.raises(QueryError, match="no node 'reluu'"):
            store.first_broken("edge", "reluu", "cosine", 0.9)


def test_a_node_without_a_counterpart_says_so() -> None:
    with connect(":memory:") as store:
        measured = [overlay("acc", [metric("edge:gelu", "cosine", 0.5)])]
        store.commit(run({"edge": graph(["gelu"])}, name="old", overlays=measured))
        store.commit(run({"edge": graph(["tanh"])}, name="new"))
        rows = store.sql("SELECT run, nid IS NULL, status, reason FROM history('edge', 'tanh', 'cosine')").fetchall()
        assert rows == [("old", True, "not_measured", "no counterpart"), ("new", False, "not_measured", "no data")]


def test_the_same_operator_over_all_models(nights: Store) -> None:
    with nights as store:
        rows = store.sql("SELECT model, name FROM same_operator('relu')").fetchall()
        assert rows == [
            ("other", "relu"),
            ("other", "relu_1"),
            ("tiny", "relu"),
            ("tiny", "relu_1"),
            ("tiny", "relu_2"),
        ]
        assert len(store.same_operator("relu").nids()) == 5


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        (["op-counts", "--stage", "float"], "float,relu,2,0,"),
        (["fallback"], "gelu,2,,,,0,lowered,"),
        (["history", "float", "relu", "latency"], ",no data,graph,"),
        (["first-broken", "float", "relu", "latency", "--threshold", "1"], "nid,run,run_id"),
        (["same-operator", "softmax"], "tiny,"),
    ],
)
def test_each_has_a_verb(
    asked: list[str], row: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path_factory.mktemp("store") / "runs")
    with connect(path) as store:
        store.commit(lowered(times={"call": [5.0]}))
    assert fxstore([*asked, "--store", path, "--format", "csv"]) == 0
    assert row in capsys.readouterr().out
