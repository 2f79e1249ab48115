"""Tells which backend owns each operator of a run whose program has delegates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from fxstore.ingest.handles import INSTRUCTION
from fxstore.ingest.overlays import ROWS, Laid, Place, RunNodes
from fxstore.records import Graph, Overlay

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
