"""Drawings in the panes of a page, brought to equal heights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fxstore.layout import align, stretched
from fxstore.render.model import DrawnGraph, Pane


def aligned(
    panes: Sequence[Pane], sets: Sequence[Sequence[tuple[int, bool]]], focus: Mapping[int, int]
) -> tuple[Pane, ...]:
    """Returns the panes with counterparts at one height, as many of them as can be.

    Graphs of the same title are brought together: a method's top graphs, or a nested graph in several stages.

    Args:
        panes: Panes whose drawings are as the layout made them.
        sets: Members of each sync set as (nid, is_primary).
        focus: nid to the index of its set.
    """
    primary = {nid for members in sets for nid, is_primary in members if is_primary}
    groups: dict[str, list[tuple[int, int]]] = {}
    for i, pane in enumerate(panes):
        for title, j in {graph.title: j for j, graph in enumerate(pane.graphs) if not graph.beside}.items():
            groups.setdefault(title, []).append((i, j))
    drawn = [list(pane.graphs) for pane in panes]
    for group in groups.values():
        stretches = align([_heights(drawn[i][j], focus, primary) for i, j in group])
        for (i, j), stretch in zip(group, stretches, strict=True):
            graph = drawn[i][j]
            ends = np.stack([graph.edges[end].to_numpy() for end in ("src", "dst")], axis=1).astype(np.int64)
            drawn[i][j] = replace(graph, drawing=stretched(graph.drawing, stretch, ends))
    return tuple(replace(pane, graphs=tuple(graphs)) for pane, graphs in zip(panes, drawn, strict=True))


def _heights(graph: DrawnGraph, focus: Mapping[int, int], primary: set[int]) -> dict[int, float]:
    """Returns the height of each set that a node of the graph is in; of several its primary one's, else the first's."""
    heights: dict[int, float] = {}
    led: set[int] = set()
    for nid, y in zip(graph.nodes["nid"].to_pylist(), graph.drawing.y.tolist(), strict=True):
        key = focus.get(nid)
        if key is None or (key in heights and (key in led or nid not in primary)):
            continue
        heights[key] = y
        if nid in primary:
            led.add(key)
    return heights
