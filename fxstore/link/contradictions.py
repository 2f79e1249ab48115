"""Searches the links of a run for what contradicts itself: one of the links that are told there is wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from fxstore.link.run import Run, rows
from fxstore.records import Structure


class Contradiction(NamedTuple):
    """What contradicts itself, and the ordinals of the nodes that it is about."""

    what: str
    nodes: tuple[int, ...]


def contradictions(run: Run, structure: Structure) -> list[Contradiction]:
    """Returns what the links, value classes and sync sets of a run say that cannot be.

    Args:
        run: The run's nodes.
        structure: What was found between them.
    """
    size = [_elements(shape) for graph in structure.graphs for shape in graph.nodes["shape"].to_pylist()]
    found = [*_unequal_values(run, structure, size), *_unequal_links(run, structure, size)]
    return [*found, *_torn(run, structure), *_primaries(run, structure), *_reused_names(run)]


def _elements(shape: list[str] | None) -> int | None:
    """Returns how many elements a shape has; None where that is not known."""
    return math.prod(map(int, shape)) if shape is not None and all(size.isdigit() for size in shape) else None


def _unequal_values(run: Run, structure: Structure, size: list[int | None]) -> Iterator[Contradiction]:
    members: dict[int, dict[int, int]] = defaultdict(dict)
    for number, node, port in rows(structure.tables["value_classes"], "value_class", "ordinal", "port"):
        count = size[node]
        if port == 0 and count is not None:
            members[number].setdefault(count, node)
    for sizes in members.values():
        if len(sizes) > 1:
            yield Contradiction("values of unequal size in one class", tuple(sizes.values()))


def _unequal_links(run: Run, structure: Structure, size: list[int | None]) -> Iterator[Contradiction]:
    for a, b, evidence, inferred in rows(structure.tables["links"], "src", "dst", "evidence", "inferred"):
        unequal = None not in (size[a], size[b]) and size[a] != size[b]
        if evidence == "identity" and (unequal or run.op_type[a] != run.op_type[b]):
            yield Contradiction("identity of unequal nodes", (a, b))
        elif not inferred and run.selects_port(a) and run.selects_port(b) and unequal:
            yield Contradiction("recorded link of unequal outputs", (a, b))


def _torn(run: Run, structure: Structure) -> Iterator[Contradiction]:
    """A node of one delegate that is kept as it was in two delegates of another stage."""
    homes: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for a, b, evidence in rows(structure.tables["links"], "src", "dst", "evidence"):
        if evidence == "identity" and run.graph[a] in run.parents and run.graph[b] in run.parents:
            homes[a, run.stage[b]][run.graph[b]] = b
            homes[b, run.stage[a]][run.graph[a]] = a
    for (node, _), others in homes.items():
        if len(others) > 1:
            yield Contradiction("one node in several delegates", (node, *others.values()))


def _primaries(run: Run, structure: Structure) -> Iterator[Contradiction]:
    primary: dict[tuple[int, int], list[int]] = defaultdict(list)
    table = structure.tables["sync_sets"]
    for number, node, is_primary in rows(table, "sync_set", "ordinal", "is_primary"):
        if is_primary:
            primary[number, run.stage[node]].append(node)
    for nodes in primary.values():
        if len(nodes) > 1:
            yield Contradiction("several primaries in one stage", tuple(nodes))


def _reused_names(run: Run) -> Iterator[Contradiction]:
    """Nodes that were linked by the number of a graph, and cite one name there as different operators."""
    targets: dict[int, dict[str, int]] = defaultdict(dict)
    for node, head in enumerate(run.lineage.head):
        for source in run.lineage.above(head):
            targets[run.lineage.hop[source]].setdefault(run.lineage.target[source], node)
    for named in targets.values():
        if len(named) > 1:
            yield Contradiction("one ancestor with several operators", tuple(named.values()))
