"""Drawings that stand beside another one: its order from left to right, and what a pass leaves alone stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import agrees, align, draw
from tests.layout import graphs, real
from tests.layout.edits import beside, branches, moved, quantised, shared_heights
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph

WISHES = st.one_of(st.none(), st.integers(0, 9).map(float))


@given(any_graph(), st.data())
@settings(max_examples=200, deadline=None)
def test_rows_have_the_order_that_is_wished_for_and_the_laws_hold(graph: Graph, data: st.DataObject) -> None:
    wishes = data.draw(st.lists(WISHES, min_size=len(graph.sizes), max_size=len(graph.sizes)))
    drawing = draw(graph.sizes, graph.edges, graph.paths, None, wishes)
    assert violations(graph, drawing) == []
    known = [np.nan if wish is None else wish for wish in wishes]
    assert agrees(drawing, known)
    for row in set(drawing.folding.row[: len(wishes)].tolist()):
        inside = np.flatnonzero((drawing.folding.row[: len(wishes)] == row) & ~np.isnan(known))
        assert (np.diff(np.array(known)[inside[np.argsort(drawing.x[inside])]]) >= 0).all()


@given(any_graph(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_drawing_that_agrees_is_drawn_again_as_it_is(graph: Graph, data: st.DataObject) -> None:
    free = graph.draw()
    wishes: list[float | None] = [float(x) for x in free.x]
    for i in data.draw(st.sets(st.integers(0, 40))):
        wishes[i : i + 1] = [None] * len(wishes[i : i + 1])
    if agrees(free, [np.nan if wish is None else wish for wish in wishes]):
        again = draw(graph.sizes, graph.edges, graph.paths, None, wishes)
        assert again.x.tobytes() == free.x.tobytes()
        assert again.points.tobytes() == free.points.tobytes()


@pytest.mark.parametrize("only", ["", "m.layers.0"])
@pytest.mark.parametrize("name", ["llama-core", "bert-core", "transformer"])
def test_parallel_branches_have_one_order_in_all_panes(name: str, only: str) -> None:
    graph = graphs.transformer(6) if name == "transformer" else real.load(name)
    before = graph.draw()
    after, place = quantised(graph, only)
    drawing = beside(graph, before, after, place)
    pairs, turned = branches(graph, before, drawing, place)
    assert pairs > 100
    assert turned == 0
    assert violations(after, drawing) == []


def test_without_the_other_pane_some_branches_would_be_turned() -> None:
    graph = real.load("llama-core")
    after, place = quantised(graph)
    assert branches(graph, graph.draw(), after.draw(), place)[1] > 0


@pytest.mark.parametrize("layer", range(5))
def test_a_pass_that_changes_one_layer_moves_that_layer_only(layer: int) -> None:
    graph = graphs.transformer(6)
    before = graph.draw()
    after, place = quantised(graph, f"m.layers.{layer}.")
    drawing = beside(graph, before, after, place)
    inside = np.array([path is not None and path.startswith(f"m.layers.{layer}.") for path in graph.paths])
    steps = moved(before, drawing, place)
    assert steps[inside].any()
    elsewhere = ~inside & np.array([path is not None for path in graph.paths])
    assert not steps[elsewhere].any()
    panes = [dict(enumerate(before.y.tolist())), {k: float(drawing.y[v]) for k, v in enumerate(place)}]
    assert shared_heights(panes, align(panes)) >= 0.95
