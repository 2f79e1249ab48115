"""The one call that makes a drawing."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from fxstore.layout.compose import compose
from fxstore.layout.model import Drawing, Sides
from fxstore.layout.order import Longs
from fxstore.layout.plan import make_plan


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
    _check(boxes, ends, paths, sides, wishes)
    with _without_collecting():
        added = (np.isnan(wishes[:, 0]) & (beside is not None)).tolist()
        return compose(boxes, make_plan(len(boxes), ends, paths, sides, added), wishes)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Keeps Python from looking for reference cycles: there are none, and looking takes a sixth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _check(
    boxes: npt.NDArray[np.float64],
    ends: Longs,
    paths: Sequence[str | None],
    sides: Sides | None,
    wishes: npt.NDArray[np.float64],
) -> None:
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
