"""run_diff and metric_diff: one edit each, and the rows that must tell it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError
from fxstore.records import Graph
from tests.query.conftest import tiny
from tests.store.records import Row, chain, graph, metric, node, overlay, run


def model(**edits: Row) -> list[Row]:
    names = ["conv_1", "relu_1", "conv_2", "relu_2", "mean"]
    rows = [node("x", "placeholder"), *(node(n, module_path=f"m.{n[-1]}") for n in names), node("output", "output")]
    return [{**row, **edits.get(row["name"], {})} for row in rows]


def named(rows: list[Row], extra: tuple[tuple[str, str], ...] = ()) -> Graph:
    names = [row["name"] for row in rows]
    return graph(rows, [*chain(*names), *extra])


def changes(base: Graph, head: Graph) -> list[tuple[object, ...]]:
    with connect(":memory:") as store:
        store.commit(run({"float": base}, name="base"))
        store.commit(run({"float": head}, name="head"))
        query = "SELECT change, name, detail FROM run_diff('base', 'head') WHERE change <> 'same'"
        return store.sql(query).fetchall()


BASE = named(model())
INSERTED = [*model()[:3], node("add"), *model()[3:]]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (BASE, []),
        (named(model(relu_1={"name": "relu_9"})), [("renamed", "relu_9", "name relu_1 -> relu_9")]),
        (named(model(relu_1={"module_path": "m.9"})), [("moved", "relu_1", "module m.1 -> m.9")]),
        (named(model(), (("x", "mean"),)), [("rewired", "mean", "other inputs")]),
        (named(model(mean={"dtype": "int8", "fingerprint": "other"})), [("changed", "mean", "dtype float32 -> int8")]),
        (named(model(mean={"target": "aten.mean.dim", "fingerprint": "other"})),
         [("changed", "mean", "target aten.mean.default -> aten.mean.dim")]),
        (named(INSERTED), [("added", "add", None), ("rewired", "conv_2", "other inputs")]),
        (named([row for row in model() if row["name"] != "relu_2"]),
         [("removed", "relu_2", None), ("rewired", "mean", "other inputs")]),
        (named(model(relu_1={"op_type": "gelu", "fingerprint": "gelu"})),
         [("added", "relu_1", None), ("removed", "relu_1", None), ("rewired", "conv_2", "other inputs")]),
    ],
)  # fmt: skip
def test_one_edit(head: Graph, expected: list[tuple[object, ...]]) -> None:
    assert changes(BASE, head) == expected


def test_every_node_of_either_run_has_one_row() -> None:
    with connect(":memory:") as store:
        store.commit(run({"float": BASE}, name="base"))
        store.commit(run({"float": named(INSERTED)}, name="head"))
        diff = store.run_diff("base", "head")
        base = [row[1] for row in diff if row[1] is not None]
        head = [row[2] for row in diff if row[2] is not None]
        assert len(base) == len(set(base)) == 7
        assert len(head) == len(set(head)) == 8
        assert diff.node_columns == ["base_nid", "head_nid"]


def test_equal_graphs_in_two_stages_are_matched_stage_by_stage() -> None:
    with connect(":memory:") as store:
        for name in ("base", "head"):
            store.commit(run({"a": BASE, "b": BASE}, name=name))
        rows = store.sql("""
            SELECT d.change, count(*), bool_and(b.stage = h.stage AND b.name = h.name)
            FROM run_diff('base', 'head') AS d JOIN nodes AS b ON b.nid = base_nid JOIN nodes AS h ON h.nid = head_nid
            GROUP BY ALL""").fetchall()
        assert rows == [("same", 14, True)]


def measured(values: dict[str, Any], better: str | None = "higher") -> Any:
    return [overlay("acc", [metric(f"float:{n}", "cosine", v) for n, v in values.items()], better=better)]


def test_metric_diff_puts_what_got_worse_first() -> None:
    base = {"conv_1": 0.9, "relu_1": 0.9, "conv_2": 0.9, "relu_2": math.nan, "x": 0.5, "output": 0.7}
    head = {"conv_1": 0.8, "relu_1": math.nan, "conv_2": 0.95, "relu_2": 0.9, "mean": 0.4, "output": 0.7}
    with connect(":memory:") as store:
        store.commit(run({"float": BASE}, name="base", overlays=measured(base)))
        renamed = named(model(conv_1={"name": "conv_7"}))
        head["conv_7"] = head.pop("conv_1")
        store.commit(run({"float": renamed}, name="head", overlays=measured(head)))
        rows = store.sql("SELECT rank, name, change FROM metric_diff('base', 'head', 'cosine')").fetchall()
        assert rows == [
            (1, "relu_1", "broken"), (2, "x", "vanished"), (3, "conv_7", "worse"), (4, "output", "same"),
            (5, "conv_2", "better"), (6, "relu_2", "repaired"), (7, "mean", "new"),
        ]  # fmt: skip
        assert store.sql(
            "SELECT delta FROM metric_diff('base', 'head', 'cosine') WHERE name = 'conv_7'"
        ).fetchall() == [(pytest.approx(-0.1),)]


def test_metric_diff_knows_the_direction() -> None:
    with connect(":memory:") as store:
        store.commit(run({"float": BASE}, name="base", overlays=measured({"conv_1": 1.0, "relu_1": 1.0}, "lower")))
        store.commit(run({"float": BASE}, name="head", overlays=measured({"conv_1": 2.0, "relu_1": 0.5}, "lower")))
        rows = store.sql("SELECT name, change FROM metric_diff('base', 'head', 'cosine')").fetchall()
        assert rows == [("conv_1", "worse"), ("relu_1", "better")]


def test_wrong_runs_are_told(store: Store) -> None:
    store.commit(tiny("other"))
    with pytest.raises(QueryError, match="no run 'othr' in this store"):
        store.run_diff("tiny", "othr")
    with pytest.raises(QueryError, match="has no metric 'mse'"):
        store.metric_diff("tiny", "other", "mse")
