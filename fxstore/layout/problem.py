"""One block to lay out, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int32]


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
    left: Whole
    top: Whole
    row: Whole
    rows: int
    points: Whole
    offsets: Whole
