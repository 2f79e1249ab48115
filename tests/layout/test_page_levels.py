"""Panes at equal heights when only some are in view, as the page puts them: by its own script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import Drawing, align, stretched
from tests.layout import graphs
from tests.layout.edits import quantised
from tests.layout.graphs import Graph
from tests.layout.paged import PageScript, level_model
from tests.layout.test_laws import graphs as any_graph
from tests.layout.test_page_columns import as_drawing, whole

Keys = list[dict[int, int]]


def by_python(drawn: Sequence[tuple[Graph, Drawing]], keys: Keys) -> list[Drawing]:
    """Returns the drawings at equal heights, as if there were no other panes."""
    heights = [
        {k: float(drawing.y[node]) for k, node in own.items()} for (_, drawing), own in zip(drawn, keys, strict=True)
    ]
    return [
        stretched(drawing, stretch, np.array(graph.edges, np.int64).reshape(-1, 2))
        for (graph, drawing), stretch in zip(drawn, align(heights), strict=True)
    ]


def assert_as_if_alone(
    script: PageScript, drawn: Sequence[tuple[Graph, Drawing]], keys: Keys, shown: Sequence[int]
) -> None:
    panes = script.in_view(level_model(drawn, keys), shown)
    wanted = by_python([drawn[i] for i in shown], [keys[i] for i in shown])
    for i, want in zip(shown, wanted, strict=True):
        got = as_drawing(drawn[i][1], panes[i])
        for part in ("x", "y", "points"):
            assert np.allclose(getattr(got, part), getattr(want, part), atol=0.6), (i, part)
        boxes = np.array([piece["box"] for piece in panes[i]["pieces"]], np.float32).reshape(-1, 4)
        assert np.allclose(boxes, want.block_boxes.reshape(-1, 4), atol=1.1)
        assert abs(panes[i]["height"] - want.height) < 1


@given(st.lists(any_graph(), min_size=2, max_size=3), st.data())
@settings(max_examples=100, deadline=None)
def test_panes_in_view_stand_as_if_there_were_no_others(
    script: PageScript, given_graphs: list[Graph], data: st.DataObject
) -> None:
    drawn = [(graph, graph.draw()) for graph in map(whole, given_graphs)]
    keys: Keys = []
    for graph, _ in drawn:
        nodes = data.draw(st.permutations(range(len(graph.sizes))))
        keys.append(dict(enumerate(nodes[: data.draw(st.integers(0, len(nodes)))])))
    shown = data.draw(
        st.lists(st.sampled_from(range(len(drawn))), min_size=1, max_size=len(drawn), unique=True).map(sorted)
    )
    assert_as_if_alone(script, drawn, keys, shown)


def test_what_a_hidden_pane_has_cost_goes(script: PageScript) -> None:
    plain = graphs.transformer(4)
    more, place = quantised(plain)
    drawn = [(plain, plain.draw()), (more, more.draw())]
    keys: Keys = [{k: k for k in range(len(place))}, dict(enumerate(place))]
    both = script.in_view(level_model(drawn, keys), [0, 1])
    alone = script.in_view(level_model(drawn, keys), [0])
    assert both[0]["height"] > 1.2 * drawn[0][1].height
    assert alone[0]["y"] == drawn[0][1].y.tolist()
    assert_as_if_alone(script, drawn, keys, [0])
