"""Graphs as a compile pass leaves them, and how much of their drawings stays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fxstore.layout import Drawing, draw
from fxstore.layout.align import Stretch
from tests.layout.graphs import Graph


def quantised(graph: Graph, only: str = "") -> tuple[Graph, list[int]]:
    """Puts a quantise and a dequantise node before every input of each node with more than one, in modules ``only``.

    Returns:
        The graph, and the new number of each old node.
    """
    sizes: list[tuple[float, float]] = []
    paths: list[str | None] = []
    edges: list[tuple[int, int]] = []
    place: list[int] = []
    inputs: list[list[int]] = [[] for _ in graph.sizes]
    for a, b in graph.edges:
        inputs[b].append(a)
    for v, size in enumerate(graph.sizes):
        sources = [place[a] for a in inputs[v]]
        path = graph.paths[v]
        if len(sources) > 1 and path is not None and path.startswith(only):
            for i, source in enumerate(sources):
                edges += [(source, len(sizes)), (len(sizes), len(sizes) + 1)]
                sources[i] = len(sizes) + 1
                sizes += [(220.0, 36.0)] * 2
                paths += [None] * 2
        place.append(len(sizes))
        edges += [(source, len(sizes)) for source in sources]
        sizes.append(size)
        paths.append(path)
    return Graph(sizes, edges, paths), place


def inserted(graph: Graph, edge: int) -> tuple[Graph, list[int]]:
    """Puts a quantise and a dequantise node into one edge, right before its target.

    Returns:
        The graph, and the new number of each old node.
    """
    source, target = graph.edges[edge]
    place = [v if v < target else v + 2 for v in range(len(graph.sizes))]
    sizes = [*graph.sizes[:target], (220.0, 36.0), (220.0, 36.0), *graph.sizes[target:]]
    paths = [*graph.paths[:target], None, None, *graph.paths[target:]]
    edges = [(place[a], place[b]) for i, (a, b) in enumerate(graph.edges) if i != edge]
    edges += [(place[source], target), (target, target + 1), (target + 1, place[target])]
    return Graph(sizes, edges, paths), place


def shared_heights(panes: Sequence[Mapping[int, float]], stretches: Sequence[Stretch]) -> float:
    """Returns which part of the keys in several panes has one height in all of them."""
    heights: dict[int, list[float]] = {}
    for pane, stretch in zip(panes, stretches, strict=True):
        for key, y in pane.items():
            heights.setdefault(key, []).append(y + float(stretch.moves(np.array([y]))[0]))
    shared = [ys for ys in heights.values() if len(ys) > 1]
    return float(np.mean([max(ys) - min(ys) < 1 for ys in shared])) if shared else 1.0


def beside(graph: Graph, drawing: Drawing, after: Graph, place: Sequence[int], level: bool = False) -> Drawing:
    """Draws a graph beside the drawing of what it was before; ``place`` is the new number of each old node.

    With ``level`` rows are taken over, too, not only the order from left to right.
    """
    wishes: list[tuple[float, float] | None] = [None] * len(after.sizes)
    for old, new in enumerate(place):
        wishes[new] = float(drawing.x[old]), float(drawing.y[old]) if level else math.nan
    return draw(after.sizes, after.edges, after.paths, None, wishes)


def moved(before: Drawing, after: Drawing, place: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Marks the old nodes that move sidewards against most of the others."""
    step = after.x[place] - before.x
    marks: npt.NDArray[np.bool_] = np.abs(step - np.median(step)) > 2
    return marks


def branches(graph: Graph, before: Drawing, after: Drawing, place: Sequence[int]) -> tuple[int, int]:
    """Counts pairs of old nodes that stand beside each other in both drawings, and those of them in another order."""
    heights = np.array(graph.sizes)[:, 1]
    pairs = turned = 0
    for v in range(len(heights)):
        near = np.flatnonzero(np.abs(before.y[v + 1 :] - before.y[v]) < (heights[v + 1 :] + heights[v]) / 2) + v + 1
        now = np.array(place)[near]
        near = near[np.abs(after.y[now] - after.y[place[v]]) < (heights[near] + heights[v]) / 2]
        right = after.x[np.array(place, np.int64)[near]] > after.x[place[v]]
        pairs += len(near)
        turned += int((right != (before.x[near] > before.x[v])).sum())
    return pairs, turned
