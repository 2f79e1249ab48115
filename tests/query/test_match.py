"""Motifs: (graph, pattern, matched names) side by side, and against brute force over networkx."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.store.records import chain, graph, metric, node, overlay, run

# x -> conv -> bn -> relu -> add -> output, x -> conv_1 -> relu_1 -> add, x -> split -> getitem -> mul, relu used twice.
NODES = [
    node("x", "placeholder", op_type=None),
    node("conv", op_type="conv2d", module_path="layer.0", dtype="float32"),
    node("bn", op_type="batch_norm"),
    node("relu", op_type="relu", module_path="layer.1"),
    node("conv_1", op_type="conv2d", dtype="float16"),
    node("relu_1", op_type="relu"),
    node("add", op_type="add"),
    node("split", op_type="split"),
    node("getitem", op_type="getitem"),
    node("mul", op_type="mul"),
    node("output", "output", op_type="output"),
]
EDGES = [
    *chain("x", "conv", "bn", "relu", "add", "output"),
    *chain("x", "conv_1", "relu_1", "add"),
    *chain("x", "split", "getitem", "mul"),
    ("relu", "mul"),
    ("relu", "mul"),
]


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    rows = [metric("float:conv", "cosine", math.nan), metric("float:conv_1", "cosine", 0.5)]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(NODES, EDGES), "edge": graph(["neg"])}, overlays=[overlay("acc", rows)]))
        yield store


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("relu", [["relu"], ["relu_1"]]),
        ("conv* -> *batch_norm* -> relu", [["conv", "bn", "relu"]]),
        ("conv*->batch_norm?->relu", [["conv", "bn", "relu"], ["conv_1", "relu_1"]]),
        ("conv2d -> relu", [["conv_1", "relu_1"]]),
        ("input -> conv*", [["x", "conv"], ["x", "conv_1"]]),
        ("relu => add", [["relu_1", "add"]]),
        ("relu -> add", [["relu", "add"], ["relu_1", "add"]]),
        ("relu => (add, mul)", [["relu", "add", "mul"]]),
        ("split => mul", [["split", "mul"]]),
        ("split -> getitem -> mul", [["split", "getitem", "mul"]]),
        ("input -> (conv* -> batch_norm -> relu, conv* -> relu) -> add",
         [["x", "conv", "bn", "relu", "conv_1", "relu_1", "add"]]),
        ("input -> (conv2d, conv2d)", [["x", "conv", "conv_1"]]),
        ("conv*[dtype=float16]", [["conv_1"]]),
        ("*[module=layer.*]", [["conv"], ["relu"]]),
        ("*[module=layer.1, name=re*]", [["relu"]]),
        ("conv*[module!=layer*] -> *", [["conv_1", "relu_1"]]),
        ("conv*[cosine<0.9]", [["conv_1"]]),
        ("conv*[cosine=nan]", [["conv"]]),
        ("conv*[cosine!=nan]", [["conv_1"]]),
        ("conv*[cosine>0.9]", []),
        ("sin -> cos", []),
        ("neg", []),
    ],
)  # fmt: skip
def test_matches(shared: Store, pattern: str, rows: list[list[str]]) -> None:
    result = shared.match(pattern, stage="float")
    assert sorted(row[1] for row in result) == sorted(rows)  # type: ignore[type-var]
    assert result.columns == ["nids", "names", "stage", "method", "path"]
    assert all(row[2] == "float" for row in result)
    assert len(result.nids()) == len({name for row in rows for name in row}) if rows else True


def test_every_stage_by_default(shared: Store) -> None:
    assert [row[1:3] for row in shared.match("neg")] == [(["neg"], "edge")]
    assert shared.match("neg -> x*?", stage="edge").query == "match('neg -> x*?', stage := 'edge')"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "the pattern needs an operator at its end"),
        ("conv ->", "the pattern needs an operator at its end"),
        ("-> conv", "the pattern needs an operator at '-> conv'"),
        ("conv relu", "the pattern needs an arrow (-> or =>) at 'relu'"),
        ("a -> (b, c", "the pattern needs a comma or a closing parenthesis at its end"),
        ("a[dtype]", "'dtype' is no condition"),
        ("a[dtype<float]", "dtype is a text: compare it by = or !="),
        ("a[cosine<x]", "'cosine' is compared with 'x'"),
        ("a[cosin<1]", "run 'tiny' has no metric 'cosin'"),
        ("a'; DROP TABLE x", 'the pattern needs an arrow (-> or =>) at "\'; DROP TABLE x"'),
        (" -> ".join(["a?"] * 8), "the pattern has more than 6 optional steps"),
    ],
)
def test_what_is_no_pattern_says_so(shared: Store, pattern: str, said: str) -> None:
    with pytest.raises(QueryError) as error:
        shared.match(pattern)
    assert str(error.value) == said
    assert "\n" not in said


def test_through_nested_graphs() -> None:
    inner = graph(
        [node("a", "placeholder"), node("m", op_type="mul"), node("output", "output")],
        chain("a", "m", "output"),
        path="cond_0",
        parent=("", "call"),
    )
    outer = graph(["sin", node("call", op_type="cond"), "cos"], chain("sin", "call", "cos"))
    with connect(":memory:") as store:
        store.commit(run({"float": [outer, inner]}))
        assert len(store.match("* -> mul")) == 1
        pattern = "sin -> * -> mul -> * -> cond -> cos"
        assert [row[1] for row in store.match(pattern, nested=True)] == [["sin", "a", "m", "output", "call", "cos"]]
        assert len(store.match(pattern)) == 0


@st.composite
def labelled(draw: Any) -> tuple[list[str], set[tuple[int, int]]]:
    kinds = draw(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=7))
    pairs = st.tuples(st.integers(0, len(kinds) - 1), st.integers(0, len(kinds) - 1)).filter(lambda p: p[0] < p[1])
    return kinds, draw(st.sets(pairs, max_size=14))


PATTERNS: dict[str, tuple[str, list[tuple[int, int]], list[tuple[int, int]]]] = {
    "a -> b -> *": ("ab*", [(0, 1), (1, 2)], []),
    "a -> (a, b) -> *": ("aab*", [(0, 1), (0, 2), (1, 3), (2, 3)], []),
    "* -> (a, a)": ("*aa", [(0, 1), (0, 2)], [(1, 2)]),
}


@settings(max_examples=25, deadline=None)
@given(labelled(), st.sampled_from(sorted(PATTERNS)))
def test_matches_equal_brute_force(memory: Store, case: tuple[list[str], set[tuple[int, int]]], pattern: str) -> None:
    networkx = pytest.importorskip("networkx")
    kinds, edges = case
    steps, uses, ordered = PATTERNS[pattern]
    labels = [f"n{i}" for i in range(len(kinds))]
    made = graph([node(n, op_type=k) for n, k in zip(labels, kinds, strict=True)],
                 [(labels[s], labels[d]) for s, d in sorted(edges)])  # fmt: skip
    memory.commit(run({"here": made}))
    whole = networkx.DiGraph(list(edges))
    expected = [
        [labels[i] for i in chosen]
        for chosen in permutations(range(len(kinds)), len(steps))
        if all(step in ("*", kinds[i]) for step, i in zip(steps, chosen, strict=True))
        and all(whole.has_edge(chosen[s], chosen[d]) for s, d in uses)
        and all(chosen[a] < chosen[b] for a, b in ordered)
    ]
    assert sorted(row[1] for row in memory.match(pattern)) == sorted(expected)  # type: ignore[type-var]


@pytest.fixture(scope="module")
def memory() -> Iterator[Store]:
    with connect(":memory:") as store:
        yield store
