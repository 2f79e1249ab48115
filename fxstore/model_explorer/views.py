"""Other views of a graph: each module once (rolled), and one graph per step, as decoding has steps.

::

    whole:   block:1   block:2   block:3          a module that is called three times
    rolled:  block                                one node for the same occurrence in every call
    steps:   step 1    step 2    step 3           a graph per call, boundary nodes where values cross

Both are linear in nodes and edges.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fxstore.model_explorer.graph import key_of
from fxstore.model_explorer.names import INPUTS, OUTPUTS
from fxstore.model_explorer.source import HELD, Edge, Row, Source, attrs_of, calls_of

BUDGET: Final = 12_000_000
"""Characters of JSON that the steps of a graph may take; the app holds a collection in memory as one text."""
_SHARE: Final = 0.5


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        source: Its graph: its own nodes, the parameters and inputs that it reads, and boundary nodes.
        positions: The position of each node in the whole graph; None for a boundary node.
    """

    source: Source
    positions: list[int | None]


def stepped_module(whole: Source) -> str | None:
    """Returns the module each call of which is a step: the outermost one that is called several times.

    It must be the only one at its depth, and hold half of the operators or more.
    """
    shared = _shared(whole)
    operators = [calls_of(row) for position, row in enumerate(whole.nodes) if position not in shared]
    repeated = {path for chain in operators for path, call in chain.items() if call > 1}
    depths = {path: path.count(".") + 1 if path else 0 for path in repeated}
    outer = [path for path in repeated if depths[path] == min(depths.values())]
    if len(outer) != 1:
        return None
    within = sum(outer[0] in chain for chain in operators)
    return outer[0] if within >= _SHARE * len(operators) else None


def steps_of(whole: Source, module: str) -> list[Step]:
    """Returns one graph per call of a module; what stands outside of it belongs to the call before it."""
    chains, shared = [calls_of(row) for row in whole.nodes], _shared(whole)
    step_of: dict[int, int] = {}
    current = min((chain[module] for chain in chains if module in chain), default=1)
    for position, chain in enumerate(chains):
        current = chain.get(module, current)
        if position not in shared:
            step_of[position] = current
    numbers = sorted(set(step_of.values()))
    into, out_of = defaultdict(list), defaultdict(list)
    for edge in whole.edges:
        into[step_of.get(edge.dst)].append(edge)
        if edge.src in step_of and step_of.get(edge.dst) != step_of[edge.src]:
            out_of[step_of[edge.src]].append(edge)
    return [_step(whole, chains, step_of, number, into[number], out_of[number]) for number in numbers]


def within_budget(
    steps: Sequence[Step], size: Callable[[Step], int], budget: int = BUDGET
) -> tuple[list[Step], list[str]]:
    """Returns the steps, first ones first, that fit into a budget, and what is left out, in one line or none."""
    left, kept = budget, 0
    for step in steps:
        left -= size(step)
        if left < 0:
            break
        kept += 1
    if kept == len(steps):
        return list(steps), []
    line = f"steps {kept + 1} to {len(steps)} are left out: all {len(steps)} take more than {budget:,} characters"
    return list(steps[:kept]), [line]


def _shared(whole: Source) -> set[int]:
    """Returns the nodes that stand in each step that reads them: inputs, and what holds a value."""
    read = {edge.dst for edge in whole.edges}
    return {
        position
        for position, row in enumerate(whole.nodes)
        if position not in read and (row["role"] in HELD or row["op"] in ("placeholder", "get_attr"))
    }


def _step(
    whole: Source,
    chains: Sequence[Mapping[str, int]],
    step_of: Mapping[int, int],
    number: int,
    into: Sequence[Edge],
    out_of: Sequence[Edge],
) -> Step:
    own = {position for position, step in step_of.items() if step == number}
    read = {edge.src for edge in into if edge.src not in step_of}
    other = dict.fromkeys(edge.src for edge in into if edge.src in step_of and edge.src not in own)
    positions = sorted(own | read)
    first: dict[str, int] = {}
    for position in positions:
        for path, call in chains[position].items():
            first[path] = min(call, first.get(path, call))
    nodes: list[Row] = []
    for at in other:
        row, outputs = whole.nodes[at], attrs_of(whole.nodes[at]).get("outputs")
        attrs = json.dumps({"outputs": outputs}) if outputs else None
        known = {"dtype": row["dtype"], "shape": row["shape"], "ports": row["ports"], "attrs": attrs}
        nodes.append(_boundary(row, f"from step {step_of[at]}", _id(whole, step_of[at]), INPUTS) | known)
    for at in positions:
        # Calls are counted from the step's first, so that equal steps read alike.
        restarted = {path: call - first[path] + 1 for path, call in chains[at].items()}
        nodes.append({**whole.nodes[at], "calls": restarted})
    at_new = {at: i for i, at in enumerate([*other, *positions])}
    edges = [Edge(at_new[e.src], e.port, at_new[e.dst], e.arg) for e in into]
    calls = {at_new[at]: whole.calls[at] for at in positions if at in whole.calls}
    leaving: dict[tuple[int, int], int] = {}
    for edge in out_of:
        target = edge.src, step_of.get(edge.dst, number)
        if target not in leaving:
            leaving[target] = len(nodes)
            row, graph = whole.nodes[edge.src], _id(whole, target[1])
            nodes.append(_boundary(row, f"to step {target[1]}", graph, OUTPUTS) | {"ports": 0})
        edges.append(Edge(at_new[edge.src], edge.port, leaving[target], f"output {edge.port}"))
    unique = sorted(dict.fromkeys(edges), key=lambda edge: edge.dst)
    facts = {**whole.facts, "step": str(number), "boundary nodes": str(len(other) + len(leaving))}
    held: list[int | None] = [None] * len(other) + list[int | None](positions) + [None] * len(leaving)
    return Step(Source(_id(whole, number), nodes, unique, calls, facts), held)


def _id(whole: Source, number: int) -> str:
    return f"{whole.id}/step {number}"


def _boundary(row: Row, label: str, graph: str, place: str) -> dict[str, object]:
    """Returns a node for a value that crosses between steps.

    The app lists no graph that its own calls lead to, so a boundary node names the other graph and calls nothing.
    """
    kept = {"name": row["name"], "target": row["target"], "module_path": row["module_path"], "step_graph": graph}
    own = {"op": "boundary", "op_type": label, "role": "boundary", "place": place, "calls": {}}
    return {**dict.fromkeys(row), **kept, **own, "key": ("boundary", label, *key_of(row))}


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
