"""Matches two runs: their graphs first, then the nodes in them."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import Final

import numpy as np

from fxstore.query.diff.modules import renamed_modules
from fxstore.query.diff.side import Flags, Hashes, Numbers, Side, mix
from fxstore.query.diff.steps import NONE, Steps

# How large a difference a matching makes of two graphs.


Sides = tuple[Side, Side]


def doubtful_scopes(sides: Sides, scopes: Numbers, partner: Numbers) -> Numbers:
    """Returns the scopes in which a node takes another value though the old and the new one have partners."""
    base, head = sides
    origin = np.full(head.size, NONE, np.int64)
    rows = np.flatnonzero(partner != NONE)
    origin[partner[rows]] = rows
    known = mix(head.uses.src, head.uses.dst, head.uses.slot)
    used = partner[base.uses.dst] != NONE
    src, dst = base.uses.src[used], base.uses.dst[used]
    gone = (partner[src] != NONE) & ~np.isin(mix(partner[src], partner[dst], base.uses.slot[used]), known)
    lost = dst[gone]
    expected = mix(partner[src], partner[dst], base.uses.slot[used])
    fresh = (origin[head.uses.src] != NONE) & (origin[head.uses.dst] != NONE) & ~np.isin(known, expected)
    both = np.intersect1d(lost, origin[head.uses.dst[fresh]])
    return np.asarray(np.setdiff1d(scopes[both], [NONE]))


def cheaper_scopes(sides: Sides, scopes: tuple[Numbers, Numbers], first: Numbers, second: Numbers) -> Numbers:
    """Returns the scopes in which the second matching makes the smaller difference."""
    costs = [_costs(sides, scopes, partner) for partner in (first, second)]
    return np.flatnonzero(costs[1] < costs[0])


def _costs(sides: Sides, scopes: tuple[Numbers, Numbers], partner: Numbers) -> Numbers:
    """Returns per scope the number of nodes without a partner, twice, and of those that are changed or rewired."""
    base, head = sides
    rows = np.flatnonzero(partner != NONE)
    other = partner[rows]
    differs = base.nodes.label[rows] != head.nodes.label[other]
    differs |= wiring(base, partner[base.uses.src])[rows] != wiring(head, head.uses.src)[other]
    added = np.ones(head.size, bool)
    added[other] = False
    lonely = np.concatenate([scopes[0][partner == NONE], scopes[1][added]])
    counted = np.concatenate([lonely, lonely, scopes[0][rows[differs]]])
    return np.bincount(counted[counted != NONE], minlength=int(scopes[0].max(initial=0)) + 1)


def wiring(side: Side, sources: Numbers) -> Hashes:
    """Returns one hash per node of where its inputs come from."""
    wired = np.zeros(side.size, np.uint64)
    np.add.at(wired, side.uses.dst, mix(sources, side.uses.slot))
    return wired


Renamed = dict[str, str]
UNIT: Final = chr(31)


class Matching:
    """Which node is which in two runs.

    Graphs correspond by stage and method, nested ones by the node that calls them; equal graphs node by node. Within
    two other graphs nodes are paired by :class:`Steps`, and at last across the graphs of a stage and method.

    Attributes:
        partner: For each node of the base, the row of its node in the head; -1 for none.
        renamed: Modules that have another path in the head.
    """

    def __init__(self, base: Side, head: Side) -> None:
        self.sides = (base, head)
        self.partner: Numbers = np.full(base.size, NONE, np.int64)
        self._graphs: dict[int, int] = {}
        self._starts = [dict(zip(*_firsts(side.nodes.graph), strict=True)) for side in self.sides]
        self._take_equal_graphs()
        self.renamed = self._renamed()
        while fresh := self._further_graphs():
            self._graphs.update(fresh)
            self._match(fresh)
        self._match_across()

    def reordered(self) -> Flags:
        """Returns which nodes of the base must move for the others to stand in the head's order; the fewest."""
        moved = np.zeros(len(self.partner), bool)
        theirs = self.sides[1].nodes.graph
        for start, end in _stretches(self.sides[0].nodes.graph):
            rows = np.flatnonzero(self.partner[start:end] != NONE) + start
            other = self._graphs.get(int(self.sides[0].nodes.graph[start]), NONE)
            rows = rows[theirs[self.partner[rows]] == other]
            places = self.partner[rows]
            if len(rows) > 1 and bool((np.diff(places) < 0).any()):
                moved[rows] = True
                moved[rows[_longest_rise(places.tolist())]] = False
        return moved

    def _take_equal_graphs(self) -> None:
        """Pairs graphs of equal content, at an equal path first, and all their nodes."""
        for by_path in (True, False):
            waiting: dict[tuple[str, ...], list[int]] = {}
            for side in (1, 0):
                graphs = self.sides[side].graphs
                known = set(self._graphs) if side == 0 else set(self._graphs.values())
                for i, number in enumerate(graphs.number):
                    key = graphs.entry[i], graphs.content[i], graphs.path[i] if by_path else ""
                    if number in known:
                        continue
                    if side == 1:
                        waiting.setdefault(key, []).append(number)
                    elif waiting.get(key):
                        self._take_graph(number, waiting[key].pop(0))

    def _take_graph(self, base: int, head: int) -> None:
        self._graphs[base] = head
        start, end = self._starts[0].get(base, (0, 0))
        other, _ = self._starts[1].get(head, (0, 0))
        self.partner[start:end] = np.arange(other, other + end - start)

    def _renamed(self) -> Renamed:
        base, head = (side.nodes for side in self.sides)
        return renamed_modules(base.modules, base.kind.tolist(), head.modules, head.kind.tolist())

    def _further_graphs(self) -> dict[int, int]:
        """Returns the graphs that correspond, now that these graphs and nodes do."""
        base, head = (side.graphs for side in self.sides)
        taken = set(self._graphs.values())
        places = {(e, p): g for g, e, p in zip(head.number, head.entry, head.path, strict=True)}
        called: dict[int | None, list[int]] = {}
        for number, parent in zip(head.number, head.parent, strict=True):
            called.setdefault(parent, []).append(number)
        fresh: dict[int, int] = {}
        seen: dict[int | None, int] = {}
        for number, entry, path, parent in zip(base.number, base.entry, base.path, base.parent, strict=True):
            place = seen[parent] = seen.get(parent, -1) + 1
            if number in self._graphs:
                continue
            if parent is None:
                other = places.get((entry, path))
            else:
                siblings = called.get(int(self.partner[parent]), [])
                other = siblings[place] if place < len(siblings) else None
            if other is not None and other not in taken:
                fresh[number] = other
                taken.add(other)
        return fresh

    def _match(self, graphs: dict[int, int]) -> None:
        """Pairs the nodes of some pairs of graphs; a scope is the base's graph.

        Modules that were counted anew mislead: where nodes are rewired between matched ones, the graph is matched once
        more without its modules, and the smaller difference counts.
        """
        theirs = {other: number for number, other in graphs.items()}
        base, head = (side.nodes.graph for side in self.sides)
        scopes = _looked_up(base, {number: number for number in graphs}), _looked_up(head, theirs)
        steps = self._steps(*scopes)
        steps.run()
        self.partner, before = steps.partner[0], self.partner
        doubtful = doubtful_scopes(self.sides, scopes[0], self.partner)
        if len(doubtful):
            found, self.partner = self.partner, before
            base, head = (np.where(np.isin(scope, doubtful), scope, NONE) for scope in scopes)
            scopes = base, head
            steps = self._steps(*scopes, by_module=False)
            steps.run()
            better = cheaper_scopes(self.sides, scopes, found, steps.partner[0])
            self.partner = np.where(np.isin(scopes[0], better), steps.partner[0], found)

    def _match_across(self) -> None:
        """Pairs what is left across the graphs of a stage and method: operators that a backend took, or left."""
        if len(self.sides[0].graphs.number) < 2 and len(self.sides[1].graphs.number) < 2:
            return
        entries = {
            e: i for i, e in enumerate(dict.fromkeys([*self.sides[0].graphs.entry, *self.sides[1].graphs.entry]))
        }
        scopes = []
        for side in self.sides:
            table = {g: entries[e] for g, e in zip(side.graphs.number, side.graphs.entry, strict=True)}
            scope = _looked_up(side.nodes.graph, table)
            scope[side.nodes.leaf] = NONE
            scopes.append(scope)
        steps = self._steps(scopes[0], scopes[1])
        for keys in ((steps.places, steps.names), (steps.places,), (steps.names,)):
            steps.unique(steps.labels, *keys)
        self.partner = steps.partner[0]

    def _steps(self, base: Numbers, head: Numbers, by_module: bool = True) -> Steps:
        placed = np.array([bool(path) and by_module for path in self.sides[0].nodes.modules], bool)
        nowhere = (np.zeros(self.sides[0].size, np.uint64), np.zeros(self.sides[1].size, np.uint64))
        steps = Steps(*self.sides, (base, head), self._places if by_module else nowhere, placed)
        taken = np.flatnonzero(self.partner != NONE)
        steps.partner[0][taken] = self.partner[taken]
        steps.partner[1][self.partner[taken]] = taken
        return steps

    @property
    def _places(self) -> tuple[Hashes, Hashes]:
        """Returns module, by one name in both runs, and call of each node."""
        base, head = (side.nodes for side in self.sides)
        named = {path: self.renamed.get(path, path) if path else path for path in dict.fromkeys(base.modules)}
        numbers = {path: i for i, path in enumerate(dict.fromkeys([*named.values(), *head.modules]))}
        own = np.array([numbers[named[path]] for path in base.modules], np.uint64)
        return mix(own, base.call), mix(np.array([numbers[path] for path in head.modules], np.uint64), head.call)


def _looked_up(values: Numbers, table: dict[int, int]) -> Numbers:
    if not len(values):
        return np.zeros(0, np.int64)
    known = np.full(int(values.max()) + 1, NONE, np.int64)
    for value, found in table.items():
        if value < len(known):
            known[value] = found
    return known[values]


def _stretches(graphs: Numbers) -> list[tuple[int, int]]:
    if not len(graphs):
        return []
    return list(itertools.pairwise([0, *(np.flatnonzero(np.diff(graphs)) + 1).tolist(), len(graphs)]))


def _firsts(graphs: Numbers) -> tuple[list[int], list[tuple[int, int]]]:
    stretches = _stretches(graphs)
    return [int(graphs[start]) for start, _ in stretches], stretches


def _longest_rise(values: list[int]) -> list[int]:
    """Returns the places of a longest increasing subsequence of distinct numbers."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        at = bisect_left(tails, value)
        before.append(ends[at - 1] if at else NONE)
        tails[at : at + 1] = [value]
        ends[at : at + 1] = [place]
    chosen = []
    place = ends[-1]
    while place != NONE:
        chosen.append(place)
        place = before[place]
    return chosen[::-1]
