"""Chooses what is compared with what when one stage is measured against another: along the run's value classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fxstore.ingest.measure.comparison import Pair
from fxstore.records import Structure

# Why a value of one stage is not compared with another's, where that is known before anything runs.
#
# Names stand between backticks behind a colon, so that reasons can be counted by kind.


if TYPE_CHECKING:
    from fxstore.ingest.measure.comparison import Pair
    # MERGED

_WEIGHTS = frozenset({"parameter", "buffer", "constant"})
_STEPS = frozenset({"op", "symint"})


class Unpaired:
    """The reasons of one stage's values.

    Args:
        theirs: The nodes of the reference.
        ours: The nodes of the stage.
        pairs: What is compared.
        same: The node that stands for the value which a node of the stage holds, by ordinal.
        codes: Nodes that hold what a node of the stage has quantised.
    """

    def __init__(
        self,
        structure: Structure,
        reference: str,
        stage: str,
        theirs: Nodes,
        ours: Nodes,
        pairs: Sequence[Pair[Any]],
        same: Mapping[int, int],
        codes: Collection[int],
    ) -> None:
        self._reference, self._theirs, self._ours, self._same, self._codes = reference, theirs, ours, same, codes
        self._paired = {pair.ordinal for pair in pairs}
        self._measured: dict[int, int] = {}
        for pair in pairs:
            if pair.ref is not None:
                self._measured.setdefault(pair.ref, pair.ordinal)
        stages = list(dict.fromkeys(structure.tables["graphs"]["stage"].to_pylist()))
        is_later = stages.index(stage) >= stages.index(reference)
        self._towards: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        links = (structure.tables["links"][c].to_pylist() for c in ("src", "dst", "inferred"))
        for src, dst, inferred in zip(*links, strict=True):
            here, there = (dst, src) if is_later else (src, dst)
            self._towards[here].append((there, inferred))
        later = stages[stages.index(stage) :]
        columns = (structure.tables["unmatched"][c].to_pylist() for c in ("ordinal", "towards", "reason"))
        self._unmatched = {n: reason for n, towards, reason in zip(*columns, strict=True) if towards not in later}
        self._users: dict[int, list[int]] = defaultdict(list)
        self._all_weights = self._of_weights(structure)

    def reason(self, node: int) -> str:
        """Returns why a node's value is not compared."""
        role, op_type = self._ours.role[node], self._ours.op_type[node]
        if role in _WEIGHTS:
            return "constant"
        if role == "delegate":
            return "measured at its outputs"
        holder = self._same.get(node, node)
        if holder in self._paired:
            return f"same value as another node: `{self._ours.key[holder][1]}`"
        if holder != node:
            return self.reason(holder)
        if node in self._codes or op_type.startswith("quantize_"):
            return "integer codes: measured where they are dequantised"
        if node in self._all_weights:
            return f"computed from weights alone: for `{self._reader(node)}`"
        return self._step(node) or self._unmatched.get(node) or f"no value in {self._reference} to compare with"

    def _step(self, node: int) -> str | None:
        """Tells of which operator of the reference a node is a part, and where that one's value is measured."""
        sure = self._origins(node, inferred=False)
        origins = sure or self._origins(node, inferred=True)
        if not origins:
            return None
        origin = next((one for one in origins if one in self._measured), origins[0])
        said, name = f"{'' if sure else 'perhaps '}part of an operator", self._theirs.key[origin][1]
        if origin not in self._measured:
            return f"{said} whose value is nowhere in this stage: `{name}`"
        return f"{said} that is measured as a whole: `{name}`, at `{self._ours.key[self._measured[origin]][1]}`"

    def _origins(self, node: int, inferred: bool) -> list[int]:
        """Returns the operators of the reference that a node became from, the last first.

        Args:
            inferred: Whether links count that nothing recorded.
        """
        found: set[int] = set()
        seen, rest = {node}, [node]
        while rest:
            for other, is_inferred in self._towards[rest.pop()]:
                if other in seen or (is_inferred and not inferred):
                    continue
                seen.add(other)
                if other in self._theirs.key:
                    found.add(other)
                else:
                    rest.append(other)
        return sorted((one for one in found if self._theirs.role[one] in _STEPS), reverse=True)

    def _reader(self, node: int) -> str:
        """Returns the operator that takes what is computed from weights."""
        while node in self._all_weights and self._users[node]:
            users = self._users[node]
            node = next((user for user in users if self._users[user]), users[0])  # an assertion has none
        return self._ours.key[node][1]

    def _of_weights(self, structure: Structure) -> set[int]:
        """Returns the operators that read weights alone, or what is computed from them; notes who reads what."""
        found: set[int] = set()
        for graph, base in zip(structure.graphs, structure.tables["graphs"]["base"].to_pylist(), strict=True):
            if base not in self._ours.key:
                continue
            reads: dict[int, set[int]] = defaultdict(set)
            for src, dst in zip(graph.edges["src"].to_pylist(), graph.edges["dst"].to_pylist(), strict=True):
                if self._ours.op_type[base + src] != "alloc":
                    reads[base + dst].add(base + src)
                self._users[base + src].append(base + dst)
            for node in sorted(reads):
                if self._ours.role[node] in _STEPS and all(one in found or self._is_weight(one) for one in reads[node]):
                    found.add(node)
        return found

    def _is_weight(self, node: int) -> bool:
        """Tells whether a node is a weight, or what a delegate calls one that it is passed."""
        return self._ours.role[self._same.get(node, node)] in _WEIGHTS


Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""
Value = tuple[int, int]
"""Ordinal of a node, output port."""

CONSTANT = frozenset({"parameter", "buffer", "constant"})
_NO_VALUE = CONSTANT | {"subgraph"}
_MEASURED = frozenset({"input", "op", "symint", "delegate"})
_DEEPEST = 4


class Nodes:
    """The nodes of one method by ordinal.

    Args:
        stage: Only of this stage; None: of all.
    """

    def __init__(self, structure: Structure, stage: str | None, method: str) -> None:
        self.key: dict[int, tuple[str, str]] = {}
        self.op_type: dict[int, str] = {}
        self.role: dict[int, str] = {}
        rows = structure.tables["graphs"].select(["stage", "method", "path", "base"]).to_pylist()
        for graph, row in zip(structure.graphs, rows, strict=True):
            if stage not in (None, row["stage"]) or row["method"] != method:
                continue
            nodes = graph.nodes
            for i, name in enumerate(nodes["name"].to_pylist()):
                self.key[row["base"] + i] = (row["path"], name)
            self.op_type.update(enumerate(nodes["op_type"].to_pylist(), row["base"]))
            self.role.update(enumerate(nodes["role"].to_pylist(), row["base"]))


def value_pairs(structure: Structure, reference: str, stage: str, method: str) -> list[Pair[Key]]:
    """Returns what to compare of a stage: each value that has one in the reference, and the rest with a reason.

    A value that several nodes of the stage hold (an operator's port and the ``getitem`` that reads it) is measured
    once, at the operator; a delegate's at its ``getitem``, which names one port, too. Codes that are read back are
    measured against what was quantised.
    """
    theirs, ours = Nodes(structure, reference, method), Nodes(structure, stage, method)
    classes = _Classes(structure, method)
    pairs: list[Pair[Key]] = []
    same: dict[int, int] = {}
    codes: set[int] = set()
    for members, refs in classes.compared(theirs, ours):
        chosen = _representatives(ours, members)
        holder = min(chosen, key=lambda value: (ours.role[value[0]] == "input", value))[0]
        same |= {node: holder for node, _ in members if node not in same}
        if any(ours.op_type[node].startswith("quantize_") for node, _ in members):
            codes.update(node for node, _ in members)
        if not refs:
            continue
        ref, ref_port = _representative(theirs, refs)
        for node, port in chosen:
            if ours.role[node] not in _NO_VALUE:
                pairs.append(Pair((*theirs.key[ref], ref_port), (*ours.key[node], port), ref, node, port))
    why = Unpaired(structure, reference, stage, theirs, ours, pairs, same, codes)
    paired = {pair.ordinal for pair in pairs}
    for node, key in ours.key.items():
        if node not in paired and ours.role[node] in _MEASURED | CONSTANT:
            pairs.append(Pair(None, (*key, 0), None, node, 0, why.reason(node)))
    return sorted(pairs, key=lambda pair: (pair.ordinal, pair.port))


class _Classes:
    """The value classes of one method; a value that is alone is a class of its own."""

    def __init__(self, structure: Structure, method: str) -> None:
        self.nodes = Nodes(structure, None, method)
        self.inputs = first_inputs(structure, self.nodes)
        self._members: dict[int, list[Value]] = defaultdict(list)
        self._observed: dict[int, list[Value]] = defaultdict(list)
        self._of: dict[Value, int] = {}
        self._quantising: dict[object, list[int]] | None = None
        table = structure.tables["value_classes"]
        columns = (table[c].to_pylist() for c in ("value_class", "ordinal", "port", "evidence"))
        for number, node, port, evidence in zip(*columns, strict=True):
            if evidence == "observer":
                self._observed[number].append((node, port))
            else:
                self._members[number].append((node, port))
                self._of[node, port] = number

    def compared(self, theirs: Nodes, ours: Nodes) -> Iterator[tuple[list[Value], list[Value]]]:
        """Yields, for each class of a stage, its values there and those of the reference."""
        alone = [[(n, 0)] for n in ours.key if self._dequantises(n) and (n, 0) not in self._of]
        for members in [*self._members.values(), *alone]:
            if values := [value for value in members if value[0] in ours.key]:
                yield values, self._references(members, theirs)

    def _references(self, members: Sequence[Value], theirs: Nodes) -> list[Value]:
        """Returns the reference's values of a class; of codes that are read back, of what was quantised.

        Where the reference quantises that value, too, the counterpart is what it reads back itself.
        """
        for _ in range(_DEEPEST):
            observed = self._observed.get(self._of.get(members[0], -1), ())
            refs = [value for value in (*members, *observed) if value[0] in theirs.key]
            if refs:
                return refs
            if (source := self._quantised(members)) is None:
                return []
            if quantised := self._quantisers(theirs).get(self._class(source)):
                return self._read_back(theirs).get(self._class((quantised[0], 0)), []) if len(quantised) == 1 else []
            members = self._all(source)
        return []

    def _quantised(self, members: Sequence[Value]) -> Value | None:
        """Returns the value whose codes a class is read from, or None."""
        for node, _ in members:
            if self._dequantises(node) and node in self.inputs:
                for quantise, port in self._all(self.inputs[node]):
                    if port == 0 and self._quantises(quantise):
                        return self.inputs.get(quantise)
        return None

    def _quantisers(self, theirs: Nodes) -> dict[object, list[int]]:
        """Returns the nodes of the reference that quantise a value, by its class."""
        if self._quantising is None:
            self._quantising = defaultdict(list)
            for node in filter(self._quantises, theirs.key):
                if node in self.inputs:
                    self._quantising[self._class(self.inputs[node])].append(node)
        return self._quantising

    def _read_back(self, theirs: Nodes) -> dict[object, list[Value]]:
        """Returns the values of the reference that are read from codes, by the class of the codes."""
        found: dict[object, list[Value]] = defaultdict(list)
        for node in filter(self._dequantises, theirs.key):
            if node in self.inputs:
                found[self._class(self.inputs[node])].append((node, 0))
        return found

    def _class(self, value: Value) -> object:
        return self._of.get(value, value)

    def _all(self, value: Value) -> list[Value]:
        return self._members[self._of[value]] if value in self._of else [value]

    def _quantises(self, node: int) -> bool:
        return self.nodes.op_type.get(node, "").startswith("quantize_")

    def _dequantises(self, node: int) -> bool:
        return self.nodes.op_type.get(node, "").startswith("dequantize_")


def first_inputs(structure: Structure, nodes: Nodes) -> dict[int, Value]:
    """Returns node and port of the first value that each node reads."""
    found: dict[int, Value] = {}
    for graph, base in zip(structure.graphs, structure.tables["graphs"]["base"].to_pylist(), strict=True):
        if base not in nodes.key:
            continue
        columns = (graph.edges[c].to_pylist() for c in ("dst", "src", "src_port"))
        for dst, src, port in zip(*columns, strict=True):
            found.setdefault(base + dst, (base + src, port))
    return found


def _representative(nodes: Nodes, members: Sequence[Value]) -> Value:
    return min(members, key=lambda member: (_passes_on(nodes, member[0]), member))


def _representatives(nodes: Nodes, members: Sequence[Value]) -> list[Value]:
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
