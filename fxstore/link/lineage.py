"""What nodes say about where they come from: the provenance of a whole run as one forest of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fxstore.records import Graph

NOTHING = -1


@dataclass
class Lineage:
    """The sources that the nodes of a run cite, each once: equal chains are equal numbers.

    A *hop* is an ancestor as provenance names it, the identity of its graph and its name there, as one number. A
    *source* is a hop with the target that is cited of it, the pass that made it, and the source that it cites itself.
    """

    hops: dict[tuple[int, str], int] = field(default_factory=dict)
    ancestor: list[tuple[int, str]] = field(default_factory=list)
    """Graph identity and name of each hop."""
    hop: list[int] = field(default_factory=list)
    """Hop of each source."""
    target: list[str] = field(default_factory=list)
    pass_name: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    """The next source of each source's chain, or NOTHING."""
    origin: list[int] = field(default_factory=list)
    """Number of what each source names with all that it came from itself, whichever pass made the citing node of it.

    A hop alone does not tell an ancestor: the number of a graph may be used again, and so may a name in it.
    """
    head: list[int] = field(default_factory=list)
    """The nearest source of each node, or NOTHING."""
    branches: dict[int, list[int]] = field(default_factory=dict)
    """Further heads of nodes that have several chains."""
    _known: dict[tuple[int, str, str, int], int] = field(default_factory=dict)
    _origins: dict[tuple[int, str, int], int] = field(default_factory=dict)

    def append(self, graph: Graph) -> None:
        """Takes in what the nodes of the next graph cite."""
        sources = graph.tables["sources"]
        columns = (sources[c].to_pylist() for c in ("name", "target", "graph", "pass_name", "parent"))
        numbers: list[int] = []
        for name, target, home, pass_name, parent in zip(*columns, strict=True):
            before = NOTHING if parent is None else numbers[parent]
            numbers.append(self._number(graph.source_graphs[home], name, target, pass_name, before))
        base = len(self.head)
        self.head += [NOTHING] * len(graph.nodes)
        origins = graph.tables["origins"]
        for position, source in zip(origins["position"].to_pylist(), origins["source"].to_pylist(), strict=True):
            node = base + position
            if self.head[node] == NOTHING:
                self.head[node] = numbers[source]
            else:
                self.branches.setdefault(node, []).append(numbers[source])

    def _number(self, home: int, name: str, target: str, pass_name: str, parent: int) -> int:
        hop = self.hops.setdefault((home, name), len(self.hops))
        if hop == len(self.ancestor):
            self.ancestor.append((home, name))
        key = (hop, target, pass_name, parent)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.hop)
            self.hop.append(hop)
            self.target.append(target)
            self.pass_name.append(pass_name)
            self.parent.append(parent)
            self.origin.append(self._origins.setdefault((hop, target, parent), len(self._origins)))
        return number

    def nearest(self, node: int) -> int:
        """Returns the origin that a node cites first, or NOTHING."""
        head = self.head[node]
        return NOTHING if head == NOTHING else self.origin[head]

    def chain(self, node: int) -> Iterator[int]:
        """Yields the sources of a node, nearest first, branch after branch."""
        for source in (self.head[node], *self.branches.get(node, ())):
            yield from self.above(source)

    def above(self, source: int) -> Iterator[int]:
        """Yields a source and those that it comes from, nearest first."""
        while source != NOTHING:
            yield source
            source = self.parent[source]
