"""Edges taken apart: each crosses the borders of the blocks around its ends, and is one wire in each block on its way.

Edges that carry one value share a lane and so its ports; so do the edges of many values of few uses into one node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fxstore.layout.blocks import Tree
from fxstore.layout.order import Longs, Marks

FAN_IN = 8
"""A node with more inputs takes those of few uses over a shared lane."""
FEW_USES = 3
"""A value with more users than so many has a lane of its own, shared by them."""


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
