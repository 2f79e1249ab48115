"""The data that the steps of a layout hand over: distances, one block and its shape, the finished drawing.

::

    sizes, edges, paths ──▶ Plan ──▶ Problem, one per block ──▶ Shape, one per distinct block ──▶ Drawing
                            plan     shapes                     rows, crossing, place, route      drawing

Blocks are laid out in whole pixels. A drawing holds 32-bit floats and integers, as the page reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
Lists = list[list[int]]

# Distances in CSS pixels. All are even, so that every centre is a whole pixel.
GAP_X = 18
"""Between two boxes of a row."""
GAP_Y = 30
"""Between two rows of boxes."""
GAP_ASIDE = 120
"""Between the two sides of a training graph, where what is saved passes."""
GAP_BLOCKS = 16
"""Between two rows, one of them of blocks alone."""
GAP_PORTS = 10
"""Between a row of ports and the row of boxes next to it."""
LANE = 8
"""Width kept free for an edge that passes a row."""
PAD = 6
"""Between a module's border and what it holds."""
HEAD = 18
"""Height of a module's title."""
STEP = 24
"""Box widths are rounded up to a multiple of this, so that blocks with nearly the same labels share one layout."""
CLOSED = (220, 36)
"""A closed module is at most so wide, and so tall."""
GAP_PARTS = 24
"""Between two components, and between two columns."""
_NONE = np.zeros(0, np.int32)


class Wire(NamedTuple):
    """An edge within a block, from ``leave`` pixels right of its source's left border to ``enter`` of its target's."""

    source: int
    target: int
    lane: int
    leave: int
    enter: int
    spine: bool


@dataclass(frozen=True)
class Problem:
    """A block: its cells are input ports, items in topological order and output ports, numbered in that order.

    Attributes:
        ins, outs: Number of ports.
        width, height: Of each cell; a port is ``LANE`` wide and has no height.
        wires: Sorted by lane.
        boxed: Whether a module's border and title are drawn around it.
        deep: Which items are blocks, with rows of their own.
        aside: Whether its items stand each right of the one before, too.
        rank: Of each item its place in the order that rows must have, -1 for one that may stand anywhere; or nothing.
        span: Of each item where its borders are to be among those of all (``levels.Span``), or None; or nothing.
    """

    ins: int
    outs: int
    width: list[int]
    height: list[int]
    wires: list[Wire]
    boxed: bool
    deep: list[bool] = field(default_factory=list)
    aside: bool = False
    rank: tuple[int, ...] = ()
    span: tuple[tuple[int, int] | None, ...] = ()

    def is_item(self, cell: int) -> bool:
        """Tells an item from a port."""
        return self.ins <= cell < len(self.width) - self.outs


@dataclass(frozen=True)
class Shape:
    """How a block is laid out; all from its top left corner.

    Attributes:
        width, height: Of the block, with its border.
        enter, leave: x of each input port, on the upper border, and of each output port, on the lower one.
        left, top: Of each item.
        row: Of each item.
        rows: How many there are, those of ports among them.
        points: (P, 2) corners of the wires' polylines, end to end.
        offsets: (W + 1) index into ``points``.
    """

    width: int
    height: int
    enter: list[int]
    leave: list[int]
    left: Ints
    top: Ints
    row: Ints
    rows: int
    points: Ints
    offsets: Ints


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
    feedback: Marks
    blocks: tuple[str, ...]
    block_boxes: Floats
    width: float
    height: float
    folding: Folding = NO_FOLDING
    stub: Marks = field(default_factory=lambda: np.zeros(0, np.bool_))
