"""The steps that pair nodes, from the surest evidence to the weakest."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from fxstore.query.diff.side import Flags, Hashes, Numbers, Side, mix

NONE: Final = -1
AMBIGUOUS: Final = -2
_FEW: Final = 0.1
Pair = tuple[Hashes, Hashes]
"""A column of the base and the same column of the head."""


class Steps:
    """Pairs nodes of two sides; a pair, once made, stays.

    Args:
        scopes: For each node of either side, the pair of graphs that it belongs to; -1 takes no part.
        places: For each node of either side, its module, by one name in both runs, and the call of it.
        placed: For each node of the base, whether it has a module at all.
    """

    def __init__(self, base: Side, head: Side, scopes: tuple[Numbers, Numbers], places: Pair, placed: Flags) -> None:
        self.sides = (base, head)
        self.scopes = scopes
        self.places = places
        self.placed = placed
        self.partner = (np.full(base.size, NONE, np.int64), np.full(head.size, NONE, np.int64))
        self.names = (base.nodes.name, head.nodes.name)
        self.labels = (base.nodes.label, head.nodes.label)
        self.kinds = (base.nodes.kind, head.nodes.kind)
        self.leaves = (base.nodes.leaf, head.nodes.leaf)
        self.operators = (~base.nodes.leaf, ~head.nodes.leaf)
        self.paired: tuple[list[int], list[int]] = ([], [])

    def run(self) -> None:
        """Pairs all nodes that can be paired."""
        self.by_name()
        for colors in (self.labels, self.kinds):
            if not self.is_left:
                return
            near = self._around(colors)
            wide = self._around(near)
            for step in (wide, near):
                self.unique(step, self.places, only=self.operators)
                self.propagate(colors, by_place=True)
            self.unique(colors, self.places, checked=True)
            self.propagate(colors, by_place=True)
            for only in (self.leaves, None):
                self.unique(colors, self.places, self.names, checked=True, only=only)
                self.propagate(colors, by_place=True)
            if colors is self.labels:
                self.unique(wide)
            self.propagate(colors, by_place=False)
            self.unique(colors, self.names, checked=True)
            self.propagate(colors, by_place=False)
            for keys in ((near, self.places), (colors, self.places)):
                self.in_order(*keys)
                self.propagate(colors, by_place=False)

    @property
    def is_left(self) -> bool:
        """Whether both sides have nodes without a partner."""
        return all(bool(((self.partner[i] == NONE) & (self.scopes[i] != NONE)).any()) for i in (0, 1))

    def by_name(self) -> None:
        """Pairs nodes of equal name, operator and module whose inputs are such pairs, too.

        Names are right where they were kept, and wrong where a re-trace counted them anew: then they contradict the
        edges, and structure decides. Where nearly all agree, one whose input has no such pair is right as well.
        """
        self.unique(self.labels, self.places, self.names)
        base, head = self.partner
        src, dst, slot = self.sides[0].uses.src, self.sides[0].uses.dst, self.sides[0].uses.slot
        rows = np.flatnonzero((base[dst] != NONE) & (self.scopes[0][dst] != NONE))
        src, dst = src[rows], dst[rows]
        other = self._source_in_head(base[dst], slot[rows])
        wrong = (base[src] != other) | (other == NONE)
        contradicted = wrong & (base[src] != NONE) & (other != NONE) & (head[other] != NONE)
        doubted = wrong & ~contradicted & ~self._trusted(dst[wrong])[self.scopes[0][dst]]
        dropped = [dst[contradicted | doubted], src[contradicted], head[other[contradicted]]]
        self._drop(np.unique(np.concatenate(dropped)))

    def _trusted(self, wrong: Numbers) -> Flags:
        """Returns for each scope whether few of its pairs are wrong."""
        scopes = self.scopes[0]
        size = int(scopes.max(initial=0)) + 1
        pairs = np.bincount(scopes[(self.partner[0] != NONE) & (scopes != NONE)], minlength=size)
        return np.asarray(np.bincount(scopes[np.unique(wrong)], minlength=size) <= _FEW * pairs)

    def _drop(self, dropped: Numbers) -> None:
        base, head = self.partner
        head[base[dropped]] = NONE
        base[dropped] = NONE

    def _source_in_head(self, nodes: Numbers, slots: Hashes) -> Numbers:
        """Returns what nodes of the head take at some slots, -1 for nothing."""
        uses = self.sides[1].uses
        if not len(uses.src):
            return np.full(len(nodes), NONE, np.int64)
        known, asked = mix(uses.dst, uses.slot), mix(nodes, slots)
        order = np.argsort(known)
        found = order[np.searchsorted(known, asked, sorter=order).clip(max=len(known) - 1)]
        return np.where(known[found] == asked, uses.src[found], NONE)

    def unique(self, *keys: Pair, checked: bool = False, only: tuple[Flags, Flags] | None = None) -> None:
        """Pairs nodes whose keys are equal and stand once on either side.

        Args:
            checked: Only where something besides these keys speaks for it.
            only: Which nodes; all by default.
        """
        found = [self._once(side, only, *keys) for side in (0, 1)]
        _, at_base, at_head = np.intersect1d(found[0][0], found[1][0], assume_unique=True, return_indices=True)
        base, head = found[0][1][at_base], found[1][1][at_head]
        if checked:
            self._read()
            kept = [self._plausible(b, h) for b, h in zip(base.tolist(), head.tolist(), strict=True)]
            base, head = base[kept], head[kept]
        self.partner[0][base] = head
        self.partner[1][head] = base

    def in_order(self, *keys: Pair) -> None:
        """Pairs nodes whose keys are equal in the order of the program, where something besides speaks for it."""
        self._read()
        waiting: dict[int, list[int]] = {}
        key, rows = self._keys(1, None, *keys)
        for value, row in zip(key.tolist(), rows.tolist(), strict=True):
            waiting.setdefault(value, []).append(row)
        key, rows = self._keys(0, None, *keys)
        for value, row in zip(key.tolist(), rows.tolist(), strict=True):
            others = waiting.get(value, [])
            found = next((other for other in others if self._plausible(row, other)), NONE)
            if found != NONE:
                others.remove(found)
                self._set(row, found)

    def propagate(self, colors: Pair, by_place: bool) -> None:
        """Pairs the inputs and the users of paired nodes, as long as there is one candidate on either side.

        Args:
            colors: What must be equal.
            by_place: Whether the module must be equal, too.
        """
        queue = deque(self._border())
        if not queue:
            return
        self._read()
        alike = [
            mix(self.scopes[i], colors[i], self.places[i]).tolist()
            if by_place
            else mix(self.scopes[i], colors[i]).tolist()
            for i in (0, 1)
        ]
        while queue:
            base, head = queue.popleft()
            for users in (False, True):
                ours = self._candidates(0, base, alike[0], users)
                theirs = self._candidates(1, head, alike[1], users) if ours else {}
                for key, node in ours.items():
                    other = theirs.get(key, NONE)
                    if node >= 0 and other >= 0 and self.paired[0][node] == NONE and self.paired[1][other] == NONE:
                        self._set(node, other)
                        queue.append((node, other))

    def _around(self, colors: Pair) -> Pair:
        return self.sides[0].around(colors[0]), self.sides[1].around(colors[1])

    def _keys(self, side: int, only: tuple[Flags, Flags] | None, *keys: Pair) -> tuple[Hashes, Numbers]:
        left = (self.partner[side] == NONE) & (self.scopes[side] != NONE)
        rows = np.flatnonzero(left if only is None else left & only[side])
        return mix(self.scopes[side][rows], *(key[side][rows] for key in keys)), rows

    def _once(self, side: int, only: tuple[Flags, Flags] | None, *keys: Pair) -> tuple[Hashes, Numbers]:
        key, rows = self._keys(side, only, *keys)
        values, first, counts = np.unique(key, return_index=True, return_counts=True)
        return values[counts == 1], rows[first[counts == 1]]

    def _set(self, base: int, head: int) -> None:
        self.partner[0][base] = self.paired[0][base] = head
        self.partner[1][head] = self.paired[1][head] = base

    def _read(self) -> None:
        """Reads the partners as Python numbers, for steps that go node by node."""
        self.paired = (self.partner[0].tolist(), self.partner[1].tolist())

    def _plausible(self, base: int, head: int) -> bool:
        """Whether an equal name, an equal module or a paired neighbour speaks for a pair."""
        if self.names[0][base] == self.names[1][head]:
            return True
        if self.placed[base] and self.places[0][base] == self.places[1][head]:
            return True
        return not self._neighbours(0, base).isdisjoint(self._neighbours(1, head))

    def _neighbours(self, side: int, node: int) -> set[tuple[bool, int, int]]:
        """Returns the paired neighbours, named by their rows in the head, with the slot that they stand in."""
        one, paired = self.sides[side], self.paired[side]
        src, dst, slot = one.listed
        found = {(True, slot[use], src[use]) for use in one.inputs[node]}
        found |= {(False, slot[use], dst[use]) for use in one.users[node]}
        return {(way, at, paired[other] if side == 0 else other) for way, at, other in found if paired[other] != NONE}

    def _border(self) -> list[tuple[int, int]]:
        """Returns the pairs with an unpaired neighbour."""
        uses, partner = self.sides[0].uses, self.partner[0]
        src, dst = partner[uses.src] != NONE, partner[uses.dst] != NONE
        rows = np.unique(np.concatenate([uses.src[src & ~dst], uses.dst[dst & ~src]]))
        return list(zip(rows.tolist(), partner[rows].tolist(), strict=True))

    def _candidates(self, side: int, node: int, colors: list[int], users: bool) -> dict[tuple[int, int], int]:
        """Returns the unpaired neighbours by argument and colour; AMBIGUOUS where several are alike."""
        one, paired = self.sides[side], self.paired[side]
        src, dst, slot = one.listed
        others, uses = (dst, one.users[node]) if users else (src, one.inputs[node])
        found: dict[tuple[int, int], int] = {}
        for use in uses:
            other = others[use]
            if paired[other] == NONE:
                key = slot[use], colors[other]
                found[key] = other if found.get(key, other) == other else AMBIGUOUS
        return found
