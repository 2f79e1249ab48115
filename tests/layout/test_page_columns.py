"""Deep graphs in columns, and folded ones, as the page puts them: by its own script."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import Drawing, align, stretched, wrapped
from fxstore.layout.model import GAP_PARTS
from tests.layout import graphs, real
from tests.layout.edits import quantised
from tests.layout.graphs import Graph
from tests.layout.laws import violations
from tests.layout.paged import PageScript
from tests.layout.test_laws import graphs as any_graph


def whole(graph: Graph) -> Graph:
    """Returns a graph with boxes of whole pixels: a page has half pixels."""
    return replace(graph, sizes=[(max(1, round(w)), max(1, round(h))) for w, h in graph.sizes])


def as_drawing(before: Drawing, pane: dict[str, Any]) -> Drawing:
    lines = [edge["line"] for edge in pane["edges"]]
    return replace(
        before,
        x=np.array(pane["x"], np.float32),
        y=np.array(pane["y"], np.float32),
        points=np.array([point for line in lines for point in line], np.float32).reshape(-1, 2),
        offsets=np.cumsum([0, *map(len, lines)], dtype=np.int32),
        width=float(pane["width"]),
        height=float(pane["height"]),
    )


def but_turns(graph: Graph, drawing: Drawing) -> list[str]:
    """Returns what is wrong but for edges that go up to the next column."""
    return [line for line in violations(graph, drawing, blocks=False) if "does not go down" not in line]


def straddled(graph: Graph, pane: dict[str, Any]) -> list[int]:
    """Returns the nodes that the border of a module's box, or of a piece of one, cuts."""
    half = np.array(graph.sizes, np.float64).reshape(-1, 2) / 2
    centre = np.stack([pane["x"], pane["y"]], axis=1).reshape(-1, 2)
    out: list[int] = []
    for left, top, width, height in (piece["box"] for piece in pane["pieces"]):
        low, high = np.array([left, top]), np.array([left + width, top + height])
        apart = (centre - half >= high - 0.02).any(axis=1) | (centre + half <= low + 0.02).any(axis=1)
        within = (centre - half >= low - 0.02).all(axis=1) & (centre + half <= high + 0.02).all(axis=1)
        out += np.flatnonzero(~(apart | within)).tolist()
    return out


@given(any_graph())
@settings(max_examples=150, deadline=None)
def test_columns_obey_the_laws_but_where_an_edge_goes_up_to_the_next_one(script: PageScript, graph: Graph) -> None:
    graph = whole(graph)
    if not graph.sizes:
        return
    before = graph.draw()
    (pane,) = script.shown([(graph, before)], columns=True)
    drawing = as_drawing(before, pane)
    assert but_turns(graph, drawing) == []
    assert straddled(graph, pane) == []
    if drawing.height < before.height - 1:
        pitch = before.width + GAP_PARTS
        column = np.round((drawing.x - before.x) / pitch)
        for e, (a, b) in enumerate(graph.edges):
            line = drawing.points[drawing.offsets[e] : drawing.offsets[e + 1], 1]
            assert column[a] != column[b] or (np.diff(line) >= 0).all() or drawing.feedback[e]
    else:
        assert np.allclose(drawing.x, before.x, atol=0.3)
        assert np.allclose(drawing.y, before.y, atol=0.3)


@given(any_graph(), st.sets(st.integers(0, 12)), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_folded_page_has_no_boxes_that_overlap_and_every_edge(
    script: PageScript, graph: Graph, closed: set[int], columns: bool
) -> None:
    graph = whole(graph)
    if not graph.sizes:
        return
    before = graph.draw()
    folded = [block for block in closed if block < len(before.blocks)]
    (pane,) = script.shown([(graph, before)], columns, [folded])
    boxes = [piece for piece in pane["pieces"] if piece["closed"]]
    seen = [v for v, holder in enumerate(pane["holder"]) if holder < 0]
    number = {("node", v): i for i, v in enumerate(seen)}
    number |= {("block", piece["block"]): len(seen) + i for i, piece in enumerate(boxes)}
    ends = [("node", v) if holder < 0 else ("block", holder) for v, holder in enumerate(pane["holder"])]
    places = [(pane["x"][v], pane["y"][v], *graph.sizes[v]) for v in seen]
    places += [(left + w / 2, top + h / 2, w, h) for left, top, w, h in (piece["box"] for piece in boxes)]
    shown = [e for e, (a, b) in enumerate(graph.edges) if ends[a] != ends[b]]
    assert all(
        pane["edges"][e]["hidden"]
        for e in range(len(graph.edges))
        if e not in shown and ends[graph.edges[e][0]][0] == "block"
    )
    assert not any(pane["edges"][e]["hidden"] for e in shown)
    view = Graph(
        [place[2:] for place in places],
        [(number[ends[graph.edges[e][0]]], number[ends[graph.edges[e][1]]]) for e in shown],
        [None] * len(places),
    )
    lines = [pane["edges"][e] for e in shown]
    drawing = as_drawing(before, {**pane, "edges": lines, "x": [p[0] for p in places], "y": [p[1] for p in places]})
    drawing = replace(drawing, feedback=before.feedback[shown])
    wrong = but_turns(view, drawing)
    assert wrong == []


@pytest.mark.parametrize(
    "graph",
    [graphs.transformer(24), graphs.u_net(60), graphs.chain(3000), real.load("bert-core")],
    ids=["transformer", "u-net", "chain", "bert"],
)
def test_a_deep_model_is_no_thin_line(script: PageScript, graph: Graph) -> None:
    before = graph.draw()
    (pane,) = script.shown([(graph, before)], columns=True)
    drawing = as_drawing(before, pane)
    assert before.height > 5 * before.width
    assert 1 / 3 < drawing.width / drawing.height < 3
    assert but_turns(graph, drawing) == []
    assert {piece["block"] for piece in pane["pieces"]} == set(range(len(before.blocks)))


def test_panes_are_cut_at_the_same_heights(script: PageScript) -> None:
    before = graphs.transformer(24)
    after, place = quantised(before)
    drawn = [before.draw(), after.draw()]
    panes = [dict(enumerate(drawn[0].y.tolist())), {k: float(drawn[1].y[v]) for k, v in enumerate(place)}]
    ends = [np.array(graph.edges, np.int64).reshape(-1, 2) for graph in (before, after)]
    moved = [stretched(d, s, e) for d, s, e in zip(drawn, align(panes), ends, strict=True)]
    one, two = script.shown([(before, moved[0]), (after, moved[1])], columns=True)
    assert one["height"] == two["height"] < moved[0].height / 2
    level = np.abs(moved[0].y - moved[1].y[place]) < 1
    assert level.mean() >= 0.95
    assert np.allclose(np.array(one["y"])[level], np.array(two["y"])[np.array(place)[level]], atol=1)


@pytest.mark.parametrize("name", ["bert-core", "mobilenet", "swin-core"])
def test_a_page_and_a_still_picture_have_the_same_columns(script: PageScript, name: str) -> None:
    graph = whole(real.load(name))
    drawing = graph.draw()
    still = wrapped([drawing], [graph.sizes], [np.array(graph.edges, np.int64)])[0]
    (pane,) = script.shown([(graph, drawing)], columns=True)
    shown = as_drawing(drawing, pane)
    assert len(pane["pieces"]) == len(still.blocks)
    for part in ("x", "y", "points"):
        assert np.allclose(getattr(shown, part), getattr(still, part), atol=0.6), part
    assert [edge["stub"] for edge in pane["edges"]] == np.resize(still.stub, len(graph.edges)).tolist()


def test_what_is_short_stays_as_it_is(script: PageScript) -> None:
    graph = graphs.fan(30, join=True)
    drawing = graph.draw()
    (pane,) = script.shown([(graph, drawing)], columns=True)
    assert pane["y"] == drawing.y.tolist()
