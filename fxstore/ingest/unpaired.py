"""Why a value of one stage is not compared with another's, where that is known before anything runs.

Names stand between backticks behind a colon, so that reasons can be counted by kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fxstore.records import Structure

if TYPE_CHECKING:
    from fxstore.ingest.measure import Pair
    from fxstore.ingest.pairs import Nodes

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
