"""run_diff and metric_diff: one edit each, and the rows that must tell it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError
from fxstore.records import Graph
from tests.query.conftest import tiny
from tests.query.edited import Model, Op, branches, stacked
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
        (named(model(), (("x", "mean"),)), [("rewired", "mean", "input 1 none -> x")]),
        (named(model(mean={"dtype": "int8", "fingerprint": "other"})), [("changed", "mean", "dtype float32 -> int8")]),
        (named(model(mean={"target": "aten.mean.dim", "fingerprint": "other"})),
         [("changed", "mean", "target aten.mean.default -> aten.mean.dim")]),
        (named(INSERTED), [("added", "add", None), ("rewired", "conv_2", "input 0 relu_1 -> add")]),
        (named([row for row in model() if row["name"] != "relu_2"]),
         [("removed", "relu_2", None), ("rewired", "mean", "input 0 relu_2 -> conv_2")]),
        (named(model(relu_1={"op_type": "gelu", "fingerprint": "gelu"})),
         [("added", "relu_1", None), ("removed", "relu_1", None), ("rewired", "conv_2", "input 0 relu_1 -> relu_1")]),
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
        assert [row[0] == "same" for row in diff] == sorted(row[0] == "same" for row in diff)


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


def test_metric_diff_compares_overlays_of_one_name() -> None:
    def held(value: float) -> list[Any]:
        return [overlay(name, [metric("float:relu_1", "cosine", v)]) for name, v in (("a", value), ("b", 1.0))]

    with connect(":memory:") as store:
        store.commit(run({"float": BASE}, name="base", overlays=held(0.9)))
        store.commit(run({"float": BASE}, name="head", overlays=held(0.8)))
        both, one = store.metric_diff("base", "head", "cosine"), store.metric_diff("base", "head", "cosine", "a")
        worse = ("relu_1", 0.9, 0.8, pytest.approx(-0.1), "worse")
        assert [row[4:9] for row in both] == [worse, ("relu_1", 1.0, 1.0, 0.0, "same")]
        assert both.arrow()["overlay"].to_pylist() == ["a", "b"]
        assert [row[4:9] for row in one] == [worse]
        with pytest.raises(QueryError, match="'c'"):
            store.metric_diff("base", "head", "cosine", "c")


def test_overlays_that_were_named_anew_are_paired_the_newest_first() -> None:
    def held(values: dict[str, float]) -> list[Any]:
        return [overlay(name, [metric("float:relu_1", "cosine", value)]) for name, value in values.items()]

    with connect(":memory:") as store:
        store.commit(run({"float": BASE}, name="base", overlays=held({"gone": 0.5, "kept": 0.9, "monday": 0.8})))
        store.commit(run({"float": BASE}, name="head", overlays=held({"kept": 0.9, "tuesday": 0.7})))
        rows = store.sql("SELECT overlay, base_value, head_value, change FROM metric_diff('base', 'head', 'cosine')")
        assert rows.fetchall() == [
            ("gone", 0.5, None, "vanished"), ("tuesday", 0.8, 0.7, "worse"), ("kept", 0.9, 0.9, "same"),
        ]  # fmt: skip


def test_wrong_runs_are_told(store: Store) -> None:
    store.commit(tiny("other"))
    with pytest.raises(QueryError, match="no run 'othr' in this store"):
        store.run_diff("tiny", "othr")
    with pytest.raises(QueryError, match="has no metric 'mse'"):
        store.metric_diff("tiny", "other", "mse")


def told(base: Model, head: Model) -> dict[str, str]:
    """The change of each node by its key, but of those that are the same."""
    with connect(":memory:") as store:
        store.commit(run({"float": base.graph()}, name="base"))
        store.commit(run({"float": head.graph()}, name="head"))
        rows = store.sql("""
            SELECT change, b.position, h.position FROM run_diff('base', 'head')
            LEFT JOIN nodes AS b ON b.nid = base_nid LEFT JOIN nodes AS h ON h.nid = head_nid""").fetchall()
    found = {}
    for change, before, after in rows:
        keys = {model.ops[at].key for model, at in ((base, before), (head, after)) if isinstance(at, int)}
        (key,) = keys
        found[key] = str(change)
    return {key: change for key, change in found.items() if change != "same"}


LAYERS = stacked(4)
INNER = next(op.key for op in LAYERS.ops if op.module == "model.layers.1.act")
ADD = next(op.key for op in LAYERS.ops if op.module == "model.layers.1")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (LAYERS.rename_modules(lambda path: f"wrapped.{path}").edit("k0", name="x"),
         {op.key: "renamed" for op in LAYERS.ops if op.module or op.name.startswith("p_")}),
        (LAYERS.edit(INNER, module="model.other"), {INNER: "moved"}),
        (LAYERS.edit(INNER, shape=("1", "16")), {INNER: "changed"}),
        (LAYERS.edit(INNER, attrs='{"1": 2}'), {INNER: "changed"}),
        (LAYERS.edit(ADD, inputs=("k0", LAYERS[ADD].inputs[1])), {ADD: "rewired"}),
        (LAYERS.edit(ADD, inputs=LAYERS[ADD].inputs[::-1]), {ADD: "rewired"}),
        (LAYERS.remove(INNER), {INNER: "removed", **{op.key: "rewired" for op in LAYERS.ops if INNER in op.inputs}}),
        (LAYERS.insert_after(INNER, Op("new", "gelu", name="gelu")),
         {"new": "added", **{op.key: "rewired" for op in LAYERS.ops if INNER in op.inputs}}),
        (LAYERS.edit(INNER, name="relu_77"), {INNER: "renamed"}),
    ],
)  # fmt: skip
def test_the_kinds_of_change(head: Model, expected: dict[str, str]) -> None:
    assert told(LAYERS, head) == expected


def test_swapped_branches_have_moved_and_nothing_else() -> None:
    """The fewest nodes that must move: those of the shorter branch."""
    two = branches(2, 2)
    ops = list(two.ops)
    swapped = Model((ops[0], *ops[7:13], *ops[1:7], *ops[13:])).renumber()
    changed = told(two, swapped)
    assert set(changed.values()) == {"moved", "renamed"}
    assert sum(change == "moved" for change in changed.values()) == 6


def test_nested_graphs_follow_the_node_that_calls_them() -> None:
    """A delegate in front takes lowered_module_0; the old one is still itself."""

    def lowered(*operators: str) -> list[Graph]:
        calls = [node(f"call_{i}", op_type="executorch_call_delegate", role="delegate", shape=[op])
                 for i, op in enumerate(operators)]  # fmt: skip
        names = ["x", *(call["name"] for call in calls), "output"]
        top = graph([node("x", "placeholder"), *calls, node("output", "output")], chain(*names))
        inner = [
            graph([node("a", "placeholder"), f"{op}_inner", node("out", "output")], chain("a", f"{op}_inner", "out"),
                  path=f"lowered_module_{i}", parent=("", f"call_{i}"))
            for i, op in enumerate(operators)
        ]  # fmt: skip
        return [top, *inner]

    with connect(":memory:") as store:
        store.commit(run({"lowered": lowered("conv", "mul")}, name="base"))
        store.commit(run({"lowered": lowered("gelu", "conv", "mul")}, name="head"))
        rows = store.sql(
            "SELECT change, name, detail FROM run_diff('base', 'head') WHERE name LIKE '%inner'"
        ).fetchall()
    assert sorted(map(str, rows)) == sorted(map(str, [
        ("added", "gelu_inner", None),
        ("moved", "conv_inner", "graph lowered_module_0 -> lowered_module_1"),
        ("moved", "mul_inner", "graph lowered_module_1 -> lowered_module_2"),
    ]))  # fmt: skip


def test_an_operator_that_a_backend_took_has_moved_into_its_graph() -> None:
    def stage(inside: bool) -> list[Graph]:
        taken = node("conv", module_path="m")
        call = node("call", op_type="executorch_call_delegate", role="delegate")
        outside = [node("x", "placeholder"), *([] if inside else [taken]), call, "relu", node("output", "output")]
        names = [row if isinstance(row, str) else row["name"] for row in outside]
        body = [node("a", "placeholder"), *([taken] if inside else []), "mul", node("out", "output")]
        inner = [row if isinstance(row, str) else row["name"] for row in body]
        return [graph(outside, chain(*names)), graph(body, chain(*inner), path="lowered_module_0", parent=("", "call"))]

    with connect(":memory:") as store:
        store.commit(run({"lowered": stage(inside=False)}, name="base"))
        store.commit(run({"lowered": stage(inside=True)}, name="head"))
        rows = store.sql("SELECT change, detail FROM run_diff('base', 'head') WHERE name = 'conv'").fetchall()
    assert rows == [("rewired", "input 0 x -> a; graph none -> lowered_module_0")]
