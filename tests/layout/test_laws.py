from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.graphs import Graph
from tests.layout.laws import violations

NAMES = st.lists(st.sampled_from(["a", "b", "layer", "0", ""]), min_size=1, max_size=4).map(".".join)
PATHS = st.one_of(st.none(), NAMES)
SIDES = st.one_of(st.sampled_from([0.0, 1.0, 38.0, 120.0]), st.floats(0, 700, width=32))


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 40, backwards: bool = True) -> Graph:
    """Graphs with runs of nodes in one module, most edges short, some long, repeated, looping or pointing back."""
    paths: list[str | None] = []
    while draw(st.booleans()) and len(paths) < max_nodes:
        paths += [draw(PATHS)] * draw(st.integers(1, 6))
    n = len(paths)
    sizes = draw(st.lists(st.tuples(SIDES, SIDES), min_size=n, max_size=n))
    if not n:
        return Graph([], [], [])
    ends = st.integers(0, n - 1)
    near = st.tuples(ends, st.integers(1, 3)).map(lambda e: (e[0], min(e[0] + e[1], n - 1)))
    edges = draw(st.lists(st.one_of(near, near, st.tuples(ends, ends)), max_size=3 * n))
    if not backwards:
        edges = [(min(e), max(e)) for e in edges if e[0] != e[1]]
    return Graph(sizes, edges, paths)


@given(graphs())
@settings(max_examples=250, deadline=None)
def test_every_drawing_obeys_the_laws(graph: Graph) -> None:
    assert violations(graph, graph.draw()) == []


@pytest.mark.parametrize("seed", range(30))
def test_larger_graphs_obey_the_laws(seed: int) -> None:
    rnd = random.Random(seed)
    paths: list[str | None] = []
    while len(paths) < 150:
        paths += [rnd.choice([None, "a", "a.b", "a.b.c", "d.e.f", f"l.{rnd.randrange(5)}.x"])] * rnd.randint(1, 40)
    n, reach = len(paths), rnd.choice([2, 10, 100])
    edges = [(a, min(n - 1, a + 1 + int(rnd.expovariate(1 / reach)))) for a in rnd.choices(range(n), k=2 * n)]
    edges += [(rnd.randrange(n), rnd.randrange(n)) for _ in range(rnd.choice([0, 5]))]
    edges += [(i, n - 1) for i in range(0, n - 1, 3) if seed % 2]
    edges += [(n // 3, i) for i in range(n // 3 + 1, n, 2) if seed % 3]
    graph = Graph([(rnd.choice([40, 220, 99.5]), rnd.choice([24, 36, rnd.random() * 80])) for _ in paths], edges, paths)
    assert violations(graph, graph.draw()) == []


@given(graphs(backwards=False))
@settings(max_examples=100, deadline=None)
def test_in_program_order_nothing_is_feedback(graph: Graph) -> None:
    assert not graph.draw().feedback.any()


@given(graphs(backwards=False), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_an_acyclic_graph_in_any_order_has_no_feedback(graph: Graph, rnd: object) -> None:
    place = list(range(len(graph.sizes)))
    rnd.shuffle(place)  # type: ignore[attr-defined]
    shuffled = Graph(
        [graph.sizes[place.index(i)] for i in range(len(place))],
        [(place[a], place[b]) for a, b in graph.edges],
        [graph.paths[place.index(i)] for i in range(len(place))],
    )
    drawing = shuffled.draw()
    assert not drawing.feedback.any()
    assert violations(shuffled, drawing) == []


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_drawn_twice_is_drawn_alike(graph: Graph) -> None:
    one, two = graph.draw(), graph.draw()
    assert one.blocks == two.blocks
    for name in ("x", "y", "points", "offsets", "block_boxes"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_repeats_change_nothing_but_are_drawn_too(graph: Graph) -> None:
    once, twice = graph.draw(), Graph(graph.sizes, [*graph.edges, *graph.edges], graph.paths).draw()
    assert np.array_equal(once.x, twice.x)
    assert np.array_equal(once.y, twice.y)
    assert np.array_equal(np.concatenate([once.points, once.points]), twice.points)


@pytest.mark.parametrize(
    ("sizes", "edges", "paths"),
    [
        ([(1, 1)], [], []),
        ([(float("nan"), 1)], [], [None]),
        ([(1, -1)], [], [None]),
        ([(1, float("inf"))], [], [None]),
        ([(1, 1)], [(0, 1)], [None]),
        ([(1, 1)], [(-1, 0)], [None]),
        ([], [(0, 0)], []),
    ],
)
def test_what_does_not_fit_is_refused(sizes: list, edges: list, paths: list) -> None:
    with pytest.raises(ValueError, match=r"sizes|edges"):
        Graph(sizes, edges, paths).draw()
