"""What folding a module box needs to know of a drawing."""

from __future__ import annotations

import numpy as np

from fxstore.layout.model import Folding
from fxstore.layout.order import Longs
from fxstore.layout.plan import Plan
from fxstore.layout.problem import Shape, Whole
from fxstore.layout.shapes import Shapes
from fxstore.layout.spacing import CLOSED, LANE


def make_folding(plan: Plan, shapes: Shapes, corners: Longs) -> Folding:
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
    return Folding(
        tree.parent.astype(np.int32),
        np.where(boxed, np.cumsum(boxed) - 1, -1).astype(np.int32),
        shapes.first_row.astype(np.int32),
        rows.astype(np.int32),
        _closed(shapes, corners),
    )


def _closed(shapes: Shapes, corners: Longs) -> Whole:
    """Returns left, width and height of each block when closed: as wide as its label and its ports need."""
    spans = np.array([_span(shape) for shape in shapes.shapes], np.int64).reshape(-1, 2)[shapes.of]
    left, width = corners[:, 0] + spans[:, 0], spans[:, 1] - spans[:, 0]
    return np.stack([left, width, np.full(len(left), CLOSED[1])], axis=1).astype(np.int32)


def _span(shape: Shape) -> tuple[int, int]:
    ports = [*shape.enter, *shape.leave] or [shape.width // 2]
    spare = max(CLOSED[0] - max(ports) + min(ports), LANE) // 2
    left = max(0, min(ports) - spare)
    return left, min(shape.width, max(max(ports) + spare, left + CLOSED[0]))
