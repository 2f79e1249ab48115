"""The result of a layout: what the page draws, and what it folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Marks = npt.NDArray[np.bool_]


TOP, MIDDLE, BOTTOM = 0, 1, 2
"""Where in its row an item stands that is not as tall as the row."""
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
    """All that folding a module box needs: x, order and rows stay, and the heights of rows follow what they hold.

    Blocks are module boxes and plain ones without a border, each after the block that holds it. A block's rows stand
    one under the other; every node, and every block that another holds, stands in a row. Heights are found from the
    innermost block outwards and tops from the outermost inwards:

    - a row is as tall as its tallest item: a node (its height rounded up to an even number), an open block (its foot
      under its last row), a closed one (``closed``), or 0;
    - ``gap`` lies above each row, for the first one below the top of its block;
    - an item stands at the top, in the middle or at the bottom of its row, by ``lie``;
    - an outermost block stands ``GAP_PARTS`` under the outermost block ``under`` it, or at the top.

    A corner of an edge is on the border of a row, by ``corner``; the two at the ends are on the boxes of its nodes.
    An edge between two nodes of one closed block is hidden. Of another, the corners in rows of the closed block around
    its source go; it begins at that block's lower border, at the x of the next corner. So at its target.

    Attributes:
        parent: (B) block that holds each block, -1 for an outermost one.
        module: (B) place of each block in ``Drawing.blocks``, -1 for one without a border.
        first_row: (B + 1) each block's first row.
        row: (n + B) row of each node and, after them, of each block; -1 for an outermost block.
        lie: (n + B) ``TOP``, ``MIDDLE`` or ``BOTTOM``.
        gap: (R) space above each row.
        foot: (B) space under each block's last row.
        closed: (B, 3) left, width and height of each block when it is closed: within the open one's width, around every
            x at which an edge crosses its border.
        under: (B) outermost block, of any number, that each outermost one stands under, -1 for those at the top and for
            all inner ones.
        corner: (P) for each of ``Drawing.points`` twice the row on whose border it is, and one more if that is the
            lower border; -1 for an edge's ends.
    """

    parent: Ints
    module: Ints
    first_row: Ints
    row: Ints
    lie: Ints
    gap: Ints
    foot: Ints
    closed: Ints
    under: Ints
    corner: Ints


_NONE = np.zeros(0, np.int32)
NO_FOLDING = Folding(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE.reshape(0, 3), _NONE, _NONE)
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
