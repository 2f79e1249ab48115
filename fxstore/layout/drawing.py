"""The one call that makes a drawing: check what is given, plan it, lay out its blocks, put everything in its place.

The method is Sugiyama's (rows, few crossings, then x), applied to one small block at a time::

    draw ─▶ make_plan     nodes in drawing order, cut into blocks        plan.py, blocks.py
         ─▶ split_edges   each edge becomes one wire per block           shapes.py
         ─▶ Shapes        each distinct block is solved once, inner first   rows, grid, crossing, place, route
         ─▶ pack          components side by side                        here
         ─▶ Drawing       corners of blocks added up, wires joined to polylines, folding, stubs

The invariants are laws that ``tests/layout/laws.py`` checks on any graph: no two boxes overlap, every edge but
feedback points down, none crosses a box that is not its end, and equal input gives equal bytes. Cost is linear in
nodes and edges: blocks are bounded in size, and blocks of equal structure share one shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from fxstore.gc_paused import at_rest
from fxstore.layout.model import (
    CLOSED,
    GAP_PARTS,
    LANE,
    STEP,
    Doubles,
    Drawing,
    Folding,
    Ints,
    Longs,
    Marks,
    Sides,
)
from fxstore.layout.plan import Plan, make_plan
from fxstore.layout.shapes import Shapes, Wires, split_edges

HUB = 8
"""A node with at least so many users, or inputs, is a hub: fewer lines than that can be followed by eye."""
FAR = 600
"""Pixels, about a screen's height, between a hub's box and a user's or an input's; a nearer one has a whole edge."""
ASPECT, GRID_ASPECT = 1.6, 2.0
"""Width over height of many small components together, as a screen has, and of single nodes under a component."""
Corners = list[tuple[int, int]]


def draw(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    paths: Sequence[str | None],
    sides: Sides | None = None,
    beside: Sequence[tuple[float, float] | None] | None = None,
) -> Drawing:
    """Draws a graph, nodes given in program (topological) order.

    Args:
        sizes: Width and height of each node's box.
        edges: Source and target of each edge, as indices into ``sizes``; repeats and self loops are allowed.
        paths: Module path of each node (``'layer.0.attn'``), or None where it has none.
        sides: The sides of a training graph: each is a titled box, right of the one before and below it. What follows
            from a node is on its side or on a later one.
        beside: Centre of each node's counterpart in a drawing that this one stands beside, None where it has none:
            what stands in one row here has the order of its counterparts, and what stood above something does here.
            With NaN for y only the order of rows is taken over, and less moves.

    Returns:
        A drawing with every node placed, no two boxes overlapping, every edge that is not feedback pointing down, and
        no edge crossing a box that is not its end. The same bytes for the same input in any process.

    Raises:
        ValueError: Sizes, edges and paths do not fit each other.
    """
    boxes = np.array(sizes, np.float64).reshape(-1, 2)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    nowhere = math.nan, math.nan
    wishes = np.full((len(boxes), 2), math.nan)
    if beside:
        wishes = np.array([place or nowhere for place in beside], np.float64).reshape(-1, 2)
    if len(paths) != len(boxes):
        raise ValueError(f"{len(boxes)} sizes but {len(paths)} paths: give one of each per node")
    if sides is not None and len(sides.of) != len(boxes):
        raise ValueError(f"{len(boxes)} sizes but {len(sides.of)} sides: give one of each per node")
    if sides is not None and not all(0 <= side < len(sides.names) for side in sides.of):
        raise ValueError(f"sides must be 0 to {len(sides.names) - 1}: each is an index into their names")
    if len(wishes) != len(boxes):
        raise ValueError(f"{len(boxes)} sizes but {len(wishes)} places of counterparts: give one of each per node")
    if not np.all(np.isfinite(boxes) & (boxes >= 0)):
        raise ValueError("box sizes must be finite and not negative")
    if len(ends) and (ends.min() < 0 or ends.max() >= len(boxes)):
        raise ValueError(f"edges must join nodes 0 to {len(boxes) - 1}")
    added = (np.isnan(wishes[:, 0]) & (beside is not None)).tolist()
    with at_rest():
        return _compose(boxes, make_plan(len(boxes), ends, paths, sides, added), wishes)


def _compose(sizes: Doubles, plan: Plan, wishes: Doubles) -> Drawing:
    """Puts every block and every edge where it stands, and returns the drawing.

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
        _folding(plan, shapes, corners[n:]),
        _stub_edges(plan.ends, place[:, 1] - sizes[:, 1] / 2, place[:, 1] + sizes[:, 1] / 2, plan.feedback),
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


def _lines(wires: Wires, shapes: Shapes, corners: Longs, edges: int) -> tuple[Doubles, Longs]:
    """Returns the polylines of all distinct edges, and where each begins."""
    known: list[Ints] = [s.points for s in shapes.shapes]
    points = np.concatenate([np.zeros((0, 2), np.int32), *known])
    base = np.cumsum([0, *map(len, known)])
    steps = np.concatenate([np.zeros(0, np.int64), *[s.offsets + b for s, b in zip(shapes.shapes, base, strict=False)]])
    first = np.cumsum([0, *[len(s.offsets) for s in shapes.shapes]])
    at = first[shapes.of[wires.visit_block]] + wires.visit_wire - wires.first[wires.visit_block]
    counts = steps[at + 1] - steps[at]
    index = _ranges(steps[at], counts)
    lines = points[index] + np.repeat(corners[wires.visit_block], counts, axis=0)
    edge = np.repeat(wires.visit_edge, counts)
    # A corner within a straight run downwards is none.
    new = np.ones(len(edge) + 1, np.bool_)
    new[1:-1] = (lines[1:, 0] != lines[:-1, 0]) | (edge[1:] != edge[:-1])
    keep = new[1:] | new[:-1]
    return lines[keep].astype(np.float64), np.searchsorted(edge[keep], np.arange(edges + 1))


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


def _folding(plan: Plan, shapes: Shapes, corners: Longs) -> Folding:
    """Returns the folding of a drawing.

    Args:
        plan: The graph.
        shapes: Its blocks' shapes.
        corners: (B, 2) their top left corners.
    """
    tree, n = plan.tree, len(plan.order)
    row = np.full(n + len(tree.items), -1)
    for block, items in enumerate(tree.items):
        row[items] = shapes.first_row[block] + shapes.shapes[shapes.of[block]].row
    rows = np.empty_like(row)
    rows[np.concatenate([plan.order, np.arange(n, len(row))])] = row
    boxed = np.array(tree.module, np.int64) >= 0
    spans = []
    for shape in shapes.shapes:
        # Closed, a block is as wide as its label and its ports need.
        ports = [*shape.enter, *shape.leave] or [shape.width // 2]
        spare = max(CLOSED[0] - max(ports) + min(ports), LANE) // 2
        left = max(0, min(ports) - spare)
        spans.append((left, min(shape.width, max(max(ports) + spare, left + CLOSED[0])) - left, CLOSED[1]))
    closed = np.array(spans, np.int64).reshape(-1, 3)[shapes.of]
    closed[:, 0] += corners[:, 0]
    return Folding(
        tree.parent.astype(np.int32),
        np.where(boxed, np.cumsum(boxed) - 1, -1).astype(np.int32),
        shapes.first_row.astype(np.int32),
        rows.astype(np.int32),
        closed.astype(np.int32),
    )


def _stub_edges(ends: Longs, top: Doubles, bottom: Doubles, feedback: Marks) -> Marks:
    """Marks the edges from hubs to users far below them, and from inputs far above hubs.

    Args:
        ends: (E, 2) source and target of each edge.
        top, bottom: (n) of each node's box.
        feedback: (E) which edges point up; those are always drawn.
    """
    distinct = np.unique(ends[:, 0] * len(top) + ends[:, 1])
    users, inputs = (np.bincount(side, minlength=len(top)) for side in np.divmod(distinct, max(len(top), 1)))
    far = top[ends[:, 1]] - bottom[ends[:, 0]] > FAR
    stubs: Marks = ((users[ends[:, 0]] >= HUB) | (inputs[ends[:, 1]] >= HUB)) & far & ~feedback
    return stubs


def pack(extents: Sequence[tuple[int, int]], alone: Sequence[bool], stem: int) -> Corners:
    """Stacks components in columns, the largest first.

    Those of one node stand in a grid under the first column, if there are others. Its middle is below the longest path
    however wide its component is, and no column reaches above it.

    Args:
        extents: Width and height of each.
        alone: Whether each is of one node.
        stem: x at which the longest path of the largest ends.

    Returns:
        The top left corner of each.
    """
    order = sorted(range(len(extents)), key=lambda i: (-extents[i][0] * extents[i][1], i))
    whole = [i for i in order if not alone[i]] or order
    loose = sorted(set(order) - set(whole))
    step = max([extents[i][0] for i in loose], default=0) + GAP_PARTS
    height = sum([extents[i][1] + GAP_PARTS for i in loose])
    columns = max(1, ceil(sqrt(GRID_ASPECT * height / step)))
    begin = stem - columns * step // 4 * 2
    corners, foot = _stack([extents[i] for i in whole], begin + columns * step)
    out = [(0, 0)] * len(order)
    for i, corner in zip(whole, corners, strict=True):
        out[i] = corner
    for place, i in enumerate(loose):
        above = loose[place - columns] if place >= columns else whole[foot]
        y = out[above][1] + extents[above][1] + GAP_PARTS
        out[i] = begin + place % columns * step, y
    left = min([x for x, _ in out], default=0)
    return [(x - left, y) for x, y in out]


def _stack(extents: Sequence[tuple[int, int]], first: int) -> tuple[Corners, int]:
    """Returns the corner of each, and the last one of the first column.

    Args:
        extents: Width and height of each, in the order in which they are stacked.
        first: Where the second column may begin at the earliest.
    """
    area = sum((w + GAP_PARTS) * (h + GAP_PARTS) for w, h in extents)
    limit = max([h for _, h in extents] + [sqrt(area / ASPECT)], default=0)
    corners: Corners = []
    x = y = foot = 0
    column = first - GAP_PARTS
    for i, (width, height) in enumerate(extents):
        if y and y + height > limit:
            x, y, column = x + column + GAP_PARTS, 0, 0
        corners.append((x, y))
        y, column = y + height + GAP_PARTS, max(column, width)
        foot = i if not x else foot
    return corners, foot
