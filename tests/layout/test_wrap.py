from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from fxstore.layout import Drawing, align, stretched, wrapped
from fxstore.layout.model import GAP_PARTS
from tests.layout import graphs
from tests.layout.edits import quantised
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.test_laws import graphs as any_graph


def ends(graph: Graph) -> np.ndarray:
    return np.array(graph.edges, np.int64).reshape(-1, 2)


def in_columns(graph: Graph) -> Drawing:
    return wrapped([graph.draw()], [graph.sizes], [ends(graph)])[0]


def but_turns(graph: Graph, drawing: Drawing) -> list[str]:
    """Returns what is wrong but for edges that go up to the next column."""
    return [line for line in violations(graph, drawing, blocks=False) if "does not go down" not in line]


@given(any_graph())
@settings(max_examples=200, deadline=None)
def test_columns_obey_the_laws_but_where_an_edge_goes_up_to_the_next_one(graph: Graph) -> None:
    before, drawing = graph.draw(), in_columns(graph)
    assert but_turns(graph, drawing) == []
    if drawing.height < before.height:
        tops = np.round((drawing.x - before.x) / (before.width + GAP_PARTS))
        same = [tops[a] == tops[b] for a, b in graph.edges]
        for e in np.flatnonzero(same).tolist():
            line = drawing.points[drawing.offsets[e] : drawing.offsets[e + 1], 1]
            assert (np.diff(line) >= 0).all() or drawing.feedback[e]


@pytest.mark.parametrize("make", [lambda: graphs.transformer(24), lambda: graphs.u_net(60), lambda: graphs.chain(3000)])
def test_a_deep_model_is_no_thin_line(make: object) -> None:
    graph = make()  # type: ignore[operator]
    drawing = in_columns(graph)
    assert 1 / 3 < drawing.width / drawing.height < 3
    assert but_turns(graph, drawing) == []
    assert set(drawing.blocks) == set(graph.draw().blocks)


def test_panes_are_cut_at_the_same_heights() -> None:
    before = graphs.transformer(24)
    after, place = quantised(before)
    drawn = [before.draw(), after.draw()]
    panes = [dict(enumerate(drawn[0].y.tolist())), {k: float(drawn[1].y[v]) for k, v in enumerate(place)}]
    moved = [stretched(d, s, ends(g)) for d, s, g in zip(drawn, align(panes), (before, after), strict=True)]
    one, two = wrapped(moved, [before.sizes, after.sizes], [ends(before), ends(after)])
    assert one.height == two.height < moved[0].height / 2
    level = np.abs(moved[0].y - moved[1].y[place]) < 1
    assert level.mean() >= 0.95
    assert np.allclose(one.y[level], two.y[np.array(place)[level]], atol=1)


def test_what_is_short_stays_as_it_is() -> None:
    graph = graphs.fan(30, join=True)
    assert in_columns(graph).y.tobytes() == graph.draw().y.tobytes()
