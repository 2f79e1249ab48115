"""worst and first_bad: broken first, no data never, and where an error starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.store.records import Row, chain, graph, metric, node, overlay, run

INF = math.inf


def names(store: Store, query: str) -> list[object]:
    return [row[0] for row in store.sql(f"SELECT name FROM {query}")]


def ranked(rows: Sequence[tuple[str, Sequence[Row], str, str | None]], query: str, *others: str) -> list[object]:
    nodes = dict.fromkeys([*(row["of"].split(":")[1] for _, found, *_ in rows for row in found), *others])
    with connect(":memory:") as store:
        store.commit(run({"float": graph(list(nodes))}, overlays=rows))
        return names(store, query)


def test_nan_then_infinite_then_worst_and_never_no_data() -> None:
    values = [
        ("conv", 0.2),
        ("gelu", math.nan),
        ("relu", None),
        ("add", 0.97),
        ("mul", 0.999),
        ("cat", -INF),
        ("sub", INF),
    ]
    rows = [metric(f"float:{name}", "cosine", value) for name, value in values]
    assert ranked([overlay("a", rows)], "worst('cosine')") == ["gelu", "cat", "sub", "conv", "add", "mul"]
    assert ranked([overlay("a", rows)], "worst('cosine', n := 3)") == ["gelu", "cat", "sub"]
    assert ranked([overlay("a", rows, better="lower")], "worst('cosine')") == [
        "gelu",
        "sub",
        "cat",
        "mul",
        "add",
        "conv",
    ]


def test_infinity_that_is_the_exact_answer_is_not_broken() -> None:
    """The SQNR of two equal tensors is +inf; a cosine never is."""
    rows = [metric("float:a", "sqnr", INF), metric("float:b", "sqnr", 30.0), metric("float:c", "sqnr", -INF)]
    assert ranked([overlay("acc", rows, better=None)], "worst('sqnr')") == ["c", "b", "a"]
    assert ranked([overlay("acc", rows, better=None)], "first_bad('sqnr', 20)") == ["c"]


@pytest.mark.parametrize(("name", "order"), [("cosine", ["b", "a"]), ("mse", ["a", "b"])])
def test_without_a_direction_the_metric_has_its_own(name: str, order: list[str]) -> None:
    rows = [metric("float:a", name, 0.9), metric("float:b", name, 0.1)]
    assert ranked([overlay("acc", rows, better=None)], f"worst('{name}')") == order


REFUSED: dict[str, tuple[Any, ...]] = {
    "worst": ("own",), "first_bad": ("own", 0.5), "stage_errors": ("own", 0.5),
    "metric_diff": ("tiny", "tiny", "own"), "first_broken": ("float", "a", "own", 0.5),
}  # fmt: skip


@pytest.mark.parametrize("question", REFUSED)
def test_a_metric_of_which_nobody_has_said_what_is_better_is_refused(question: str) -> None:
    rows = [metric("float:a", "own", 0.9), metric("float:b", "own", 0.1)]
    arguments = REFUSED[question]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["a", "b"])}, overlays=[overlay("acc", rows, better=None)]))
        asked = (
            lambda: store.sql(f"FROM {question}({', '.join(map(repr, arguments))})"),
            lambda: getattr(store, question)(*arguments),
            lambda: store.check("tiny", "tiny", ["own >= 0.5"]).result,
        )
        for ask in asked:
            with pytest.raises(QueryError, match="'own' has no direction") as error:
                ask().fetchall()
            assert "better='higher'" in str(error.value.hint)


@pytest.mark.parametrize("row", ["higher", None])
def test_the_same_is_ranked_once_it_is_told(row: str | None) -> None:
    rows = [metric("float:a", "own", 0.9, better=row), metric("float:b", "own", 0.1, better=row)]
    told = overlay("acc", rows, better=None if row else "higher")
    assert ranked([told], "worst('own')") == ["b", "a"]
    assert ranked([told], "first_bad('own', 0.5)") == ["b"]


def test_what_has_no_direction_is_shown_in_neutral_colours() -> None:
    rows = [metric("float:a", "own", 0.9), metric("float:b", "own", 0.1)]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["a", "b"])}, overlays=[overlay("acc", rows, better=None)]))
        assert store.sql("SELECT value, better FROM metrics ORDER BY value").fetchall() == [(0.1, None), (0.9, None)]
        shown = store.compare(color_by="own").model.colors[0]
        assert (shown.metric, shown.better, sorted(shown.values.values())) == ("own", None, [0.1, 0.9])
        assert [row[4] for row in store.history("float", "a", "own").fetchall()] == [0.9]


def test_a_time_needs_no_declaration() -> None:
    rows = [metric("float:a", "ms", 1.0), metric("float:b", "ms", 3.0)]
    assert ranked([overlay("times", rows, "latency", None)], "worst('ms')") == ["b", "a"]


def test_one_row_per_node_its_worst_port_and_sample() -> None:
    rows = [
        metric("float:a", "cosine", 0.9, sample=0), metric("float:a", "cosine", 0.1, sample=1),
        metric("float:a", "cosine", 0.5, sample=0, port=1), metric("float:b", "cosine", 0.3, sample=0),
    ]  # fmt: skip
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["a", "b"])}, overlays=[overlay("acc", rows)]))
        assert store.sql("SELECT name, value, rank FROM worst('cosine')").fetchall() == [("a", 0.1, 1), ("b", 0.3, 2)]


def test_scopes_are_never_mixed() -> None:
    rows = [
        metric("float:a", "cosine", 0.1, scope="local"), metric("float:a", "cosine", 0.8, scope="cumulative"),
        metric("float:b", "cosine", 0.2, scope="local"),
    ]  # fmt: skip
    assert ranked([overlay("acc", rows)], "worst('cosine')") == ["a"]
    assert ranked([overlay("acc", rows)], "worst('cosine', scope := 'local')") == ["a", "b"]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["a", "b"])}, overlays=[overlay("acc", rows)]))
        assert store.sql("SELECT value, scope FROM worst('cosine')").fetchall() == [(0.8, "cumulative")]


def test_every_overlay_that_holds_the_metric_and_the_row_names_it() -> None:
    old = overlay("old", [metric("float:a", "cosine", 0.1), metric("float:a", "mse", 5.0)])
    new = overlay("new", [metric("float:b", "cosine", 0.2), metric("float:a", "cosine", 0.3)])
    assert ranked([old, new], "worst('cosine')") == ["a", "b", "a"]
    assert ranked([old, new], "worst('cosine', overlay := 'old')") == ["a"]
    assert ranked([old, new], "worst('mse')") == ["a"]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(["a", "b"])}, overlays=[old, new]))
        assert store.worst("cosine").arrow()["overlay"].to_pylist() == ["old", "new", "new"]


def test_statistics_of_values_are_no_errors_of_the_same_name() -> None:
    """``max_abs`` of a value, and of a difference."""
    described = overlay("values", [metric("float:a", "max_abs", 900.0)], "statistics", None)
    compared = overlay("acc", [metric("float:b", "max_abs", 0.2)], better="lower")
    assert ranked([compared, described], "worst('max_abs')") == ["b"]
    assert ranked([described], "worst('max_abs')") == ["a"]
    assert ranked([compared, described], "worst('max_abs', overlay := 'values')") == ["a"]


def test_a_stage_has_the_overlays_that_measure_it() -> None:
    stages = {"quantized": graph(["a"]), "runtime": graph(["b"])}
    overlays = [
        overlay("q", [metric("quantized:a", "cosine", 0.5)]), overlay("r", [metric("runtime:b", "cosine", 0.6)]),
    ]  # fmt: skip
    with connect(":memory:") as store:
        store.commit(run(stages, overlays=overlays))
        assert names(store, "worst('cosine')") == ["a", "b"]
        assert names(store, "worst('cosine', stage := 'quantized')") == ["a"]
        assert store.metric_diff("tiny", "tiny", "cosine").arrow()["overlay"].to_pylist() == ["q", "r"]


def test_the_run_is_the_latest_complete_one_or_named() -> None:
    with connect(":memory:") as store:
        for name, status, value in (("one", "complete", 0.1), ("two", "complete", 0.2), ("two", "partial", 0.3)):
            rows = [metric("float:a", "cosine", value)]
            store.commit(run({"float": graph(["a"])}, name=name, status=status, overlays=[overlay("acc", rows)]))
        value = "SELECT value FROM worst('cosine'{})"
        assert store.sql(value.format("")).fetchall() == [(0.2,)]
        assert store.sql(value.format(", run := 'one'")).fetchall() == [(0.1,)]
        assert store.sql(value.format(", run := 'two'")).fetchall() == [(0.3,)]
        found = store.run("one")
        assert found is not None
        assert store.sql(value.format(", run := $1"), [found.run_id]).fetchall() == [(0.1,)]


def test_counterparts_are_the_primary_members_of_the_focus_set() -> None:
    stages = {"float": graph(["conv", "bn"]), "edge": graph(["convolution"]), "runtime": graph(["call", "copy"])}
    sync = [["float:conv", "float:bn*", "edge:convolution*", "runtime:call"], ["runtime:call!", "float:conv!"]]
    with connect(":memory:") as store:
        store.commit(run(stages, sync=sync, overlays=[overlay("acc", [metric("edge:convolution", "cosine", 0.1)])]))
        rows = store.sql("SELECT name, counterparts FROM worst('cosine')").fetchall()
        assert rows == [("convolution", {"float": "bn", "runtime": "call"})]


GROUP_NORM = {"conv2d": 1.0, "sin": 1.0, "group_norm": 0.8575, "relu": 0.9623, "mean": 0.3346, "sub": 1.0}
GROUP_NORM_EDGES = [
    ("x", "conv2d"), ("x", "sin"), ("conv2d", "group_norm"), ("group_norm", "relu"), ("group_norm", "mean"),
    ("group_norm", "sub"), ("mean", "sub"),
]  # fmt: skip


def test_first_bad_is_where_it_starts_not_the_worst() -> None:
    made = graph([node("x", "placeholder"), *GROUP_NORM], GROUP_NORM_EDGES)
    rows = [metric(f"float:{name}", "cosine", value) for name, value in GROUP_NORM.items()]
    with connect(":memory:") as store:
        store.commit(run({"float": made}, overlays=[overlay("acc", rows)]))
        assert names(store, "first_bad('cosine', 0.99)") == ["group_norm"]
        assert names(store, "worst('cosine', n := 1)") == ["mean"]


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        ({"a": 1.0, "b": 0.5, "c": 0.4}, ["b"]),
        ({"a": 0.5, "b": None, "c": 0.4}, ["a"]),  # through a node that was not measured
        ({"a": 0.5, "b": 1.0, "c": 0.4}, ["a", "c"]),  # a good node in between ends the damage
        ({"a": math.nan, "b": 0.4, "c": 0.4}, ["a"]),
        ({"a": 1.0, "b": 1.0, "c": INF}, ["c"]),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, []),
    ],
)
def test_first_bad_on_a_chain(values: dict[str, float | None], bad: list[str]) -> None:
    rows = [metric(f"float:{name}", "cosine", value) for name, value in values.items()]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(list(values), chain(*values))}, overlays=[overlay("acc", rows)]))
        assert names(store, "first_bad('cosine', 0.99)") == bad


def test_first_bad_follows_values_through_the_buffers_that_operators_write() -> None:
    nodes = [node("x", "placeholder"), node("alloc"), "split_copy", node("getitem"), "add"]
    edges = [("x", "split_copy"), ("alloc", "split_copy"), ("alloc", "getitem"), ("getitem", "add")]
    made = graph(nodes, edges)
    args = ["0", "out[0]", "0", "0"]
    made.tables["edges"] = made.edges.set_column(3, "dst_arg", [args])
    rows = [metric(f"runtime:{name}", "cosine", 0.5) for name in ("split_copy", "getitem", "add")]
    with connect(":memory:") as store:
        store.commit(run({"runtime": made}, overlays=[overlay("acc", rows)]))
        assert names(store, "first_bad('cosine', 0.99)") == ["split_copy"]


def test_first_bad_looks_into_nested_graphs() -> None:
    inner = graph([node("p", "placeholder"), "mul", node("out", "output")], chain("p", "mul", "out"),
                  path="lowered_module_0", parent=("", "call"))  # fmt: skip
    outer = graph([node("x", "placeholder"), "conv", "call", "add"], chain("x", "conv", "call", "add"))
    for values, bad in (
        ({"conv": 1.0, "mul": 0.5, "call": 0.5, "add": 0.4}, ["mul"]),
        ({"conv": 0.5, "mul": 0.5, "call": 0.5, "add": 0.4}, ["conv"]),
        ({"conv": 1.0, "call": 0.5, "add": 0.4}, ["call"]),
    ):
        rows = [metric(f"lowered:{name}", "cosine", value) for name, value in values.items()]
        with connect(":memory:") as store:
            store.commit(run({"lowered": [outer, inner]}, overlays=[overlay("acc", rows)]))
            assert names(store, "first_bad('cosine', 0.99)") == bad


def brute_force(count: int, edges: set[tuple[int, int]], values: list[float | None], threshold: float) -> list[int]:
    """Bad nodes that no path from a bad node reaches through nodes without a number."""
    bad = [i for i, value in enumerate(values) if value is not None and not value >= threshold]
    reached: set[int] = set()
    todo = [d for s, d in edges if s in bad]
    while todo:
        i = todo.pop()
        if i not in reached:
            reached.add(i)
            if values[i] is None:
                todo += [d for s, d in edges if s == i]
    return [i for i in bad if i not in reached]


@st.composite
def measured_dags(draw: Any) -> tuple[int, set[tuple[int, int]], list[float | None]]:
    count = draw(st.integers(2, 9))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda p: p[0] < p[1])
    edges = draw(st.sets(pairs, max_size=20))
    values = draw(st.lists(st.sampled_from([None, 1.0, 0.5, math.nan]), min_size=count, max_size=count))
    return count, edges, values


@pytest.fixture(scope="module")
def shared() -> Any:
    with connect(":memory:") as store:
        yield store


@settings(max_examples=40, deadline=None)
@given(measured_dags())
def test_first_bad_equals_brute_force(
    shared: Store, case: tuple[int, set[tuple[int, int]], list[float | None]]
) -> None:
    count, edges, values = case
    labels = [f"op_{i}" for i in range(count)]
    made = graph(labels, [(labels[s], labels[d]) for s, d in sorted(edges)])
    rows = [metric(f"float:{labels[i]}", "cosine", v) for i, v in enumerate(values)]
    run_id = shared.commit(run({"float": made}, overlays=[overlay("acc", rows)]))
    found = shared.sql("SELECT name FROM first_bad('cosine', 0.9, run := ?)", [run_id]).fetchall()
    assert [name for (name,) in found] == [labels[i] for i in brute_force(count, edges, values, 0.9)]


@pytest.mark.parametrize(
    ("ask", "said", "hint"),
    [
        (lambda s: s.worst("cosin"), "run 'tiny' has no metric 'cosin'", "did you mean 'cosine'?"),
        (lambda s: s.worst("cosine", stage="egde"), "run 'tiny' has no stage 'egde'", "did you mean 'edge'?"),
        (lambda s: s.worst("cosine", overlay="ac"), "run 'tiny' has no overlay 'ac'", "did you mean 'acc'?"),
        (lambda s: s.worst("cosine", run="tinny"), "no run 'tinny' in this store", "did you mean 'tiny'?"),
        (
            lambda s: s.sql("FROM worst('cosine', run := 'tinny')"),
            "no run 'tinny' in this store",
            "did you mean 'tiny'?",
        ),
        (lambda s: s.first_bad("mse", 1.0), "run 'tiny' has no metric 'mse'", "there are 'cosine', 'load_ms'"),
        (lambda s: s.worst("cosine", overlay="zzz"), "run 'tiny' has no overlay 'zzz'", "there is 'acc'"),
        (lambda s: s.worst("cosine", stage="zzz"), "run 'tiny' has no stage 'zzz'", "there are 'float', 'edge'"),
        (lambda s: s.worst("cosine", run="zzz"), "no run 'zzz' in this store", "there is 'tiny'"),
        (lambda s: s.sql("FROM worst('cosine', run := 'zzz')"), "no run 'zzz' in this store", "there is 'tiny'"),
    ],
)
def test_a_wrong_name_is_told(store: Store, ask: Any, said: str, hint: str) -> None:
    with pytest.raises(QueryError) as error:
        ask(store)
    assert (str(error.value), error.value.hint) == (said, hint)


def test_an_empty_store_says_that_it_is_empty() -> None:
    with connect(":memory:") as store:
        for ask in (
            lambda: store.worst("cosine"),
            lambda: store.sql("FROM worst('cosine')"),
            lambda: store.sync("a", "b"),
        ):
            with pytest.raises(QueryError, match="the store holds no run yet"):
                ask()
