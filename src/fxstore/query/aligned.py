"""Drawings in the panes of a page, brought to equal heights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from fxstore.layout import align, stretched
from fxstore.render.model import DrawnGraph, Pane

_GIVEN: Final = frozenset({"placeholder", "get_attr"})
_QUANTISING: Final = ("quantize_", "dequantize_", "choose_qparams")
_OPERATOR: Final = 1000
"""What an operator counts beside one that only quantises, and beside what a graph is given."""


def aligned(panes: Sequence[Pane], sets: Sequence[Sequence[tuple[int, bool]]]) -> tuple[Pane, ...]:
    """Returns the panes with counterparts at one height, as many of them as can be, operators before all else.

    Graphs of the same title are brought together: a method's top graphs, or a nested graph in several stages.

    Args:
        panes: Panes whose drawings are as the layout made them.
        sets: Members of each sync set as (nid, is_primary).
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
    drawn = [list(pane.graphs) for pane in panes]
    for group in groups.values():
        stretches = align([_heights(drawn[i][j], led) for i, j in group], weights)
        for (i, j), stretch in zip(group, stretches, strict=True):
            graph = drawn[i][j]
            ends = np.stack([graph.edges[end].to_numpy() for end in ("src", "dst")], axis=1).astype(np.int64)
            drawn[i][j] = replace(graph, drawing=stretched(graph.drawing, stretch, ends))
    return tuple(replace(pane, graphs=tuple(graphs)) for pane, graphs in zip(panes, drawn, strict=True))


def _aside(panes: Sequence[Pane]) -> Iterator[int]:
    """Yields what computes nothing of its own: what a graph is given, and what quantises."""
    for graph in (graph for pane in panes for graph in pane.graphs):
        for nid, op, kind in zip(*(graph.nodes[name].to_pylist() for name in ("nid", "op", "op_type")), strict=True):
            if op in _GIVEN or (kind or "").startswith(_QUANTISING):
                yield nid


def _heights(graph: DrawnGraph, led: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Returns the height of each set whose primary member the graph holds; of several members the last one's.

    Args:
        led: The numbers of the sets that a node is a primary member of.
    """
    nodes = zip(graph.nodes["nid"].to_pylist(), graph.drawing.y.tolist(), strict=True)
    return {number: y for nid, y in nodes for number in led.get(nid, ())}
