"""What every drawing must obey, checked without anything of the layout's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fxstore.layout import Drawing
from tests.layout.graphs import Graph

EPS = 0.02


def violations(graph: Graph, drawing: Drawing, blocks: bool = True, sides: Sequence[str] = ()) -> list[str]:
    """Returns one line per broken law; those of module boxes only where ``blocks`` is set.

    Boxes with the title of one of the ``sides`` may hold any nodes.
    """
    sizes = np.array(graph.sizes, np.float64).reshape(-1, 2)
    centre = np.stack([drawing.x, drawing.y], axis=1).astype(np.float64)
    low, high = centre - sizes / 2, centre + sizes / 2
    found = []
    if not (np.isfinite(centre).all() and np.isfinite(drawing.points).all()):
        return ["a place is not a number"]
    if len(low) and (low.min() < -EPS or (high.max(axis=0) > np.array([drawing.width, drawing.height]) + EPS).any()):
        found.append("a box is outside the drawing")
    found += _overlaps(low, high)
    found += _wrong_ends(graph, drawing, low, high)
    found += _edges_through_boxes(graph, drawing, low, high)
    found += _wrong_blocks(graph, drawing, low, high, sides) if blocks else []
    return found


def _overlaps(low: np.ndarray, high: np.ndarray) -> list[str]:
    order = np.argsort(low[:, 1], kind="stable")
    ends = np.searchsorted(low[order, 1], high[order, 1] - EPS)
    for i, v in enumerate(order):
        others = order[i + 1 : ends[i]]
        hit = (low[others] < high[v] - EPS).all(axis=1) & (high[others] > low[v] + EPS).all(axis=1)
        if hit.any():
            return [f"boxes {v} and {others[hit][0]} overlap"]
    return []


def _wrong_ends(graph: Graph, drawing: Drawing, low: np.ndarray, high: np.ndarray) -> list[str]:
    found = []
    for e, (a, b) in enumerate(graph.edges):
        line = drawing.points[drawing.offsets[e] : drawing.offsets[e + 1]].astype(np.float64)
        if a == b:
            if len(line):
                found.append(f"self loop {e} is drawn")
            continue
        if len(line) < 2:
            found.append(f"edge {e} is not drawn")
            continue
        if drawing.feedback[e]:
            line, a, b = line[::-1], b, a
        if not high[a, 1] < low[b, 1] or (np.diff(line[:, 1]) < 0).any():
            found.append(f"edge {e} ({a} to {b}) does not go down")
        on_a = abs(line[0, 1] - high[a, 1]) < EPS and low[a, 0] - EPS <= line[0, 0] <= high[a, 0] + EPS
        on_b = abs(line[-1, 1] - low[b, 1]) < EPS and low[b, 0] - EPS <= line[-1, 0] <= high[b, 0] + EPS
        if not (on_a and on_b):
            found.append(f"edge {e} does not end at its boxes")
    return found


def _edges_through_boxes(graph: Graph, drawing: Drawing, low: np.ndarray, high: np.ndarray) -> list[str]:
    if not len(drawing.points):
        return []
    owner = np.repeat(np.arange(len(graph.edges)), np.diff(drawing.offsets))
    same = owner[1:] == owner[:-1]
    points = drawing.points.astype(np.float64)
    ends = np.array(graph.edges)[owner[:-1][same]]
    pieces = np.unique(np.concatenate([points[:-1][same], points[1:][same], ends], axis=1), axis=0)
    a, b = pieces[:, :2], pieces[:, 2:4]
    left, right = np.minimum(a[:, 0], b[:, 0]), np.maximum(a[:, 0], b[:, 0])
    top, bottom = np.minimum(a[:, 1], b[:, 1]), np.maximum(a[:, 1], b[:, 1])
    for v, (x0, y0), (x1, y1) in zip(range(len(low)), low + EPS, high - EPS, strict=True):
        near = np.flatnonzero((top < y1) & (bottom > y0) & (left < x1) & (right > x0))
        near = near[(pieces[near, 4:] != v).all(axis=1)]
        if len(near):
            corners = np.array([[x0, y0], [x0, y1], [x1, y0], [x1, y1]])[:, None, :]
            along, away = b[near] - a[near], corners - a[near]
            side = along[:, 0] * away[..., 1] - along[:, 1] * away[..., 0]
            hit = near[(side.min(axis=0) < 0) & (side.max(axis=0) > 0)]
            if len(hit):
                return [f"edge {pieces[hit[0], 4:].astype(int)} crosses box {v}"]
    return []


def _inside(path: str | None, module: str) -> bool:
    return path is None or path == module or path.startswith(module + ".")


def _wrong_blocks(graph: Graph, drawing: Drawing, low: np.ndarray, high: np.ndarray, sides: Sequence[str]) -> list[str]:
    found = []
    boxes = drawing.block_boxes.astype(np.float64)
    corner, end = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    for i, module in enumerate(drawing.blocks):
        apart = (low >= end[i] - EPS).any(axis=1) | (high <= corner[i] + EPS).any(axis=1)
        within = (low >= corner[i] - EPS).all(axis=1) & (high <= end[i] + EPS).all(axis=1)
        if not (apart | within).all():
            found.append(f"a node straddles the border of {module}")
        own = np.flatnonzero(within & ~apart)
        named = sum(graph.paths[v] is not None for v in own) >= 2 and all(_inside(graph.paths[v], module) for v in own)
        if module not in sides and not named:
            found.append(f"the box of {module} holds the wrong nodes")
        rest = slice(i + 1, None)
        apart = (corner[rest] >= end[i] - EPS).any(axis=1) | (end[rest] <= corner[i] + EPS).any(axis=1)
        within = (corner[rest] >= corner[i] - EPS).all(axis=1) & (end[rest] <= end[i] + EPS).all(axis=1)
        if not (apart | within).all():
            found.append(f"the box of {module} cuts another, or comes after one that holds it")
    return found


def longest_path(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns a longest path of a graph in topological order."""
    length, before = [0] * nodes, [-1] * nodes
    for a, b in sorted(edges):
        if length[a] + 1 > length[b]:
            length[b], before[b] = length[a] + 1, a
    v = max(range(nodes), key=lambda v: (length[v], -v))
    path = []
    while v >= 0:
        path.append(v)
        v = before[v]
    return path[::-1]
