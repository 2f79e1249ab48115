"""The whole drawing: every block and every edge put where it stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.blocks import Tree
from fxstore.layout.model import Drawing
from fxstore.layout.order import Longs
from fxstore.layout.pack import pack
from fxstore.layout.plan import Plan
from fxstore.layout.problem import Whole
from fxstore.layout.shapes import Shapes
from fxstore.layout.spacing import STEP
from fxstore.layout.wires import Wires, split_edges

Floats = npt.NDArray[np.float64]


def compose(sizes: Floats, plan: Plan) -> Drawing:
    """Draws a graph in drawing order.

    Args:
        sizes: (n, 2) widths and heights of the nodes as given.
        plan: The graph.
    """
    n, tree = len(sizes), plan.tree
    wires = split_edges(tree, plan.tails, plan.heads, plan.spine)
    boxes = sizes[plan.order]
    width = np.maximum(np.ceil(boxes[:, 0] / STEP), 1).astype(np.int64) * STEP
    height = np.maximum(np.ceil(boxes[:, 1] / 2), 1).astype(np.int64) * 2
    shapes = Shapes(plan, wires, width, height)
    corners = _corners(tree, shapes, n)
    centre = corners[:n] + np.stack([width, height], axis=1) // 2
    lines, offsets = _lines(wires, shapes, corners[n:], len(plan.tails))
    bottom = centre[plan.tails, 1] + boxes[plan.tails, 1] / 2
    top = centre[plan.heads, 1] - boxes[plan.heads, 1] / 2
    lines, offsets = _lengthened(lines, offsets, bottom, top)
    points, offsets = _as_given(plan, lines, offsets)
    drawn = [b for b in range(len(tree.items)) if tree.module[b] >= 0]
    extent = np.array([(s.width, s.height) for s in shapes.shapes], np.int64).reshape(-1, 2)[shapes.of]
    place = np.empty((n, 2))
    place[plan.order] = centre
    right, bottom = (corners[n:] + extent).max(axis=0) if n else (0, 0)
    return Drawing(
        place[:, 0].astype(np.float32),
        place[:, 1].astype(np.float32),
        points.astype(np.float32),
        offsets.astype(np.int32),
        plan.feedback,
        tuple(plan.modules.paths[tree.module[b]] for b in drawn),
        np.concatenate([corners[n:][drawn], extent[drawn]], axis=1).astype(np.float32),
        float(right),
        float(bottom),
    )


def _corners(tree: Tree, shapes: Shapes, n: int) -> Longs:
    """Returns the top left corner of every node and, after them, of every block."""
    corners = np.zeros((n + len(tree.items), 2), np.int64)
    roots = np.flatnonzero(tree.parent < 0)
    found = [shapes.shapes[shapes.of[b]] for b in roots]
    if len(roots):
        corners[n + roots] = pack([(s.width, s.height) for s in found])
    for block, items in enumerate(tree.items):
        shape = shapes.shapes[shapes.of[block]]
        corners[items, 0] = corners[n + block, 0] + shape.left
        corners[items, 1] = corners[n + block, 1] + shape.top
    return corners


def _ranges(starts: Longs, counts: Longs) -> Longs:
    """Returns ``starts[i], starts[i] + 1, ...``, ``counts[i]`` of them, for each i, end to end."""
    begin = np.cumsum(counts) - counts
    return np.repeat(starts - begin, counts) + np.arange(int(counts.sum()))


def _lines(wires: Wires, shapes: Shapes, corners: Longs, edges: int) -> tuple[Floats, Longs]:
    """Returns the polylines of all distinct edges, and where each begins."""
    known: list[Whole] = [s.points for s in shapes.shapes]
    points = np.concatenate([np.zeros((0, 2), np.int32), *known])
    base = np.cumsum([0, *map(len, known)])
    steps = np.concatenate([np.zeros(0, np.int64), *[s.offsets + b for s, b in zip(shapes.shapes, base, strict=False)]])
    first = np.cumsum([0, *[len(s.offsets) for s in shapes.shapes]])
    at = first[shapes.of[wires.visit_block]] + wires.visit_wire - wires.first[wires.visit_block]
    counts = steps[at + 1] - steps[at]
    lines = points[_ranges(steps[at], counts)] + np.repeat(corners[wires.visit_block], counts, axis=0)
    edge = np.repeat(wires.visit_edge, counts)
    lines, edge = _straight(lines, edge)
    return lines.astype(np.float64), np.searchsorted(edge, np.arange(edges + 1))


def _straight(lines: Longs, edge: Longs) -> tuple[Longs, Longs]:
    """Drops repeated corners and corners on a straight line."""
    keep = np.ones(len(lines), np.bool_)
    keep[1:] = (edge[1:] != edge[:-1]) | (lines[1:] != lines[:-1]).any(axis=1)
    lines, edge = lines[keep], edge[keep]
    keep = np.ones(len(lines), np.bool_)
    step = np.diff(lines, axis=0)
    bend = step[:-1, 0] * step[1:, 1] != step[:-1, 1] * step[1:, 0]
    keep[1:-1] = bend | (edge[1:-1] != edge[:-2]) | (edge[1:-1] != edge[2:])
    return lines[keep], edge[keep]


def _lengthened(lines: Floats, offsets: Longs, start: Floats, end: Floats) -> tuple[Floats, Longs]:
    """Lets each polyline begin and end at the box itself, where the room kept for that is a little larger."""
    first, last = offsets[:-1], offsets[1:] - 1
    before, after = lines[first, 1] != start, lines[last, 1] != end
    # Where one polyline ends and the next begins, numpy inserts in the order given: the end first.
    places = np.concatenate([offsets[1:][after], first[before]])
    x = np.concatenate([lines[last[after], 0], lines[first[before], 0]])
    corners = np.stack([x, np.concatenate([end[after], start[before]])], axis=1)
    counts = np.diff(offsets) + before + after
    return np.insert(lines, places, corners, axis=0), np.concatenate([[0], np.cumsum(counts)])


def _as_given(plan: Plan, lines: Floats, offsets: Longs) -> tuple[Floats, Longs]:
    """Returns the polylines in the order and the direction of the given edges."""
    drawn = plan.line >= 0
    line = plan.line[drawn]
    counts = np.zeros(len(plan.line), np.int64)
    counts[drawn] = offsets[line + 1] - offsets[line]
    begin = np.zeros(len(plan.line), np.int64)
    begin[drawn] = offsets[line]
    index = _ranges(begin, counts)
    back = np.repeat(plan.feedback, counts)
    mirrored = np.repeat(2 * begin + counts - 1, counts) - index
    return lines[np.where(back, mirrored, index)], np.concatenate([[0], np.cumsum(counts)])
