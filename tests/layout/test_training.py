from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import draw
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph


def training(layers: int) -> tuple[Graph, list[bool]]:
    """Layers of three nodes, each saving one for its two backward nodes, which run from the last to the first."""
    edges, paths, backward = [], [], []
    for i in range(3 * layers):
        edges += [(i - 1, i)] if i else []
        paths.append(f"m.{i // 3}")
        backward.append(False)
    for layer in reversed(range(layers)):
        for _ in range(2):
            n = len(paths)
            edges += [(n - 1, n), (3 * layer + 1, n)]
            paths.append(f"m.{layer}")
            backward.append(True)
    return Graph([(100, 36)] * len(paths), edges, paths), backward


def test_forward_is_left_of_backward_and_above_it() -> None:
    graph, backward = training(6)
    drawing = draw(graph.sizes, graph.edges, graph.paths, backward)
    late = np.array(backward)
    assert violations(graph, drawing) == []
    assert drawing.x[~late].max() + 100 < drawing.x[late].min()
    assert drawing.y[~late].max() < drawing.y[late].min()
    assert len(drawing.blocks) == 2 * len(set(drawing.blocks))  # each layer has a box on either side


def test_a_source_of_the_backward_side_alone_stands_there() -> None:
    drawing = draw([(50, 36)] * 4, [(0, 2), (1, 3), (2, 3)], [None] * 4, [False, False, False, True])
    assert drawing.x[1] > drawing.x[2]


@given(any_graph(), st.data())
@settings(max_examples=100, deadline=None)
def test_any_graph_in_two_sides_obeys_the_laws(graph: Graph, data: st.DataObject) -> None:
    backward = data.draw(st.lists(st.booleans(), min_size=len(graph.sizes), max_size=len(graph.sizes)))
    assert violations(graph, draw(graph.sizes, graph.edges, graph.paths, backward)) == []
