"""The result of a layout: what the page draws, and what it folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Marks = npt.NDArray[np.bool_]


GAP_PARTS = 24
"""Between two components."""


@dataclass(frozen=True)
class Sides:
    """The sides of a training graph, in the order in which they are computed.

    Attributes:
        names: What is written over each.
        of: Side of each node: an index into ``names``.
    """

    names: Sequence[str]
    of: Sequence[int]


@dataclass(frozen=True)
class Folding:
    """The blocks of a drawing: module boxes and plain ones without a border, each after the block that holds it.

    A block's rows stand one under the other; every node, and every block that another holds, stands in a row. Closed,
    a block keeps its place in its row.

    Attributes:
        parent: (B) block that holds each block, -1 for an outermost one.
        module: (B) place of each block in ``Drawing.blocks``, -1 for one without a border.
        first_row: (B + 1) each block's first row.
        row: (n + B) row of each node and, after them, of each block; -1 for an outermost block.
        closed: (B, 3) left, width and height of each block when it is closed: within the open one's width, around every
            x at which an edge crosses its border.
    """

    parent: Ints
    module: Ints
    first_row: Ints
    row: Ints
    closed: Ints


_NONE = np.zeros(0, np.int32)
NO_FOLDING = Folding(_NONE, _NONE, _NONE, _NONE, _NONE.reshape(0, 3))
"""Of a drawing that cannot be folded."""


@dataclass(frozen=True)
class Drawing:
    """Where everything stands; units are CSS pixels at scale 1, y grows downwards, the top left corner is (0, 0).

    Attributes:
        x, y: Centre of each node's box, one per node.
        points: (P, 2) corners of all edges' polylines, end to end.
        offsets: (E + 1) index into ``points``: edge ``e`` is ``points[offsets[e]:offsets[e + 1]]``, in the order of
            the edges given; an edge that is not drawn (a self loop, a stub) has no points.
        feedback: (E) true for an edge that points up, against the flow.
        blocks: One module box per row of ``block_boxes``: its module path.
        block_boxes: (B, 4) left, top, width, height of each module box, outermost first.
        width, height: Extent of the whole drawing.
        folding: How the drawing changes when module boxes are folded; every drawing that ``draw`` makes has it.
        stub: (E) true for an edge from a hub or a mask to a user far below, or from far above into a wide join: to draw
            only a short piece at both its ends, and all of it when its source or target is asked for; empty where no
            edge is so.
    """

    x: Floats
    y: Floats
    points: Floats
    offsets: Ints
    feedback: npt.NDArray[np.bool_]
    blocks: tuple[str, ...]
    block_boxes: Floats
    width: float
    height: float
    folding: Folding = NO_FOLDING
    stub: Marks = field(default_factory=lambda: np.zeros(0, np.bool_))
