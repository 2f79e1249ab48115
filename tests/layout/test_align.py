from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout.align import align, stretched
from tests.layout.edits import quantised, shared_heights
from tests.layout.graphs import Graph, transformer
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph

PANES = st.lists(st.dictionaries(st.integers(0, 8), st.integers(0, 20).map(float), max_size=8), max_size=4)


@given(PANES)
@settings(deadline=None)
def test_nothing_moves_up_and_what_is_lower_moves_as_far_or_further(panes: list[dict[int, float]]) -> None:
    for pane, stretch in zip(panes, align(panes), strict=True):
        moves = stretch.moves(np.array(sorted(pane.values())))
        assert (moves >= 0).all()
        assert (np.diff(moves) >= 0).all()


@given(PANES)
@settings(deadline=None)
def test_two_panes_share_the_most_heights_that_any_chain_allows(panes: list[dict[int, float]]) -> None:
    panes = [*panes, {}, {}][:2]
    shared = sorted(set(panes[0]) & set(panes[1]))
    before = [np.array([pane[key] for key in shared], np.float64) for pane in panes]
    one, two = (y + stretch.moves(y) for y, stretch in zip(before, align(panes), strict=True))
    pairs = [(panes[0][k], panes[1][k]) for k in shared]
    fits = [
        chosen
        for n in range(len(pairs) + 1)
        for chosen in combinations(pairs, n)
        if all((a[0] < b[0]) == (a[1] < b[1]) and (a[0] > b[0]) == (a[1] > b[1]) for a, b in combinations(chosen, 2))
    ]
    assert (one == two).sum() >= max(map(len, fits))


@given(any_graph(), st.lists(st.floats(0, 300), max_size=5))
@settings(max_examples=150, deadline=None)
def test_a_stretched_drawing_obeys_the_laws(graph: Graph, wishes: list[float]) -> None:
    drawing = graph.draw()
    keys = dict(enumerate(drawing.y.tolist()))
    lower = {i: y + wishes[i] for i, y in list(keys.items())[: len(wishes)]}
    stretch = align([keys, lower])[0]
    moved = stretched(drawing, stretch, np.array(graph.edges, np.int64).reshape(-1, 2))
    assert violations(graph, moved) == []


def test_a_quantised_transformer_stands_beside_the_float_one() -> None:
    before = transformer(6)
    after, old = quantised(before)
    drawings = before.draw(), after.draw()
    panes = [dict(enumerate(drawings[0].y.tolist())), {k: float(drawings[1].y[v]) for k, v in enumerate(old)}]
    assert shared_heights(panes, align(panes)) >= 0.95
