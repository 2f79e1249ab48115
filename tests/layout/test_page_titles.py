"""Where the page writes the names of modules: by its own script."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout import real
from tests.layout.graphs import Graph
from tests.layout.paged import PageScript
from tests.layout.test_laws import graphs as any_graph
from tests.layout.test_page_columns import whole


def boxes_of(entries: list[dict[str, Any]]) -> np.ndarray:
    sides = ("left", "top", "right", "bottom")
    return np.array([[entry[side] for side in sides] for entry in entries], np.float64).reshape(-1, 4)


def meet(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns for each pair of boxes whether they overlap by more than rounding."""
    low = np.maximum(some[:, None, :2], others[None, :, :2])
    high = np.minimum(some[:, None, 2:], others[None, :, 2:])
    return (high - low > 0.02).all(axis=2)


def assert_clear(graph: Graph, pane: dict[str, Any]) -> None:
    """Each title stands within its module, on no node, on no module that its own holds, and on no other title."""
    titles = boxes_of(pane["titles"])
    centre, half = np.stack([pane["x"], pane["y"]], axis=1), np.array(graph.sizes, np.float64).reshape(-1, 2) / 2
    seen = np.array(pane["holder"]) == -1
    nodes = np.concatenate([centre - half, centre + half], axis=1)[seen]
    assert not meet(titles, nodes).any()
    assert not np.triu(meet(titles, titles), 1).any()
    pieces = np.array([piece["box"] for piece in pane["pieces"]], np.float64).reshape(-1, 4)
    pieces[:, 2:] += pieces[:, :2]
    assert all(meet(title[None], pieces[[p["closed"] for p in pane["pieces"]]]).sum() == 0 for title in titles)
    for title, box in zip(pane["titles"], titles, strict=True):
        own = [pieces[i] for i, p in enumerate(pane["pieces"]) if p["path"] == title["path"]]
        assert any((box[:2] >= low[:2] - 0.02).all() and (box[2:] <= low[2:] + 0.02).all() for low in own)


@given(any_graph(), st.booleans(), st.floats(0.02, 2), st.data())
@settings(max_examples=150, deadline=None)
def test_no_title_stands_on_a_node_or_on_another_title(
    script: PageScript, graph: Graph, columns: bool, scale: float, data: st.DataObject
) -> None:
    graph = whole(graph)
    drawing = graph.draw()
    count = len(drawing.blocks)
    closed = data.draw(st.lists(st.integers(0, count - 1), max_size=3, unique=True)) if count else []
    (pane,) = script.shown([(graph, drawing)], columns, [closed], scale)
    assert_clear(graph, pane)


@pytest.mark.parametrize(("scale", "least"), [(1.0, 0.9), (0.5, 0.9), (0.25, 0.1)])
def test_modules_of_a_real_model_have_names_where_there_is_room(script: PageScript, scale: float, least: float) -> None:
    graph = whole(real.load("mobilenet"))
    drawing = graph.draw()
    (pane,) = script.shown([(graph, drawing)], columns=False, scale=scale)
    assert_clear(graph, pane)
    assert len(pane["titles"]) >= least * len(drawing.blocks)
    whole_names = sum(title["text"] == title["path"] for title in pane["titles"])
    assert whole_names > 0
