"""The whole drawing: every block and every edge put where it stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.fold import make_folding
from fxstore.layout.model import Drawing
from fxstore.layout.order import Longs, Marks
from fxstore.layout.pack import pack
from fxstore.layout.plan import Plan
from fxstore.layout.problem import Whole
from fxstore.layout.shapes import Shapes
from fxstore.layout.spacing import STEP
from fxstore.layout.stubs import stub_edges
from fxstore.layout.wires import Wires, split_edges

Floats = npt.NDArray[np.float64]


def compose(sizes: Floats, plan: Plan, wishes: Floats) -> Drawing:
    """Draws a graph in drawing order.

    Args:
        sizes: (n, 2) widths and heights of the nodes as given.
        plan: The graph.
        wishes: (n, 2) the place of each node's counterpart in a drawing beside this one, else NaN.
    """
    n, tree = len(sizes), plan.tree
    wires = split_edges(tree, plan.tails, plan.heads, plan.spine)
    boxes = sizes[plan.order]
    width = np.maximum(np.ceil(boxes[:, 0] / STEP), 1).astype(np.int64) * STEP
    height = np.maximum(np.ceil(boxes[:, 1] / 2), 1).astype(np.int64) * 2
    shapes = Shapes(plan, wires, width, height, wishes[plan.order])
    corners = _corners(plan, shapes, width)
    centre = corners[:n] + np.stack([width, height], axis=1) // 2
    lines, offsets = _lines(wires, shapes, corners[n:], len(plan.tails))
    lines[offsets[:-1], 1] = centre[plan.tails, 1] + boxes[plan.tails, 1] / 2
    lines[offsets[1:] - 1, 1] = centre[plan.heads, 1] - boxes[plan.heads, 1] / 2
    index, offsets = _as_given(plan, offsets)
    drawn = [b for b in range(len(tree.items)) if tree.module[b] >= 0]
    extent = np.array([(s.width, s.height) for s in shapes.shapes], np.int64).reshape(-1, 2)[shapes.of]
    place = np.empty((n, 2))
    place[plan.order] = centre
    right, bottom = (corners[n:] + extent).max(axis=0) if n else (0, 0)
    return Drawing(
        place[:, 0].astype(np.float32),
        place[:, 1].astype(np.float32),
        lines[index].astype(np.float32),
        offsets.astype(np.int32),
        plan.feedback,
        tuple(plan.modules.paths[tree.module[b]] for b in drawn),
        np.concatenate([corners[n:][drawn], extent[drawn]], axis=1).astype(np.float32),
        float(right),
        float(bottom),
        make_folding(plan, shapes, corners[n:]),
        stub_edges(plan.ends, place[:, 1] - sizes[:, 1] / 2, place[:, 1] + sizes[:, 1] / 2, plan.feedback),
    )


def _corners(plan: Plan, shapes: Shapes, width: Longs) -> Longs:
    """Returns the top left corner of every node and, after them, of every block."""
    tree, n = plan.tree, len(width)
    corners, root = np.zeros((n + len(tree.items), 2), np.int64), np.arange(n + len(tree.items)) - n
    for block, items in enumerate(tree.items):
        shape = shapes.shapes[shapes.of[block]]
        corners[items, 0] = corners[n + block, 0] + shape.left
        corners[items, 1] = corners[n + block, 1] + shape.top
        root[items] = root[n + block]
    roots = np.flatnonzero(tree.parent < 0)
    if len(roots):
        extents = [(s.width, s.height) for s in (shapes.shapes[shapes.of[b]] for b in roots)]
        ends = plan.heads[plan.spine]
        stem = max(range(len(roots)), key=lambda i: (extents[i][0] * extents[i][1], -i))
        last = int(ends[root[ends] == roots[stem]].max(initial=-1))
        middle = int(corners[last, 0] + width[last] // 2) if last >= 0 else 0
        alone = np.bincount(root[:n], minlength=len(tree.items))[roots] == 1
        offset = np.zeros((len(tree.items), 2), np.int64)
        offset[roots] = pack(extents, alone.tolist(), middle)
        corners += offset[root]
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
    index = _ranges(steps[at], counts)
    lines = points[index] + np.repeat(corners[wires.visit_block], counts, axis=0)
    edge = np.repeat(wires.visit_edge, counts)
    keep = _bends(lines[:, 0], edge)
    return lines[keep].astype(np.float64), np.searchsorted(edge[keep], np.arange(edges + 1))


def _bends(x: Longs, edge: Longs) -> Marks:
    """Marks the corners that are not within a straight run downwards."""
    new = np.ones(len(x) + 1, np.bool_)
    new[1:-1] = (x[1:] != x[:-1]) | (edge[1:] != edge[:-1])
    bends: Marks = new[1:] | new[:-1]
    return bends


def _as_given(plan: Plan, offsets: Longs) -> tuple[Longs, Longs]:
    """Returns the places of the corners in the order and the direction of the given edges."""
    drawn = plan.line >= 0
    line = plan.line[drawn]
    counts = np.zeros(len(plan.line), np.int64)
    counts[drawn] = offsets[line + 1] - offsets[line]
    begin = np.zeros(len(plan.line), np.int64)
    begin[drawn] = offsets[line]
    index = _ranges(begin, counts)
    back = np.repeat(plan.feedback, counts)
    mirrored = np.repeat(2 * begin + counts - 1, counts) - index
    return np.where(back, mirrored, index), np.concatenate([[0], np.cumsum(counts)])
