"""Who is who among equal operators of one origin: what reads the counterparts of what the other reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from fxstore.link.boundary import signature
from fxstore.link.pair import Pair
from fxstore.link.run import Run

Groups = dict[Hashable, tuple[list[int], list[int]]]
"""Nodes of the earlier and of the later stage that have one origin and one operator, by what they have in common."""


def counterparts(pair: Pair, groups: Groups) -> list[tuple[int, int]]:
    """Returns the nodes of each group that correspond, as far as that is certain.

    One and one do. Of several, those that read counterparts of each other: names are given anew, and operators are put
    into another order, but a program that computes the same reads the same. What reads the same values with the same
    arguments has one value: such twins match by name, or in order where names were given anew. Where what is read tells
    nothing, names do, as long as none of them is another node's now.
    """
    flow = _Flow(pair, groups)
    for b in _in_program_order(pair):
        flow.visit(b)
    return sorted([*flow.resolved(), *flow.named()])


@dataclass
class _Flow:
    pair: Pair
    groups: Groups
    group: dict[int, Hashable] = field(default_factory=dict)
    same: dict[int, frozenset[int]] = field(default_factory=dict)
    """The nodes of the earlier stage whose value a node of the later one has: several, if these are twins."""
    undecided: list[int] = field(default_factory=list)
    _readers: dict[object, set[int]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for key, (earlier, later) in self.groups.items():
            self.group.update(dict.fromkeys(later, key))
            if len(earlier) > 1 or len(later) > 1:
                for a in earlier:
                    for arg, value in reads(self.pair.run, a):
                        self._readers[key, arg, value].add(a)
        known: dict[int, set[int]] = defaultdict(set)
        for links in self.pair.to_earlier.values():
            for link in links:
                if not link.inferred:
                    known[link.dst].add(link.src)
        for link in signature(self.pair):
            known[link.dst].add(link.src)
        self.same.update((b, frozenset(nodes)) for b, nodes in known.items())

    def visit(self, b: int) -> None:
        """Looks for the counterparts of a node, those of all that it reads being known."""
        if b not in self.group or b in self.same:
            return
        earlier, later = self.groups[self.group[b]]
        if not earlier:
            return
        if len(earlier) == len(later) == 1:
            self.same[b] = frozenset(earlier)
            return
        found: set[int] | None = None
        for arg, (node, port) in reads(self.pair.run, b):
            values = [(a, port) for a in self.same.get(node, ())]
            if values:
                there = set().union(*(self._readers.get((self.group[b], arg, value), set()) for value in values))
                found = there if found is None else found & there
        alike = [a for a in found or () if is_alike(self.pair.run, a, b)]
        equal = [a for a in alike if self.pair.run.attrs[a] == self.pair.run.attrs[b]]
        if alike:
            self.same[b] = frozenset(equal or alike)
        else:
            self.undecided.append(b)

    def resolved(self) -> Iterator[tuple[int, int]]:
        """Yields the pairs, twins one by one."""
        twins: dict[frozenset[int], list[int]] = defaultdict(list)
        for b in self.group:
            if b in self.same:
                twins[self.same[b]].append(b)
        for earlier, later in twins.items():
            if len(earlier) == 1:
                yield from ((a, b) for a in earlier for b in later)
            else:
                yield from self._one_by_one(sorted(earlier), sorted(later))

    def _one_by_one(self, earlier: list[int], later: list[int]) -> Iterable[tuple[int, int]]:
        name = self.pair.run.name
        by_name = {name[a]: a for a in earlier}
        if not self._are_renumbered and by_name.keys() >= {name[b] for b in later}:
            return [(by_name[name[b]], b) for b in later]
        return zip(earlier, later, strict=True) if len(earlier) == len(later) else ()

    def named(self) -> Iterator[tuple[int, int]]:
        """Yields those of the rest that have one name, if names were kept."""
        run = self.pair.run
        if not self.undecided or self._are_renumbered:
            return
        taken = set().union(*self.same.values())
        for b in self.undecided:
            same = [a for a in self.groups[self.group[b]][0] if run.name[a] == run.name[b] and a not in taken]
            if len(same) == 1 and run.target[same[0]] == run.target[b] and is_alike(run, same[0], b):
                yield same[0], b

    @cached_property
    def _are_renumbered(self) -> bool:
        """Tells whether a name of the earlier stage is another node's in the later one."""
        name = self.pair.run.name
        return any(
            len(self.same[b]) == 1 and name[b] not in {name[a] for a in self.same[b]} and name[b] in names
            for key, (earlier, later) in self.groups.items()
            for names in [{name[a] for a in earlier}]
            for b in later
            if b in self.same
        )


def is_alike(run: Run, a: int, b: int) -> bool:
    """Tells whether two nodes may be one: their shapes and dtypes agree as far as they are known."""
    return all(
        None in (one, other) or one == other
        for one, other in ((run.shape[a], run.shape[b]), (run.dtype[a], run.dtype[b]))
    )


def reads(run: Run, node: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields what a node reads, by argument, as the node and port that compute it: not the buffers that it writes."""
    for src, port, arg in run.inputs[node]:
        if run.role[src] != "subgraph" and run.op_type[src] != "alloc":
            value = run.value(src, port)
            while run.passes_on(value[0]):
                value = run.value(*run.inputs[value[0]][0][:2])
            yield arg, value


def _in_program_order(pair: Pair) -> Iterator[int]:
    """Yields the nodes of the later stage, those of a nested graph where it is called."""
    run = pair.run
    waiting: dict[int, list[int]] = defaultdict(list)
    for b in pair.later:
        waiting[run.graph[b]].append(b)

    def visit(graph: int) -> Iterator[int]:
        for b in waiting.pop(graph, ()):
            if b in run.calls:
                yield from visit(run.calls[b])
            yield b

    for graph in list(waiting):
        yield from visit(graph)
