"""Drawings in the panes of a page, brought to equal heights and to one order from left to right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

import numpy as np
import pyarrow as pa

from fxstore.layout import Drawing, agrees, align, stretched, wrapped
from fxstore.layout.model import Floats
from fxstore.render.model import DrawnGraph, Pane
from fxstore.render.page.drawings import QUANTISING, Places, drawn

_GIVEN: Final = frozenset({"placeholder", "get_attr"})
_LEVEL: Final = 0.95
"""Where fewer operators would stand level with those in the panes before, rows are taken over from these, too."""
Place = tuple[float, float]
Redraw = Callable[[pa.Table, pa.Table, Places], Drawing]
_NOWHERE: Final = (math.nan, math.nan)
_OPERATOR: Final = 1000
"""What an operator counts beside one that only quantises, and beside what a graph is given."""


def aligned(
    panes: Sequence[Pane], sets: Sequence[Sequence[tuple[int, bool]]], redraw: Redraw = drawn
) -> tuple[Pane, ...]:
    """Returns the panes with counterparts at one height, as many of them as can be, operators before all else.

    Graphs of the same title are brought together: a method's top graphs, or a nested graph in several stages. Where a
    row has another order than the counterparts of its operators in the panes before, the graph is drawn anew in theirs.

    Args:
        panes: Panes whose drawings are as the layout made them.
        sets: Members of each sync set as (nid, is_primary).
        redraw: Draws a graph anew: its nodes, its edges, and where each node's counterpart stands.
    """
    led: dict[int, list[int]] = {}
    for number, members in enumerate(sets):
        for nid, is_primary in members:
            if is_primary:
                led.setdefault(nid, []).append(number)
    weights = dict.fromkeys(range(len(sets)), _OPERATOR)
    weights.update((number, 1) for nid in _aside(panes) for number in led.get(nid, ()))
    groups: dict[str, list[tuple[int, int]]] = {}
    for i, pane in enumerate(panes):
        for title, j in {graph.title: j for j, graph in enumerate(pane.graphs) if not graph.beside}.items():
            groups.setdefault(title, []).append((i, j))
    shown = [list(pane.graphs) for pane in panes]
    for group in groups.values():
        rows = [_rows(shown[i][j], led) for i, j in group]
        operators = [{key: row for key, row in own.items() if weights[key] == _OPERATOR} for own in rows]
        graphs = _in_order([shown[i][j] for i, j in group], operators, redraw)
        heights = [_places(graph.drawing.y, own) for graph, own in zip(graphs, rows, strict=True)]
        for (i, j), graph, stretch in zip(group, graphs, align(heights, weights), strict=True):
            ends = np.stack([graph.edges[end].to_numpy() for end in ("src", "dst")], axis=1).astype(np.int64)
            shown[i][j] = replace(graph, drawing=stretched(graph.drawing, stretch, ends), stretch=stretch)
    return tuple(replace(pane, graphs=tuple(graphs)) for pane, graphs in zip(panes, shown, strict=True))


def _aside(panes: Sequence[Pane]) -> Iterator[int]:
    """Yields what computes nothing of its own: what a graph is given, and what quantises."""
    for graph in (graph for pane in panes for graph in pane.graphs):
        for nid, op, kind in zip(*(graph.nodes[name].to_pylist() for name in ("nid", "op", "op_type")), strict=True):
            if op in _GIVEN or (kind or "").startswith(QUANTISING):
                yield nid


def _level(before: Mapping[int, Place], now: Mapping[int, float]) -> float:
    """Returns which part of the keys that both have would be brought to one height."""
    shared = sorted(key for key in now if key in before)
    panes = [{key: before[key][1] for key in shared}, {key: now[key] for key in shared}]
    one, two = (
        np.array(list(pane.values())) + stretch.moves(np.array(list(pane.values())))
        for pane, stretch in zip(panes, align(panes), strict=True)
    )
    return float(np.mean(np.abs(one - two) < 1)) if shared else 1.0


def _rows(graph: DrawnGraph, led: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Returns the row of the node that is the primary member of each set; of several members the last one's.

    Args:
        graph: A graph.
        led: The numbers of the sets that a node is a primary member of.
    """
    return {number: row for row, nid in enumerate(graph.nodes["nid"].to_pylist()) for number in led.get(nid, ())}


def _places(axis: Floats, rows: Mapping[int, int]) -> dict[int, float]:
    return {key: float(axis[row]) for key, row in rows.items()}


def _in_order(graphs: Sequence[DrawnGraph], rows: Sequence[Mapping[int, int]], redraw: Redraw) -> list[DrawnGraph]:
    """Returns the graphs, each in the order of those before it; keys are as in the graph that last had them."""
    out: list[DrawnGraph] = []
    before: dict[int, Place] = {}
    for graph, own in zip(graphs, rows, strict=True):
        beside: list[Place | None] = [None] * graph.nodes.num_rows
        for key, row in own.items():
            beside[row] = before.get(key, beside[row])
        order = [place and (place[0], math.nan) for place in beside]
        if not agrees(graph.drawing, [place or _NOWHERE for place in order], graph.nodes["height"].to_numpy()):
            graph = replace(graph, drawing=redraw(graph.nodes, graph.edges, order))
        if _level(before, _places(graph.drawing.y, own)) < _LEVEL:
            graph = replace(graph, drawing=redraw(graph.nodes, graph.edges, beside))
        out.append(graph)
        x, y = _places(graph.drawing.x, own), _places(graph.drawing.y, own)
        right = median([x[key] - before[key][0] for key in x if key in before] or [0.0])
        down = median([y[key] - before[key][1] for key in y if key in before] or [0.0])
        before = {key: (a + right, b + down) for key, (a, b) in before.items()} | {key: (x[key], y[key]) for key in x}
    return out


# Panes whose deep graphs stand in columns.


def in_columns(panes: Sequence[Pane]) -> tuple[Pane, ...]:
    """Returns the panes with graphs that are much taller than wide in columns; graphs of one title are cut alike.

    Args:
        panes: Panes at equal heights.
    """
    shown = [list(pane.graphs) for pane in panes]
    groups: dict[str, list[tuple[int, int]]] = {}
    for i, pane in enumerate(panes):
        for title, j in {graph.title: j for j, graph in enumerate(pane.graphs) if not graph.beside}.items():
            groups.setdefault(title, []).append((i, j))
    for group in groups.values():
        graphs = [shown[i][j] for i, j in group]
        sizes = [np.stack([graph.nodes[side].to_numpy() for side in ("width", "height")], axis=1) for graph in graphs]
        ends = [np.stack([graph.edges[end].to_numpy() for end in ("src", "dst")], axis=1) for graph in graphs]
        drawings = wrapped([graph.drawing for graph in graphs], sizes, [own.astype(np.int64) for own in ends])
        for (i, j), graph, drawing in zip(group, graphs, drawings, strict=True):
            shown[i][j] = replace(graph, drawing=drawing, stretch=None)
    return tuple(replace(pane, graphs=tuple(graphs)) for pane, graphs in zip(panes, shown, strict=True))
