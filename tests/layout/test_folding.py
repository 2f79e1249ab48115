from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout import graphs
from tests.layout.folded import Folded
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph


@given(any_graph(), st.sets(st.integers(0, 12)))
@settings(max_examples=250, deadline=None)
def test_a_folded_drawing_obeys_the_laws_too(graph: Graph, closed: set[int]) -> None:
    seen, drawing = Folded(graph, graph.draw(), closed).view()
    assert violations(seen, drawing, blocks=False) == []


@given(any_graph())
@settings(max_examples=100, deadline=None)
def test_with_nothing_folded_everything_is_where_it_was(graph: Graph) -> None:
    drawing = graph.draw()
    _, same = Folded(graph, drawing, set()).view()
    for name in ("x", "y", "points", "offsets", "block_boxes", "height"):
        assert np.allclose(getattr(same, name), getattr(drawing, name), atol=0.02), name


def test_folding_every_layer_leaves_a_short_drawing() -> None:
    graph = graphs.transformer(12)
    drawing = graph.draw()
    layers = {i for i, name in enumerate(drawing.blocks) if name.startswith("m.layers.") and name.count(".") == 2}
    seen, folded = Folded(graph, drawing, layers).view()
    assert len(layers) == 12
    assert len(seen.sizes) < 30
    assert folded.height < drawing.height / 8


def test_an_inner_fold_shows_once_the_outer_one_is_open() -> None:
    graph = graphs.transformer(1)
    drawing = graph.draw()
    inner, outer = (drawing.blocks.index(name) for name in ("m.layers.0.attn", "m.layers.0"))
    both, _ = Folded(graph, drawing, {inner, outer}).view()
    only, _ = Folded(graph, drawing, {outer}).view()
    assert len(both.sizes) == len(only.sizes)
