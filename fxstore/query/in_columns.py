"""Panes whose deep graphs stand in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fxstore.layout import wrapped
from fxstore.render.model import Pane


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
