"""A graph with each module once, however often it is called."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fxstore.model_explorer.source import Edge, Row, Source, attrs_of, calls_of


@dataclass(frozen=True)
class Rolled:
    """A rolled graph.

    Attributes:
        source: The graph; its nodes are those of the first calls.
        members: The positions in the whole graph that each of its nodes stands for.
    """

    source: Source
    members: list[list[int]]


def rolled(whole: Source) -> Rolled | None:
    """Returns the rolled view of a graph; None where no module is called twice.

    Nodes of one module are one where they are the same occurrence of their operator within the call.
    """
    if all(call == 1 for row in whole.nodes for call in calls_of(row).values()):
        return None
    numbers: dict[object, int] = {}
    at = [numbers.setdefault(key, len(numbers)) for key in _keys(whole)]
    if len(numbers) == len(at):
        return None
    members: list[list[int]] = [[] for _ in numbers]
    for position, number in enumerate(at):
        members[number].append(position)
    edges = dict.fromkeys(Edge(at[e.src], e.port, at[e.dst], e.arg) for e in whole.edges)
    calls: dict[int, list[str]] = defaultdict(list)
    for position, graphs in whole.calls.items():
        calls[at[position]] += [graph for graph in graphs if graph not in calls[at[position]]]
    nodes = [_merged([whole.nodes[i] for i in group]) for group in members]
    facts = {**whole.facts, "view": f"rolled: {len(at)} nodes of all calls as {len(nodes)}"}
    ordered = sorted(edges, key=lambda edge: edge.dst)
    return Rolled(Source(f"{whole.id} (rolled)", nodes, ordered, calls, facts), members)


def _keys(whole: Source) -> list[object]:
    counts: dict[object, int] = {}
    keys: list[object] = []
    for position, row in enumerate(whole.nodes):
        calls = calls_of(row)
        if not calls or row["op"] in ("placeholder", "get_attr", "output"):
            keys.append(position)
            continue
        kind = row["module_path"], row["op_type"]
        within = (*kind, *calls.items())
        counts[within] = counts.get(within, 0) + 1
        keys.append((*kind, counts[within]))
    return keys


def _merged(rows: Sequence[Row]) -> Row:
    first = rows[0]
    if len(rows) == 1:
        return {**first, "calls": dict.fromkeys(calls_of(first), 1)}
    calls = ", ".join(str(row["module_call"] or 1) for row in rows)
    kept = {key: value for key, value in attrs_of(first).items() if key != "module_calls"}
    notes = [f"{len(rows)} (of the module: {calls})"]
    same = all(attrs_of(row).get("args") == kept.get("args") for row in rows)
    if not same:
        kept.pop("args", None)
        notes.append("arguments differ")
    alike = all(row["shape"] == first["shape"] and row["dtype"] == first["dtype"] for row in rows)
    if not alike:
        notes.append("shapes differ")
    return {
        **first,
        "calls": dict.fromkeys(calls_of(first), 1),
        "module_call": None,
        "shape": first["shape"] if alike else None,
        "attrs": json.dumps(kept) if kept else None,
        "rolled": "; ".join(notes),
    }
