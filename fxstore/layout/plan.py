"""A graph in drawing order, cut into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fxstore.layout.blocks import Tree, build_tree
from fxstore.layout.model import Sides
from fxstore.layout.modules import Modules
from fxstore.layout.order import Lists, Longs, Marks, adjacency, against_flow, components, topological
from fxstore.layout.sources import beside_consumers


@dataclass(frozen=True)
class Plan:
    """A graph in drawing order.

    Attributes:
        order: (n) node at each place.
        tails, heads: (D) places of the ends of each distinct edge, ``tails < heads``.
        line: (E) distinct edge of each given one, -1 for a self loop.
        feedback: (E) whether a given edge is drawn against its direction.
        tree: The blocks.
        modules: What they are called.
        spine: (D) edges of the longest path of each component.
        ends: (E, 2) source and target of each given edge, as given.
    """

    order: Longs
    tails: Longs
    heads: Longs
    line: Longs
    feedback: Marks
    tree: Tree
    modules: Modules
    spine: Marks
    ends: Longs


def make_plan(
    n: int,
    ends: Longs,
    paths: Sequence[str | None],
    sides: Sides | None,
    added: Sequence[bool],
) -> Plan:
    """Puts a graph in drawing order and cuts it into blocks; all but ``added`` is as ``draw`` has it."""
    tails, heads, line, feedback = _acyclic(n, ends.copy())
    modules = Modules(paths)
    order, module, part, side = _drawing_order(n, tails, heads, modules, sides)
    places = np.empty(n, np.int64)
    places[order] = np.arange(n)
    tails, heads = places[tails], places[heads]

    starts = np.flatnonzero(np.diff(part, prepend=-1)).astype(np.int64)
    far = np.arange(n, dtype=np.int64)
    np.maximum.at(far, tails, heads)
    level, spine = _longest_paths(part, tails, heads)
    own = [modules.own[v] >= 0 for v in order]
    boxes = [modules.title(name) for name in sides.names] if sides else []
    new = [added[v] for v in order]
    tree = build_tree(modules, [module[v] for v in order], own, starts, far, level, side, boxes, new)
    return Plan(np.array(order, np.int64), tails, heads, line, feedback, tree, modules, spine, ends)


def _acyclic(n: int, ends: Longs) -> tuple[Longs, Longs, Longs, Marks]:
    """Returns tails and heads of the distinct edges, which of them each given one is, and which are turned round."""
    feedback = against_flow(n, ends[:, 0], ends[:, 1])
    ends[feedback] = ends[feedback, ::-1]
    joins = ends[:, 0] != ends[:, 1]
    distinct, number = np.unique(ends[joins, 0] * n + ends[joins, 1], return_inverse=True)
    line = np.full(len(ends), -1, np.int64)
    line[joins] = number
    return distinct // n, distinct % n, line, feedback


def _drawing_order(
    n: int, tails: Longs, heads: Longs, modules: Modules, sides: Sides | None
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns the nodes in drawing order, the module of each node, and of each place its component and side."""
    succ, pred = adjacency(n, tails, heads), adjacency(n, heads, tails)
    order = topological(n, tails, heads, succ)
    module = modules.settle(order, succ, pred)
    order = beside_consumers(order, succ, pred, modules, module)
    part = components(n, tails, heads)
    rank: dict[int, int] = {}
    for v in order:
        rank.setdefault(part[v], len(rank))
    side = _later(order, succ, pred, sides.of) if sides else [0] * n
    order.sort(key=lambda v: (rank[part[v]], side[v]))
    modules.smooth(order, module)
    return order, module, [part[v] for v in order], [side[v] for v in order]


def _later(order: Sequence[int], succ: Lists, pred: Lists, wanted: Sequence[int]) -> list[int]:
    """Returns each node's side: its own, or that of what it follows from; a source is on its first consumer's."""
    side = list(wanted)
    for v in order:
        side[v] = max([side[v], *(side[u] for u in pred[v])])
    for v in order:
        if not pred[v] and succ[v]:
            side[v] = max(side[v], min(side[w] for w in succ[v]))
    return side


def _longest_paths(part: Sequence[int], tails: Longs, heads: Longs) -> tuple[Longs, Marks]:
    """Returns the length of the longest path to each node, and marks the edges of each component's longest path."""
    length, via = [0] * len(part), [-1] * len(part)
    a, b = tails.tolist(), heads.tolist()
    for edge in np.lexsort((heads, tails)).tolist():
        if length[a[edge]] + 1 > length[b[edge]]:
            length[b[edge]], via[b[edge]] = length[a[edge]] + 1, edge
    marked = np.zeros(len(tails), np.bool_)
    ends: dict[int, int] = {}
    for v, component in enumerate(part):
        if length[v] > length[ends.setdefault(component, v)]:
            ends[component] = v
    for v in ends.values():
        while via[v] >= 0:
            marked[via[v]] = True
            v = a[via[v]]
    return np.array(length, np.int64), marked
