"""The shapes of all blocks, from the innermost outwards; blocks of equal structure share one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fxstore.layout.levels import Span, spans
from fxstore.layout.order import Longs
from fxstore.layout.plan import Plan
from fxstore.layout.problem import Problem, Shape, Wire
from fxstore.layout.route import Orders, solve
from fxstore.layout.spacing import LANE
from fxstore.layout.wires import Wires


class Shapes:
    """The shapes of all blocks.

    Attributes:
        shapes: Every distinct shape.
        of: (B) number of each block's shape.
        first_row: (B + 1) number of each block's first row, of the rows of all blocks.
    """

    def __init__(self, plan: Plan, wires: Wires, width: Longs, height: Longs, wishes: npt.NDArray[np.float64]) -> None:
        """Lays out every block.

        Args:
            plan: The graph.
            wires: Its edges, taken apart.
            width, height: The room that each node takes, in drawing order.
            wishes: (n, 2) the place of each node's counterpart in a drawing beside this one, else NaN.
        """
        self.shapes: list[Shape] = []
        self._tree, self._wires = plan.tree, wires
        self._width, self._height = width, height
        sizes, kind = np.unique(width * (1 + height.max(initial=0)) + height, return_inverse=True)
        self._kinds = len(sizes)
        self._kind = np.concatenate([kind.reshape(-1), np.zeros(len(plan.tree.items), np.int64)])
        self._alike = np.zeros(len(self._kind), np.int64)
        none = np.full(len(plan.tree.items), np.nan)
        self._wishes = np.concatenate([wishes[:, 0], none])
        self._top, self._foot = (np.concatenate([wishes[:, 1] + side * height / 2, none]) for side in (-1, 1))
        self._wished = not bool(np.isnan(wishes).all())
        self._known: dict[tuple[object, ...], int] = {}
        self._structures: dict[tuple[object, ...], int] = {}
        self._orders: Orders = {}
        self.of = np.zeros(len(plan.tree.items), np.int64)
        for block in range(len(plan.tree.items) - 1, -1, -1):
            self._add(block)
        rows = np.array([shape.rows for shape in self.shapes], np.int64)
        self.first_row = np.concatenate([[0], np.cumsum(rows[self.of])]).astype(np.int64)

    def _add(self, block: int) -> None:
        wires, items = self._wires, self._tree.items[block]
        own = slice(wires.first[block], wires.first[block + 1])
        columns = (wires.source, wires.target, wires.lane, wires.source_port, wires.target_port, wires.spine)
        boxed = self._tree.module[block] >= 0
        ports = int(wires.ins[block]), int(wires.outs[block])
        rank, span = self._rank(block)
        key = (*ports, boxed, self._tree.aside[block], *[c[own].tobytes() for c in columns])
        structure = self._structures.setdefault((*key, span, self._alike[items].tobytes()), len(self._structures) + 1)
        sized = (*key, rank, span, self._kind[items].tobytes())
        shape = self._known.get(sized)
        if shape is None:
            shape = self._known[sized] = len(self.shapes)
            problem = replace(self._problem(block, own, *ports, boxed), rank=rank, span=span)
            self.shapes.append(solve(problem, self._orders, structure))
        self.of[block] = shape
        self._kind[len(self._width) + block] = self._kinds + shape
        self._alike[len(self._width) + block] = structure

    def _rank(self, block: int) -> tuple[tuple[int, ...], tuple[Span | None, ...]]:
        """Returns the rank and the span of each item, both empty where no item has a counterpart."""
        if not self._wished:
            return (), ()
        items = self._tree.items[block]
        wishes = self._wishes[items]
        known = np.flatnonzero(~np.isnan(wishes))
        if not len(known):
            return (), ()
        self._wishes[len(self._width) + block] = wishes[known].mean()
        self._top[len(self._width) + block] = np.fmin.reduce(self._top[items][known])
        self._foot[len(self._width) + block] = np.fmax.reduce(self._foot[items][known])
        rank = np.full(len(wishes), -1)
        rank[known[np.argsort(wishes[known], kind="stable")]] = np.arange(len(known))
        return tuple(rank.tolist()), spans(self._top[items], self._foot[items])

    def _problem(self, block: int, own: slice, ins: int, outs: int, boxed: bool) -> Problem:
        n = len(self._width)
        items = self._tree.items[block].tolist()
        inner = [self.shapes[self.of[i - n]] if i >= n else None for i in items]
        width = [s.width if s else int(self._width[i]) for i, s in zip(items, inner, strict=True)]
        height = [s.height if s else int(self._height[i]) for i, s in zip(items, inner, strict=True)]
        wires = []
        columns = (self._wires.source, self._wires.target, self._wires.lane)
        ports = (self._wires.source_port, self._wires.target_port, self._wires.spine)
        for s, t, lane, out, into, spine in zip(*(c[own].tolist() for c in columns + ports), strict=True):
            leave = enter = LANE // 2
            if ins <= s:
                holder = inner[s - ins]
                leave = holder.leave[out] if holder else width[s - ins] // 2
            if t < ins + len(items):
                holder = inner[t - ins]
                enter = holder.enter[into] if holder else width[t - ins] // 2
            wires.append(Wire(s, t, lane, leave, enter, spine))
        aside, deep = self._tree.aside[block], [shape is not None for shape in inner]
        ports_in, ports_out = [LANE] * ins, [LANE] * outs
        return Problem(
            ins, outs, ports_in + width + ports_out, [0] * ins + height + [0] * outs, wires, boxed, deep, aside
        )
