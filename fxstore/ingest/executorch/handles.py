"""Translates between the two numbers that one node has: its debug handle, and the instruction that runs it.

After ``to_executorch()`` an emitted node carries the index of its instruction where its handle was. Only the maps that
the program and its ETRecord keep tell which handles an instruction stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from fxstore import tables
from fxstore.ingest.executorch.etrecord import counts_of, delegates_of, handles_of
from fxstore.ingest.overlays import ROWS, Laid, NodeOverlay, Place, RunNodes
from fxstore.records import Delegate, Graph, Overlay, Stage

INSTRUCTION: Final = "instruction"
DEBUG_HANDLE: Final = "debug_handle"


@dataclass(frozen=True)
class Maps:
    """What a program's runtime maps say, by method and instruction.

    Attributes:
        handles: The debug handles of the nodes that an instruction runs.
        delegates: The delegate that it calls.
    """

    handles: Mapping[str, Mapping[int, tuple[int, ...]]] = field(default_factory=dict)
    delegates: Mapping[str, Mapping[int, Delegate]] = field(default_factory=dict)

    @classmethod
    def of_live(cls, handles: Any, delegates: Any) -> Maps:
        """Returns the maps that a live object holds, read as if they came from its file: the keys are texts there."""
        return cls(handles_of(_as_stored(handles)), delegates_of(_as_stored(delegates)))

    def on(self, stage: Stage) -> Stage:
        """Returns a stage with these maps."""
        graphs = tuple(self.translated(graph) for graph in stage.graphs)
        return replace(stage, graphs=graphs, delegates=self.delegates)

    def translated(self, graph: Graph) -> Graph:
        """Returns a graph whose nodes have both numbers, as far as the maps tell.

        An emitted node gets the handles of its instruction; any other node the instructions that run its handles.
        """
        by_instruction = self.handles.get(graph.method, {})
        rows = graph.tables["handles"].to_pylist()
        emitted = any(row["namespace"] == INSTRUCTION for row in rows)
        known = {(row["position"], row["namespace"], row["handle"]) for row in rows}
        if emitted:
            pairs = {i: tuple(dict.fromkeys(handles)) for i, handles in by_instruction.items()}
        else:
            pairs = _inverse(by_instruction)
        asked, given = (INSTRUCTION, DEBUG_HANDLE) if emitted else (DEBUG_HANDLE, INSTRUCTION)
        more = [
            (row["position"], given, number)
            for row in rows
            if row["namespace"] == asked
            for number in pairs.get(row["handle"], ())
            if (row["position"], given, number) not in known
        ]
        return _with_handles(graph, list(dict.fromkeys(more))) if more else graph


def _inverse(by_instruction: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for instruction, handles in sorted(by_instruction.items()):
        for handle in dict.fromkeys(handles):
            found.setdefault(handle, []).append(instruction)
    return {handle: tuple(instructions) for handle, instructions in found.items()}


def _with_handles(graph: Graph, rows: list[tuple[int, str, int]]) -> Graph:
    columns = zip(*rows, strict=True)
    more = pa.table([pa.array(c, f.type) for c, f in zip(columns, tables.HANDLES, strict=True)], schema=tables.HANDLES)
    return replace(graph, tables={**graph.tables, "handles": pa.concat_tables([graph.tables["handles"], more])})


def _as_stored(found: Any) -> object:
    return {} if found is None else json.loads(json.dumps(found))


def counts_of_live(found: Any) -> tuple[NodeOverlay, ...]:
    """Returns the same from the map that a live ETRecord holds."""
    return counts(counts_of(_as_stored(found)))


def counts(num_outs: Mapping[str, Mapping[int, int | tuple[int, ...]]]) -> tuple[NodeOverlay, ...]:
    """Returns the numbers of outputs of a program's instructions as an overlay on the run; none where it has none."""
    rows = [
        {"metric": "outputs", "value": float(count), "text": f"{method} {INSTRUCTION} {instruction}"}
        for method, found in num_outs.items()
        for instruction, given in found.items()
        for count in (given if isinstance(given, tuple) else (given,))
    ]
    return (NodeOverlay.of("outputs of instructions", "static", rows, source="the ETRecord"),) if rows else ()


# Tells which backend owns each operator of a run whose program has delegates.


PORTABLE: Final = "portable"
_NO_OPERATOR = frozenset({"getitem", "alloc", "view"})
_LOWERED = frozenset({"lowered", "runtime"})


class BackendLayer:
    """The overlay ``backend``, a category: the name of the backend, or ``portable``, of each operator.

    In what is lowered an operator is told by its own place: inside a delegate, or outside. In an edge graph it is the
    node of that name and handle in what is lowered; without that the runtime maps tell it by handle, and then a handle
    that delegated and portable nodes share tells nothing.
    """

    name = "backend"

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlay; none where nothing is delegated."""
        lowered = [place for place in run.places if place.stage.kind in _LOWERED]
        known = _Known(lowered)
        if not known.delegated and not any(map(_delegates, run.places)):
            return
        rows: list[tuple[int, str | None, str | None]] = []
        for place in run.places:
            if place.stage.kind in _LOWERED:
                rows += [(place.base + n["position"], n["backend"] or PORTABLE, None) for n in _operators(place.graph)]
            elif place.stage.kind == "edge":
                rows += _of_edge(place, known)
        if rows:
            yield Laid(Overlay("backend", "category", "the program", _table(rows)))


class _Known:
    """The owners of nodes of what is lowered, by method and name; the handles that they have."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.delegated = False
        self.owners: dict[tuple[str, str], list[tuple[str, frozenset[int]]]] = {}
        for place in places:
            handles = _handles(place.graph, "debug_handle")
            for node in _operators(place.graph):
                self.delegated |= node["role"] == "delegate"
                owner = node["backend"] or PORTABLE
                found = frozenset(handles.get(node["position"], ()))
                self.owners.setdefault((place.graph.method, node["name"]), []).append((owner, found))

    def of(self, method: str, name: str, handles: frozenset[int]) -> set[str]:
        """Returns the owners of the nodes of that name which share a handle."""
        return {owner for owner, own in self.owners.get((method, name), ()) if own & handles}


def _of_edge(place: Place, known: _Known) -> Iterator[tuple[int, str | None, str | None]]:
    handles = _handles(place.graph, "debug_handle")
    instructions = _handles(place.graph, INSTRUCTION)
    delegates = place.stage.delegates.get(place.graph.method, {})
    for node in _operators(place.graph):
        position = node["position"]
        owners = known.of(place.graph.method, node["name"], frozenset(handles.get(position, ())))
        if len(owners) != 1:
            ran = instructions.get(position, ())
            owners = {delegates[i].backend if i in delegates else PORTABLE for i in ran}
        if len(owners) == 1:
            yield place.base + position, owners.pop(), None
        elif owners:
            why = f"its handle stands for nodes of {' and '.join(sorted(owners))}"
            yield place.base + position, None, why
        else:
            yield place.base + position, None, "nothing in the program has its handle"


def _operators(graph: Graph) -> list[dict[str, Any]]:
    """Returns the nodes that compute: no inputs, no outputs, and nothing that only picks or makes room."""
    rows: list[dict[str, Any]] = graph.nodes.select(["position", "name", "role", "op_type", "backend"]).to_pylist()
    return [row for row in rows if row["role"] in ("op", "symint", "delegate") and row["op_type"] not in _NO_OPERATOR]


def _handles(graph: Graph, namespace: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in graph.tables["handles"].to_pylist():
        if row["namespace"] == namespace:
            found.setdefault(row["position"], []).append(row["handle"])
    return found


def _delegates(place: Place) -> bool:
    return any(place.stage.delegates.values())


def _table(rows: list[tuple[int, str | None, str | None]]) -> pa.Table:
    count = len(rows)
    columns: dict[str, Any] = {name: [None] * count for name in ROWS.names}
    columns["ordinal"] = [ordinal for ordinal, _, _ in rows]
    columns["metric"] = ["backend"] * count
    columns["text"] = [owner for _, owner, _ in rows]
    columns["status"] = ["not_measured" if owner is None else "ok" for _, owner, _ in rows]
    columns["reason"] = [reason for _, _, reason in rows]
    return pa.table(columns, schema=ROWS)
