from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from fxstore.layout import columns
from fxstore.layout.model import GAP_PARTS
from tests.layout import graphs
from tests.layout.graphs import Graph
from tests.layout.test_laws import graphs as any_graph


@given(any_graph())
@settings(max_examples=200, deadline=None)
def test_no_node_is_cut_and_all_stay_apart(graph: Graph) -> None:
    drawing = graph.draw()
    wrapped = columns(drawing, graph.sizes)
    assert wrapped.cuts[0] == 0
    assert wrapped.cuts[-1] == np.float32(drawing.height)
    assert (np.diff(wrapped.cuts) > 0).all() or not len(graph.sizes)
    half = np.array(graph.sizes, np.float64).reshape(-1, 2)[:, 1] / 2
    if len(wrapped.cuts) > 2:
        column = wrapped.of(drawing.y)
        assert (drawing.y - half >= wrapped.cuts[column] - 0.02).all()
        assert (drawing.y + half <= wrapped.cuts[column + 1] + 0.02).all()


@pytest.mark.parametrize(
    "graph", [graphs.chain(3000), graphs.transformer(24), graphs.u_net(40)], ids=["chain", "transformer", "u-net"]
)
def test_a_deep_model_is_about_as_wide_as_tall_in_columns(graph: Graph) -> None:
    drawing = graph.draw()
    assert drawing.height > 5 * drawing.width
    wrapped = columns(drawing, graph.sizes)
    height = np.diff(wrapped.cuts).max()
    width = (len(wrapped.cuts) - 1) * (wrapped.width + GAP_PARTS)
    assert 1 / 3 < width / height < 3
    x, y = wrapped.place(drawing.x, drawing.y)
    assert 0 <= x.min() <= x.max() <= width
    assert 0 <= y.min() <= y.max() <= height


def test_a_short_drawing_is_one_column() -> None:
    graph = graphs.fan(30, join=True)
    assert len(columns(graph.draw(), graph.sizes).cuts) == 2
