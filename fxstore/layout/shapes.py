"""Every block's wires and shape: edges taken apart at the borders of blocks, equal blocks solved once.

An edge crosses the borders of the blocks around its ends. It is one wire in each block on its way, from port to port::

    ┌ block A ────┐
    │  n1         │       n1 -> n2 is three wires:
    │  │          │         in A      n1 -> output port
    └──○──────────┘         in root   A's port -> B's port
       │                    in B      input port -> n2
    ┌──○─ block B ┐
    │  │          │       Edges that carry one value share a lane, and so a port of each border
    │  n2         │       that they cross; so do the edges of many values of few uses into one node.
    └─────────────┘

A block whose inner blocks have their shapes is a problem of plain boxes. Its bytes (wires, sizes, ranks) are its key:
blocks of equal key share one shape, and those that differ in nothing but sizes share the order of their rows. So a
model of 80 equal layers costs little more than one of two. All edges are taken apart together in numpy; the cost is
linear in edges times depth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fxstore.layout.blocks import Tree
from fxstore.layout.model import LANE, Doubles, Longs, Marks, Problem, Shape, Wire
from fxstore.layout.plan import Plan
from fxstore.layout.route import Orders, solve
from fxstore.layout.same_order import Span, spans

FAN_IN = 8
"""A node with more inputs takes those of few uses over a shared lane: side by side they would be a wall."""
FEW_USES = 3
"""A value with more users than so many has a lane of its own, shared by them."""


class Shapes:
    """The shapes of all blocks.

    Attributes:
        shapes: Every distinct shape.
        of: (B) number of each block's shape.
        first_row: (B + 1) number of each block's first row, of the rows of all blocks.
    """

    def __init__(self, plan: Plan, wires: Wires, width: Longs, height: Longs, wishes: Doubles) -> None:
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


@dataclass(frozen=True)
class Wires:
    """Every block's wires, block after block. Ends are numbers within the block: inputs, items, outputs.

    Attributes:
        first: (B + 1) each block's first wire.
        ins, outs: (B) number of input and output ports of each block.
        source, target: (W) ends of each wire.
        lane: (W) which lane of its block it takes.
        source_port, target_port: (W) which port of the block at that end, -1 where the end is no block.
        spine: (W) whether an edge of the longest path runs over it.
        visit_edge: (V) one entry per edge and block on its way, edge after edge from source to target.
        visit_wire: (V) the wire that it takes there.
        visit_block: (V) the block.
    """

    first: Longs
    ins: Longs
    outs: Longs
    source: Longs
    target: Longs
    lane: Longs
    source_port: Longs
    target_port: Longs
    spine: Marks
    visit_edge: Longs
    visit_wire: Longs
    visit_block: Longs


def split_edges(tree: Tree, tails: Longs, heads: Longs, spine: Marks) -> Wires:
    """Returns the wires of every block.

    Args:
        tree: The blocks; nodes are numbered in drawing order.
        tails: (D) source of each edge, without repeats.
        heads: (D) target of each edge.
        spine: (D) whether the edge is on the longest path.
    """
    n, blocks = len(tree.home), len(tree.items)
    keys = 2 * n + 2
    edge, block, source, target, order = _walk(tree, tails, heads)
    lane = lanes(n, tails, heads)[edge]
    by_block = np.lexsort((target, source, lane, block))
    b, k, s, t = block[by_block], lane[by_block], source[by_block], target[by_block]
    new = _changes(b, k, s, t)
    wire = np.empty(len(b), np.int64)
    wire[by_block] = np.cumsum(new) - 1
    on_spine = np.zeros(int(new.sum()), np.bool_)
    on_spine[wire[spine[edge]]] = True
    b, k, s, t = b[new], k[new], s[new], t[new]

    code = b * keys + k
    in_codes, out_codes = np.unique(code[s < 0]), np.unique(code[t < 0])
    ins, in_first = _ports(in_codes // keys, blocks)
    outs, out_first = _ports(out_codes // keys, blocks)
    held = np.array([len(items) for items in tree.items], np.int64)
    source = np.where(s < 0, np.searchsorted(in_codes, code) - in_first[b], ins[b] + tree.slot[s])
    target = np.where(t < 0, ins[b] + held[b] + np.searchsorted(out_codes, code) - out_first[b], ins[b] + tree.slot[t])
    leaves = np.searchsorted(out_codes, (s - n) * keys + k) - out_first[np.maximum(s - n, 0)]
    enters = np.searchsorted(in_codes, (t - n) * keys + k) - in_first[np.maximum(t - n, 0)]
    first = np.searchsorted(b, np.arange(blocks + 1))
    lane_number = np.cumsum(_changes(b, k)) - 1
    along = np.lexsort((order, edge))
    return Wires(
        first,
        ins,
        outs,
        source,
        target,
        lane_number - lane_number[first[b]],
        np.where(s < n, -1, leaves),
        np.where(t < n, -1, enters),
        on_spine,
        edge[along],
        wire[along],
        block[along],
    )


def lanes(n: int, tails: Longs, heads: Longs) -> Longs:
    """Returns each edge's lane, of ``2 n``: its source's, or its target's where many values of few uses meet."""
    fans = (np.bincount(tails, minlength=n)[tails] <= FEW_USES) & (np.bincount(heads, minlength=n)[heads] > FAN_IN)
    return np.where(fans, 2 * heads.astype(np.int64) + 1, 2 * tails.astype(np.int64))


def _changes(*columns: Longs) -> Marks:
    """Marks the rows that differ from the row before."""
    new = np.ones(len(columns[0]), np.bool_)
    new[1:] = np.logical_or.reduce([c[1:] != c[:-1] for c in columns])
    return new


def _ports(block: Longs, blocks: int) -> tuple[Longs, Longs]:
    """Returns how many ports each block has and the number of its first."""
    count = np.bincount(block, minlength=blocks).astype(np.int64)
    return count, np.cumsum(count) - count


def _walk(tree: Tree, tails: Longs, heads: Longs) -> tuple[Longs, Longs, Longs, Longs, Longs]:
    """Follows all edges at once from both ends up to the block that holds both.

    Returns:
        For each edge and block on its way: edge, block, item it comes from, item it goes to (-1: the block's
        border), and its place along the edge.
    """
    n = len(tree.home)
    at_tail, at_head = tree.home[tails], tree.home[heads]
    from_item, to_item = tails.astype(np.int64), heads.astype(np.int64)
    found: list[tuple[Longs, Longs, Longs, Longs, Longs]] = []
    open_edges = np.arange(len(tails))
    while len(open_edges):
        a, b = at_tail[open_edges], at_head[open_edges]
        meet, up = a == b, (a != b) & (tree.depth[a] >= tree.depth[b])
        down = ~(meet | up)
        border = np.full(len(open_edges), -1, np.int64)
        e = open_edges[meet]
        found.append((e, at_tail[e], from_item[e], to_item[e], -tree.depth[at_tail[e]]))
        e = open_edges[up]
        found.append((e, at_tail[e], from_item[e], border[up], -tree.depth[at_tail[e]]))
        from_item[e], at_tail[e] = n + at_tail[e], tree.parent[at_tail[e]]
        e = open_edges[down]
        found.append((e, at_head[e], border[down], to_item[e], tree.depth[at_head[e]]))
        to_item[e], at_head[e] = n + at_head[e], tree.parent[at_head[e]]
        open_edges = open_edges[~meet]
    if not found:
        none = np.zeros(0, np.int64)
        return none, none, none, none, none
    edge, block, source, target, order = (np.concatenate(c).astype(np.int64) for c in zip(*found, strict=True))
    return edge, block, source, target, order
