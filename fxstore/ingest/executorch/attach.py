"""Attaches the events of one execution to the nodes of the emitted graph, by instruction index.

What each instruction logs, seen on ExecuTorch 1.5.1: a portable kernel all its outputs, in the order of its returns,
several of one tensor list at once; a delegate call all its arguments, inputs first, then outputs. ``getitem`` and
``memory.view`` are not instructions: their values are those of the node that they read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fxstore.ingest.executorch.etdump import Array, Block, Event, Logged
from fxstore.records import Graph

Port = tuple[int, int]
"""Node position in the graph, output port."""

_LATENCY: Final = {
    "kernel": "latency",
    "delegate_call": "latency",
    "operator": "latency_dispatch",
    "delegate_inner": "latency_inner",
    "control": "latency_control",
    "other": "latency_other",
    "framework": "latency_framework",
}
_NOT_EXECUTED = "not executed"
_FLOW = "no tensor data (control flow)"


@dataclass(frozen=True)
class Latency:
    """One timed event.

    Attributes:
        position: The node that it belongs to; None for what belongs to the run.
        metric: ``latency`` for the node's own time, one per execution of the node. All others are parts of it or
            contain it, and must not be added to it: ``latency_inner`` (inside a delegate), ``latency_dispatch`` (a
            kernel with its dispatch), ``latency_control``, ``latency_framework`` (loading, whole executions),
            ``latency_other``.
        name: The event's name.
    """

    position: int | None
    metric: str
    duration_ns: int
    name: str | None


@dataclass
class Attached:
    """The events of one execution on the nodes of one graph.

    Attributes:
        values: Tensors by (position, port), as views into the debug buffer.
        missing: Reasons by (position, port) for what an instruction gives but has no tensor for.
        latency: Every timed event: first the run's own, then those of each instruction, in order.
        unmatched: Events that name an instruction which is no node of this graph: those of nested graphs, and those
            that the emitter adds.
        outputs: The method's outputs, in order.
        passed: What delegates were passed, in order, by position of the call; those that were called once.
        inner: What delegates logged of their own inside, in order, by instruction.
    """

    values: dict[Port, Array] = field(default_factory=dict)
    missing: dict[Port, str] = field(default_factory=dict)
    latency: list[Latency] = field(default_factory=list)
    unmatched: list[Event] = field(default_factory=list)
    outputs: list[Logged] = field(default_factory=list)
    passed: dict[int, list[Logged]] = field(default_factory=dict)
    inner: dict[int, list[Event]] = field(default_factory=dict)


@dataclass
class _Step:
    """One execution of one instruction."""

    instruction: int
    logged: list[Logged] = field(default_factory=list)
    timed: list[Event] = field(default_factory=list)

    @property
    def is_delegate(self) -> bool:
        return any(event.kind == "delegate_call" for event in self.timed)


@dataclass(frozen=True)
class EmittedGraph:
    """What attaching needs to know of a graph.

    Attributes:
        nodes: Position of the node of each instruction.
        ports: Number of outputs of each of those nodes.
        aliases: For nodes that only pass on a value: position to the (position, port) that holds it, in program order.
        shapes: Shape that a view gives to the value; None where it is dynamic.
        reasons: Reasons of ports that no instruction gives.
    """

    nodes: dict[int, int]
    ports: dict[int, int]
    aliases: dict[int, Port]
    shapes: dict[int, tuple[int, ...] | None]
    reasons: dict[Port, str] = field(default_factory=dict)


def emitted_graph(graph: Graph) -> EmittedGraph:
    """Returns what attaching needs from the captured top graph of a program after ``to_executorch()``.

    Only handles in the namespace ``instruction`` count. Handles in a nested graph restart at 0 and are none, and a node
    of control flow becomes several instructions: the handle that it has is of another namespace.
    """
    nodes = graph.nodes.select(["position", "op_type", "role", "ports", "shape", "dtype"]).to_pylist()
    uses: dict[int, list[tuple[int, int, str]]] = {}
    for row in graph.edges.to_pylist():
        uses.setdefault(row["dst"], []).append((row["src"], row["src_port"], row["dst_arg"]))
    flow = _control_flow(nodes, uses)
    instructions = {
        row["handle"]: row["position"]
        for row in graph.tables["handles"].to_pylist()
        if row["namespace"] == "instruction" and not graph.path and row["position"] not in flow
    }
    emitted = set(instructions.values())
    owners = _owners(uses, emitted, {row["position"] for row in nodes if row["op_type"] == "alloc"})
    aliases: dict[int, Port] = {}
    shapes: dict[int, tuple[int, ...] | None] = {}
    for row in nodes:
        position = row["position"]
        if position in emitted or row["op_type"] not in ("getitem", "view") or not uses.get(position):
            continue
        source, port, _ = uses[position][0]
        owner, first = owners.get(source, (source, 0))
        aliases[position] = (owner, first + port)
        if row["op_type"] == "view":
            shape = row["shape"]
            static = shape is not None and all(size.isdigit() for size in shape)
            shapes[position] = tuple(int(size) for size in shape) if static else None
    ports = {row["position"]: _tensors(row) for row in nodes if row["position"] in emitted}
    reasons = {
        (row["position"], port): _FLOW for row in nodes if row["position"] in flow for port in range(row["ports"])
    }
    return EmittedGraph(instructions, ports, aliases, shapes, reasons)


def _control_flow(nodes: Sequence[dict[str, Any]], uses: dict[int, list[tuple[int, int, str]]]) -> set[int]:
    return {
        row["position"]
        for row in nodes
        if row["role"] not in ("delegate", "output")
        and any(nodes[src]["role"] == "subgraph" for src, _, _ in uses.get(row["position"], ()))
    }


def _tensors(row: dict[str, Any]) -> int:
    """Returns the number of a node's ports; 0 for a single one that is no tensor."""
    return 0 if row["ports"] == 1 and row["dtype"] is None else int(row["ports"])


def _owners(uses: dict[int, list[tuple[int, int, str]]], emitted: set[int], allocs: set[int]) -> dict[int, Port]:
    """Returns, for each buffer, the instruction that writes it and the port that it stands for."""
    owners: dict[int, Port] = {}
    for position in sorted(emitted):
        buffers = [src for src, _, arg in uses.get(position, ()) if src in allocs and not arg[:1].isdigit()]
        for port, buffer in enumerate(buffers):
            owners.setdefault(buffer, (position, port))
    return owners


def attach(block: Block, graph: EmittedGraph) -> Attached:
    """Returns values and times of one execution on a graph's nodes.

    An instruction that ran several times has no single value: it gets a reason instead.
    """
    result = Attached(missing=dict(graph.reasons))
    seen: dict[int, int] = {}
    for step in _steps(block.events, result):
        position = graph.nodes.get(step.instruction)
        if position is None:
            result.unmatched.extend(step.timed)
            if not step.timed:
                result.unmatched.append(Event("value", None, step.instruction, values=tuple(step.logged)))
            continue
        seen[position] = seen.get(position, 0) + 1
        result.latency.extend(_latency(step, position))
        _attach_values(step, position, graph.ports.get(position, 1), result)
    _mark(graph, seen, result)
    _pass_on(graph, result)
    return result


def _steps(events: Iterable[Event], result: Attached) -> list[_Step]:
    """Groups events by execution of an instruction: its values and inner events come before the one that closes it."""
    steps: list[_Step] = []
    running: dict[int, _Step] = {}
    for event in events:
        if event.kind == "output":
            result.outputs.extend(event.values)
        elif event.instruction is None:
            result.latency.append(Latency(None, _LATENCY[event.kind], event.duration_ns or 0, event.name))
        elif event.kind == "value" and event.delegate_id is not None:
            result.inner.setdefault(event.instruction, []).append(event)
        else:
            step = running.get(event.instruction)
            if step is None:
                step = running[event.instruction] = _Step(event.instruction)
                steps.append(step)
            step.logged.extend(event.values)
            if event.kind != "value":
                step.timed.append(event)
            if event.kind in ("operator", "delegate_call", "control"):
                del running[event.instruction]
    return steps


def _latency(step: _Step, position: int) -> Iterable[Latency]:
    """A kernel that reports no time of its own is timed with its dispatch; of nested kernels the outermost counts."""
    kernels = [event for event in step.timed if event.kind == "kernel"]
    own = max(kernels, key=lambda event: event.duration_ns or 0, default=None)
    for event in step.timed:
        metric = _LATENCY[event.kind]
        if event.kind == "kernel" and event is not own:
            metric = "latency_inner"
        elif event.kind == "operator" and own is None:
            metric = "latency"
        yield Latency(position, metric, event.duration_ns or 0, event.name)


def _attach_values(step: _Step, position: int, ports: int, result: Attached) -> None:
    outputs: Sequence[Logged] = step.logged
    if step.is_delegate:
        passed = len(step.logged) - ports
        outputs = step.logged[passed:] if passed >= 0 else ()
        result.passed[position] = step.logged[: max(passed, 0)]
    if not outputs:
        outputs = [Logged(None, "no tensor data (not logged)")] * ports
    for port, logged in enumerate(outputs[:ports]):
        if logged.array is not None:
            result.values[position, port] = logged.array
        else:
            result.missing[position, port] = logged.reason or "no tensor data"


def _mark(graph: EmittedGraph, seen: dict[int, int], result: Attached) -> None:
    for position, ports in graph.ports.items():
        times = seen.get(position, 0)
        if times == 1:
            continue
        result.passed.pop(position, None)
        reason = f"executed {times} times" if times else _NOT_EXECUTED
        for port in range(ports):
            result.values.pop((position, port), None)
            result.missing[position, port] = reason


def _pass_on(graph: EmittedGraph, result: Attached) -> None:
    for position, source in graph.aliases.items():
        array = result.values.get(source)
        if array is None:
            if source in result.missing:
                result.missing[position, 0] = result.missing[source]
            continue
        shape = graph.shapes.get(position, array.shape)
        if shape is None:
            result.missing[position, 0] = "no tensor data (a view of dynamic shape)"
        elif array.size != math.prod(shape):
            result.missing[position, 0] = f"shape {array.shape} does not view as {shape}".replace(", ", ",")
        else:
            result.values[position, 0] = array.reshape(shape)
