"""Statistics of the values that a runtime logged: what can be told of them when nothing can be run to compare them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fxstore.ingest.executorch.attach import Attached
from fxstore.ingest.executorch.etdump import Array, Event, Logged
from fxstore.ingest.executorch.handle_values import HandleNodes, Laid, Offered
from fxstore.ingest.executorch.handle_values import Place as NodePlace
from fxstore.ingest.measure.comparison import Described
from fxstore.ingest.measure.qparams import constant_params
from fxstore.ingest.overlays import ROWS, Place, RunNodes, rows_of
from fxstore.records import Delegate as MappedDelegate
from fxstore.records import Graph

if TYPE_CHECKING:
    from fxstore.ingest.executorch.executions import Execution
    from fxstore.ingest.executorch.handle_values import Laid

_MOST_ELEMENTS: Final = 1 << 25
_LONGEST_LIST: Final = 5


def runtime_statistics(placed: Sequence[Execution]) -> tuple[pa.Table, str | None]:
    """Returns statistics of each logged value, one sample per execution; a value that is not there has its reason.

    A value that lies on no node of any stage is on the run itself, as ``value_unplaced``.

    Returns:
        Rows as :data:`fxstore.ingest.overlays.ROWS`, and a line on what lies on no node, if anything does.
    """
    tables = [ROWS.empty_table()]
    lost: dict[str, str] = {}
    for one in placed:
        nowhere: dict[str, str] | None = None
        for method in one.methods:
            laid = method.values(one.block)
            tables.append(statistics_of(laid, method.graphs, one.sample or 0))
            told = laid.unplaced if nowhere is None else nowhere
            nowhere = {name: why for name, why in told.items() if name in laid.unplaced}
        tables.append(unplaced_rows(nowhere or {}, one.sample))
        lost |= nowhere or {}
    return pa.concat_tables(tables), unplaced_line(lost)


def statistics_of(laid: Laid, graphs: Iterable[Place], sample: int) -> pa.Table:
    """Returns statistics of what was laid on the nodes of some graphs, and the reasons of what was not."""
    described = Described(_Nodes(graphs), sample)
    for key, array in laid.values.items():
        if array.size > _MOST_ELEMENTS:
            described.lack(key, f"more than {_MOST_ELEMENTS:,} elements: not described")
        else:
            described.take(key, array)
    for key, reason in laid.missing.items():
        described.lack(key, reason)
    return described.rows()


def unplaced_line(unplaced: Mapping[str, str]) -> str | None:
    """Returns a line that counts values which lie on no node, with their reasons; None where there are none."""
    if not unplaced:
        return None
    told = [f"{name}: {why}" for name, why in unplaced.items()]
    more = f"; and {len(told) - _LONGEST_LIST} more" if len(told) > _LONGEST_LIST else ""
    return f"{len(told)} values lie on no node: {'; '.join(told[:_LONGEST_LIST])}{more}"


def unplaced_rows(reasons: Mapping[str, str], sample: int | None) -> pa.Table:
    """Returns a row for each value that lies on no node."""
    columns = {"metric": "value_unplaced", "status": "not_measured", "sample": sample}
    return rows_of(len(reasons), {**columns, "text": [*reasons], "reason": [*reasons.values()]})


class _Nodes:
    """The nodes of some graphs by ordinal."""

    def __init__(self, graphs: Iterable[Place]) -> None:
        self.key: dict[int, tuple[str, str]] = {}
        self.role: dict[int, str] = {}
        for place in graphs:
            names, roles = (place.graph.nodes[column].to_pylist() for column in ("name", "role"))
            self.key |= {place.base + i: (place.graph.path, name) for i, name in enumerate(names)}
            self.role |= dict(enumerate(roles, place.base))


# Values inside delegates that a dump tells: those of their ports, what codes mean, and what a backend logs itself.


_NO_DATA: Final = "no tensor data"
# Vulkan's builder numbers the nodes that its passes leave: its map has these numbers where handles should be.
_OWN_NUMBERS: Final = frozenset({"VulkanBackend"})

Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""


@dataclass(frozen=True)
class Delegate:
    """A delegate as its caller sees it.

    Attributes:
        graph: What is inside.
        call: Position of the call in the top graph.
        inputs: Names of the nodes that stand for what it is passed, in order.
        outputs: Node and port of each thing that it returns, in order.
    """

    graph: Graph
    call: int
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, int], ...]

    def passed(self, attached: Attached) -> list[Logged] | None:
        """Returns what an execution passed to it, in order, or None where the log does not tell."""
        logged = attached.passed.get(self.call, [])
        return logged if len(logged) == len(self.inputs) else None

    def key(self, name: str, port: int = 0) -> Key:
        """Returns the key of a value inside."""
        return self.graph.path, name, port


def called_delegates(place: Place, run: RunNodes) -> list[Delegate]:
    """Returns the delegates that a top graph calls."""
    return [
        _delegate(inner.graph, inner.graph.parent_position)
        for inner in run.places
        if inner.stage is place.stage and inner.graph.method == place.graph.method
        if inner.graph.parent_path == "" and inner.graph.parent_position is not None
        if place.graph.nodes["role"][inner.graph.parent_position].as_py() == "delegate"
    ]


def _delegate(graph: Graph, call: int) -> Delegate:
    rows = graph.nodes.select(["name", "role", "op"]).to_pylist()
    returned = sorted(
        (edge["position"], rows[edge["src"]]["name"], edge["src_port"])
        for edge in graph.edges.to_pylist()
        if rows[edge["dst"]]["op"] == "output"
    )
    inputs = tuple(row["name"] for row in rows if row["role"] == "input")
    return Delegate(graph, call, inputs, tuple((name, port) for _, name, port in returned))


def port_values(attached: Attached, found: Sequence[Delegate]) -> dict[Key, Array]:
    """Returns the values inside delegates that are those of their ports, and of the codes among these what they mean.

    An input is what its caller passed, an output what it returned: nothing was added to the program for them.
    """
    values: dict[Key, Array] = {}
    for delegate in found:
        own: dict[Key, Array] = {}
        for name, logged in zip(delegate.inputs, delegate.passed(attached) or (), strict=False):
            if logged.array is not None:
                own[delegate.key(name)] = logged.array
        for port, inner in enumerate(delegate.outputs):
            if (array := attached.values.get((delegate.call, port))) is not None:
                own[delegate.key(*inner)] = array
        values |= own | dequantised(delegate.graph, own)
    return values


def passed_inputs(top: Graph, attached: Attached, found: Sequence[Delegate]) -> dict[Key, Array]:
    """Returns the inputs of a program that it passes to a delegate as they are: what it was really given."""
    names, roles = (top.nodes[column].to_pylist() for column in ("name", "role"))
    values: dict[Key, Array] = {}
    for delegate in found:
        uses = [edge for edge in top.edges.to_pylist() if edge["dst"] == delegate.call and edge["dst_arg"] != "0"]
        for edge, logged in zip(uses, delegate.passed(attached) or (), strict=False):
            if roles[edge["src"]] == "input" and logged.array is not None:
                values[top.path, names[edge["src"]], 0] = logged.array
    return values


def dequantised(graph: Graph, values: Mapping[Key, Array]) -> dict[Key, Array]:
    """Returns what each dequantize in a graph gives whose codes are known: ``(code - zero_point) * scale``."""
    rows = graph.nodes.select(["name", "op_type", "attrs"]).to_pylist()
    found: dict[Key, Array] = {}
    read: dict[int, tuple[int, int]] = {}
    for edge in graph.edges.to_pylist():
        read.setdefault(edge["dst"], (edge["src"], edge["src_port"]))
    for position, row in enumerate(rows):
        if row["op_type"] != "dequantize_per_tensor" or position not in read:
            continue
        source, port = read[position]
        codes, params = values.get((graph.path, rows[source]["name"], port)), constant_params(row["attrs"])
        if codes is not None and params is not None and codes.dtype.kind in "iu":
            found[graph.path, row["name"], 0] = _real(codes, params.scale, params.zero_point)
    return found


def _real(codes: Array, scale: Any, zero_point: Any) -> Array:
    """In float32, as ``dequantize_per_tensor`` computes it."""
    return (codes.astype(np.int32) - np.int32(zero_point)).astype(np.float32) * np.float32(scale)


def called(event: Event) -> str:
    """Returns what a delegate calls a value of its inside, and whose it is."""
    what = "name" if isinstance(event.delegate_id, str) else "id"
    return f"{what} {event.delegate_id} of instruction {event.instruction}"


class Dumping:
    """Delegates that may log what is inside of them, each value with an identifier of the backend's.

    Args:
        nodes: What is inside, by the instruction that calls the delegate: graphs, with the positions that count.
        delegates: What the program's maps tell of each, by instruction: handles by the backend's identifiers.
    """

    def __init__(
        self, nodes: Mapping[int, tuple[Graph, Collection[int] | None]], delegates: Mapping[int, MappedDelegate]
    ) -> None:
        self._inside = nodes
        self._delegates = delegates
        self._nodes: dict[int, HandleNodes] = {}

    def lay(self, events: Mapping[int, Sequence[Event]]) -> Laid:
        """Returns where the values lie that delegates logged of their inside, by instruction."""
        laid = Laid()
        for instruction, logged in events.items():
            offered: dict[NodePlace, list[Offered]] = {}
            for event in logged:
                assert event.delegate_id is not None
                place = self._place(instruction, event.delegate_id)
                if isinstance(place, str):
                    laid.unplaced[called(event)] = place
                    continue
                arrays = [one.reason or _NO_DATA if one.array is None else one.array for one in event.values]
                offered.setdefault(place, []).append(Offered(called(event), arrays))
            if offered:
                found = self._nodes[instruction].lay(offered)
                for key, array in dequantised(self._inside[instruction][0], found.values).items():
                    if key not in found.values:
                        found.values[key], found.notes[key] = array, "read from codes that the delegate logged"
                laid.add(found)
        return laid

    def _place(self, instruction: int, identifier: int | str) -> NodePlace | str:
        """Returns the node of a backend's identifier, or why there is none.

        It is looked up in the map that the backend made; without one, a number is a debug handle, and a text a name.
        """
        if instruction not in self._inside:
            return "what is inside of its delegate is not known"
        if instruction not in self._nodes:
            self._nodes[instruction] = HandleNodes([self._inside[instruction]])
        nodes, delegate = self._nodes[instruction], self._delegates.get(instruction)
        ids = {} if delegate is None else delegate.handles
        same: list[int | str]
        same = [identifier, int(identifier)] if isinstance(identifier, str) and identifier.isdecimal() else [identifier]
        for one in same:
            if delegate is not None and one in ids:
                if delegate.backend in _OWN_NUMBERS:
                    return f"the map of {delegate.backend} numbers the nodes of its own graph"
                return nodes.by_handle(ids[one])
        if isinstance(identifier, str):
            return nodes.by_name(identifier)
        if any(isinstance(one, int) for one in ids):
            return "the delegate's map of handles does not have it"
        return nodes.by_handle([identifier])
