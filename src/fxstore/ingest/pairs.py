"""Chooses what is compared with what when one stage is measured against another: along the run's value classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.ingest.measure import Pair
from fxstore.records import Structure

Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""

_CONSTANT = frozenset({"parameter", "buffer", "constant"})
_MEASURED = frozenset({"input", "op", "symint", "delegate"})


class Nodes:
    """The nodes of one stage and one method, by ordinal."""

    def __init__(self, structure: Structure, stage: str, method: str) -> None:
        self.key: dict[int, tuple[str, str]] = {}
        self.op_type: dict[int, str] = {}
        self.role: dict[int, str] = {}
        rows = structure.tables["graphs"].select(["stage", "method", "path", "base"]).to_pylist()
        for graph, row in zip(structure.graphs, rows, strict=True):
            if row["stage"] != stage or row["method"] != method:
                continue
            nodes = graph.nodes
            for i, name in enumerate(nodes["name"].to_pylist()):
                self.key[row["base"] + i] = (row["path"], name)
            self.op_type.update(enumerate(nodes["op_type"].to_pylist(), row["base"]))
            self.role.update(enumerate(nodes["role"].to_pylist(), row["base"]))


def value_pairs(structure: Structure, reference: str, stage: str, method: str) -> list[Pair[Key]]:
    """Returns what to compare of a stage: each value that has one in the reference, and the rest with a reason.

    A value that several nodes of the stage hold (an operator's port and the ``getitem`` that reads it) is measured
    once, at the operator; a delegate's at its ``getitem``, which names one port.
    """
    theirs, ours = Nodes(structure, reference, method), Nodes(structure, stage, method)
    pairs: list[Pair[Key]] = []
    same: dict[int, str] = {}
    for members in _classes(structure):
        refs = [(node, port) for node, port, _ in members if node in theirs.key]
        values = [(node, port) for node, port, evidence in members if node in ours.key and evidence != "observer"]
        if not refs or not values:
            continue
        ref, ref_port = _representative(theirs, refs)
        chosen = _representatives(ours, values)
        same |= {node: f"same value as {ours.key[chosen[0][0]][1]}" for node, _ in values}
        for node, port in chosen:
            if ours.role[node] not in _CONSTANT:
                pairs.append(Pair((*theirs.key[ref], ref_port), (*ours.key[node], port), ref, node, port))
    pairs.extend(_dequantised(ours, structure, pairs))
    paired = {pair.ordinal for pair in pairs}
    pairs.extend(_unpaired(ours, paired, same, structure, reference, stage))
    return sorted(pairs, key=lambda pair: (pair.ordinal, pair.port))


def _dequantised(ours: Nodes, structure: Structure, pairs: list[Pair[Key]]) -> Iterator[Pair[Key]]:
    """Yields pairs of dequantizes that nothing else relates: with the reference of the value that was quantised.

    A prepared stage relates them by its observers; without one, the codes that they read do.
    """
    read = _first_inputs(structure, ours)
    by_value = {(pair.ordinal, pair.port): pair for pair in pairs}
    paired = {pair.ordinal for pair in pairs}
    origin = {node: read[node] for node in read if ours.op_type[node] == "getitem"}
    for node, (codes, port) in read.items():
        if node in paired or ours.op_type[node] != "dequantize_per_tensor":
            continue
        source = read.get(codes) if ours.op_type[codes] == "quantize_per_tensor" and port == 0 else None
        found = by_value.get(source) or by_value.get(origin.get(source[0], source)) if source is not None else None
        if found is not None and found.reference is not None and found.reason is None:
            yield Pair(found.reference, (*ours.key[node], 0), found.ref, node, 0)


def _first_inputs(structure: Structure, nodes: Nodes) -> dict[int, tuple[int, int]]:
    """Returns node and port of the first value that each node reads."""
    found: dict[int, tuple[int, int]] = {}
    bases = structure.tables["graphs"]["base"].to_pylist()
    for graph, base in zip(structure.graphs, bases, strict=True):
        if base in nodes.key:
            for edge in graph.edges.to_pylist():
                found.setdefault(base + edge["dst"], (base + edge["src"], edge["src_port"]))
    return found


def _classes(structure: Structure) -> Iterator[list[tuple[int, int, str | None]]]:
    """Yields the members of each class; those with the evidence ``observer`` are references only."""
    classes: dict[int, list[tuple[int, int, str | None]]] = defaultdict(list)
    table = structure.tables["value_classes"]
    columns = (table[c].to_pylist() for c in ("value_class", "ordinal", "port", "evidence"))
    for number, node, port, evidence in zip(*columns, strict=True):
        classes[number].append((node, port, evidence))
    yield from classes.values()


def _representative(nodes: Nodes, members: list[tuple[int, int]]) -> tuple[int, int]:
    return min(members, key=lambda member: (_passes_on(nodes, member[0]), member))


def _representatives(nodes: Nodes, members: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the operators that hold the value, in nested graphs too; without any, the node that reads it."""
    computing = [member for member in members if not _passes_on(nodes, member[0])]
    top = [member for member in members if not nodes.key[member[0]][0] and nodes.op_type[member[0]] == "getitem"]
    if any(nodes.role[node] == "delegate" for node, _ in members):
        return sorted({*computing, *top})
    return computing or [_representative(nodes, members)]


def _passes_on(nodes: Nodes, node: int) -> int:
    """Returns 0 for what computes a value; more, the less a node that only passes it on says about it."""
    if nodes.role[node] == "delegate" or nodes.op_type[node] == "alloc":
        return 2
    return int(nodes.op_type[node] == "getitem")


def _unpaired(
    ours: Nodes, paired: set[int], same: dict[int, str], structure: Structure, reference: str, stage: str
) -> Iterator[Pair[Key]]:
    stages = list(dict.fromkeys(structure.tables["graphs"]["stage"].to_pylist()))
    later = stages[stages.index(stage) :]
    reasons = {
        row["ordinal"]: row["reason"]
        for row in structure.tables["unmatched"].to_pylist()
        if row["towards"] not in later
    }
    for node, key in ours.key.items():
        if node in paired or ours.role[node] not in _MEASURED | _CONSTANT:
            continue
        if ours.role[node] in _CONSTANT:
            reason = "constant"
        elif ours.role[node] == "delegate":
            reason = "measured at its outputs"
        elif ours.op_type[node].startswith("quantize_"):
            reason = "integer codes: measured where they are dequantised"
        else:
            reason = same.get(node) or reasons.get(node) or f"no value in {reference} to compare with"
        yield Pair(None, (*key, 0), None, node, 0, reason)
