from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import Sides, draw
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph

TWO = ("forward", "backward")


def training(layers: int) -> tuple[Graph, list[int]]:
    """Layers of three nodes, each saving one for its two backward nodes, which run from the last to the first."""
    edges, paths, backward = [], [], []
    for i in range(3 * layers):
        edges += [(i - 1, i)] if i else []
        paths.append(f"m.{i // 3}")
        backward.append(0)
    for layer in reversed(range(layers)):
        for _ in range(2):
            n = len(paths)
            edges += [(n - 1, n), (3 * layer + 1, n)]
            paths.append(f"m.{layer}")
            backward.append(1)
    return Graph([(100, 36)] * len(paths), edges, paths), backward


def test_forward_is_left_of_backward_and_above_it() -> None:
    graph, backward = training(6)
    drawing = draw(graph.sizes, graph.edges, graph.paths, Sides(TWO, backward))
    late = np.array(backward) == 1
    assert violations(graph, drawing, sides=TWO) == []
    assert drawing.x[~late].max() + 100 < drawing.x[late].min()
    assert drawing.y[~late].max() < drawing.y[late].min()
    layers = [path for path in drawing.blocks if path not in TWO]
    assert len(layers) == 2 * len(set(layers))  # each layer has a box on either side
    assert [path for path in drawing.blocks if path in TWO] == list(TWO)


def test_a_source_of_the_backward_side_alone_stands_there() -> None:
    drawing = draw([(50, 36)] * 4, [(0, 2), (1, 3), (2, 3)], [None] * 4, Sides(TWO, [0, 0, 0, 1]))
    assert drawing.x[1] > drawing.x[2]


@given(any_graph(), st.data())
@settings(max_examples=100, deadline=None)
def test_any_graph_on_sides_obeys_the_laws(graph: Graph, data: st.DataObject) -> None:
    names = ("forward", "saved", "backward")[: data.draw(st.integers(1, 3))]
    numbers = st.integers(0, len(names) - 1)
    of = data.draw(st.lists(numbers, min_size=len(graph.sizes), max_size=len(graph.sizes)))
    assert violations(graph, draw(graph.sizes, graph.edges, graph.paths, Sides(names, of)), sides=names) == []
