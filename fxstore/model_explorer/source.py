"""Graphs as plain rows, whatever they were read from, and which of their edges lead back.

The app lays out graphs without cycles, and draws nothing that only a cycle leads to. So edges that close a cycle are
taken out (:func:`feedback`) and drawn as an overlay. An edge that goes forwards in the graph's order closes none; the
others are added one by one, and each that completes a cycle leads back. Cost: a walk for each of these edges.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Row = Mapping[str, Any]
HELD = frozenset({"parameter", "buffer", "constant"})
"""Roles of nodes that hold a value for whoever needs it, and stand in no module by themselves."""
_MOST: Final = 2000
"""So many edges against the order are looked at one by one, each with a walk; of more, all count as leading back."""


@dataclass(frozen=True)
class Edge:
    """One use of a value; ``src`` and ``dst`` are positions, ``arg`` is the argument path or None."""

    src: int
    port: int
    dst: int
    arg: str | None


@dataclass(frozen=True)
class Source:
    """One graph.

    Attributes:
        id: Its id in the collection.
        nodes: One row per node, in order: the columns of ``nodes``, and ``handles``, ``unmatched``. A node that is made
            up has a ``key`` (what its id is made of) and a ``place`` (its namespace) of its own; ``calls`` (call by
            path of a module) goes before what is recorded.
        edges: In the order of the targets' arguments.
        calls: Position of a node to the ids of the graphs that it calls.
        facts: What is known of the graph and where it comes from; shown where nothing is selected.
    """

    id: str
    nodes: Sequence[Row]
    edges: Sequence[Edge]
    calls: Mapping[int, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def attrs_of(row: Row) -> dict[str, Any]:
    """Returns what the store keeps of a node as JSON."""
    found = json.loads(row.get("attrs") or "{}")
    return found if isinstance(found, dict) else {}


def calls_of(row: Row) -> dict[str, int]:
    """Returns the call of each module around a node by the module's path, the root's included; 1 where none is known.

    A trace names the innermost module's call; those around it stand in ``module_calls`` where they are not the first.
    """
    if row.get("calls") is not None:
        return dict(row["calls"])
    path = row["module_path"]
    if path is None:
        return {}
    outer = attrs_of(row).get("module_calls")
    known = {str(key): call for key, call in outer.items() if isinstance(call, int)} if isinstance(outer, dict) else {}
    parts = path.split(".") if path else []
    around = ["", *(".".join(parts[:i]) for i in range(1, len(parts) + 1))]
    return {module: known.get(module, 1) for module in around} | {path: row["module_call"] or 1}


def values_of(row: Row) -> list[tuple[str | None, list[str] | None]]:
    """Returns dtype and shape of each value that a node gives; None for what is no tensor."""
    outputs = attrs_of(row).get("outputs")
    count = row["ports"] if row["ports"] is not None else 1
    if isinstance(outputs, list) and outputs:
        return [(one[0], one[1]) for one in outputs if isinstance(one, list) and len(one) == 2]
    return [(row["dtype"], row["shape"])] + [(None, None)] * (count - 1) if count else []


def feedback(edges: Sequence[Edge]) -> set[Edge]:
    """Returns edges without which a graph has no cycle, those that go against the order of its nodes alone."""
    against = [edge for edge in edges if edge.src >= edge.dst]
    if len(against) > _MOST:
        return set(against)
    after: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        if edge.src < edge.dst:
            after[edge.src].add(edge.dst)
    found = set()
    for edge in against:
        if _reaches(after, edge.dst, edge.src):
            found.add(edge)
        else:
            after[edge.src].add(edge.dst)
    return found


def _reaches(after: dict[int, set[int]], start: int, end: int) -> bool:
    seen, stack = {start}, [start]
    while stack:
        one = stack.pop()
        if one == end:
            return True
        new = after[one] - seen if one in after else set()
        seen |= new
        stack += new
    return False
