"""Drawings that stand beside another one: its order from left to right, and what a pass leaves alone stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import Drawing, agrees, align, draw
from tests.layout import graphs, real
from tests.layout.edits import beside, branches, moved, quantised, shared_heights
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph

PLACES = st.tuples(st.integers(0, 9).map(float), st.integers(0, 12).map(lambda level: 30.0 * level))
WISHES = st.one_of(st.none(), PLACES)


def places(drawing: Drawing) -> list[tuple[float, float]]:
    return list(zip(drawing.x.tolist(), drawing.y.tolist(), strict=True))


@given(any_graph(), st.data())
@settings(max_examples=200, deadline=None)
def test_rows_have_the_order_that_is_wished_for_and_the_laws_hold(graph: Graph, data: st.DataObject) -> None:
    wishes = data.draw(st.lists(WISHES, min_size=len(graph.sizes), max_size=len(graph.sizes)))
    drawing = draw(graph.sizes, graph.edges, graph.paths, None, wishes)
    assert violations(graph, drawing) == []
    known = np.array([np.nan if wish is None else wish[0] for wish in wishes])
    for row in set(drawing.folding.row[: len(wishes)].tolist()):
        inside = np.flatnonzero((drawing.folding.row[: len(wishes)] == row) & ~np.isnan(known))
        assert (np.diff(known[inside[np.argsort(drawing.x[inside])]]) >= 0).all()


def test_each_row_has_the_order_that_is_wished_for_it_where_two_chains_change_sides() -> None:
    """1 stands left of 2; of what follows from them, 3 right of 4: one order for both rows would be wrong in one."""
    wishes = [None, (0.0, 60.0), (9.0, 60.0), (9.0, 120.0), (0.0, 120.0), None]
    edges = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]
    drawing = draw([(40, 30)] * 6, edges, ["m"] * 6, None, wishes)
    assert drawing.x[1] < drawing.x[2]
    assert drawing.x[4] < drawing.x[3]


@given(any_graph(backwards=False), st.data())
@settings(max_examples=100, deadline=None)
def test_a_part_of_a_graph_keeps_the_rows_and_the_order_of_the_whole(graph: Graph, data: st.DataObject) -> None:
    whole = graph.draw()
    edges = [e for e in graph.edges if data.draw(st.booleans())]
    wishes = places(whole)
    part = draw(graph.sizes, edges, graph.paths, None, wishes)
    assert violations(Graph(graph.sizes, edges, graph.paths), part) == []
    if len(set(part.folding.parent.tolist())) == len(set(whole.folding.parent.tolist())) == 1:
        assert agrees(part, wishes, np.array(graph.sizes).reshape(-1, 2)[:, 1])


@given(any_graph(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_drawing_that_agrees_is_drawn_again_as_it_is(graph: Graph, data: st.DataObject) -> None:
    free = graph.draw()
    wishes: list[tuple[float, float] | None] = [*places(free)]
    for i in data.draw(st.sets(st.integers(0, 40))):
        wishes[i : i + 1] = [None] * len(wishes[i : i + 1])
    if agrees(free, [wish or (np.nan, np.nan) for wish in wishes], np.array(graph.sizes).reshape(-1, 2)[:, 1]):
        again = draw(graph.sizes, graph.edges, graph.paths, None, wishes)
        assert again.x.tobytes() == free.x.tobytes()
        assert again.points.tobytes() == free.points.tobytes()


@pytest.mark.parametrize("only", ["", "m.layers.0"])
@pytest.mark.parametrize("name", ["llama-core", "bert-core", "swin-core", "transformer"])
def test_parallel_branches_have_one_order_in_all_panes_and_stand_level(name: str, only: str) -> None:
    graph = graphs.transformer(6) if name == "transformer" else real.load(name)
    before = graph.draw()
    after, place = quantised(graph, only)
    drawing = beside(graph, before, after, place, level=True)
    pairs, turned = branches(graph, before, drawing, place)
    assert pairs > 100
    assert turned == 0
    assert violations(after, drawing) == []
    panes = [dict(enumerate(before.y.tolist())), {k: float(drawing.y[v]) for k, v in enumerate(place)}]
    assert shared_heights(panes, align(panes)) >= 0.95


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
