"""Tells which method of which stages each execution in an ETDump is of, and on which nodes its events can lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import pyarrow as pa

from fxstore.errors import UsageError, nearest
from fxstore.ingest.executorch.attach import Attached, EmittedGraph, Latency, attach, emitted_graph
from fxstore.ingest.executorch.etdump import Array, Block, Dump, Event
from fxstore.ingest.executorch.handle_values import Laid, same
from fxstore.ingest.executorch.handles import INSTRUCTION
from fxstore.ingest.executorch.inner_events import Inside
from fxstore.ingest.executorch.runtime_values import Delegate, Dumping, called_delegates, passed_inputs, port_values
from fxstore.ingest.measure.comparison import named
from fxstore.ingest.overlays import ROWS, Place, RunNodes

# Rows of the times that an ETDump holds.


class EventRows:
    """Collects rows."""

    def __init__(self) -> None:
        self._rows: list[tuple[int | None, str, float, str | None, str | None, int | None]] = []

    def add(
        self, ordinal: int | None, metric: str, event: Latency | Event, reason: str | None, sample: int | None
    ) -> None:
        """Adds one timed event."""
        self._rows.append((ordinal, metric, float(event.duration_ns or 0), event.name, reason, sample))

    def framework(self, events: Iterable[Event], sample: int | None) -> None:
        """Adds the runtime's own events, on the run."""
        for event in events:
            if event.kind == "framework":
                self.add(None, "latency_framework", event, None, sample)

    def lost(self, events: Iterable[Event], reason: str, sample: int | None = None) -> int:
        """Adds timed events that lie on no node; returns how many."""
        timed = [event for event in events if event.duration_ns is not None]
        for event in timed:
            framework = event.kind == "framework"
            metric = "latency_framework" if framework else "latency_unplaced"
            self.add(None, metric, event, None if framework else reason, sample)
        return sum(event.kind != "framework" for event in timed)

    def table(self) -> pa.Table:
        """Returns the rows; schema :data:`fxstore.ingest.overlays.ROWS`."""
        count = len(self._rows)
        columns: dict[str, Any] = {name: [None] * count for name in ROWS.names}
        columns["status"] = ["ok"] * count
        for key, cells in zip(
            ("ordinal", "metric", "value", "text", "reason", "sample"), zip(*self._rows, strict=True), strict=False
        ):
            columns[key] = list(cells)
        return pa.table(columns, schema=ROWS)


_KERNEL: Final = "native_call_"
_DISPATCH: Final = "OPERATOR_CALL"
_PRIMITIVE: Final = "executorch_prim::"
"""Arithmetic of sizes, and views: what it computes has another name in the graph."""
_WHOLE: Final = "Method::execute"
_SHARED: Final = "latency_shared"
_SHARED_VALUE: Final = "its handle does not tell which of its nodes' values was logged"
_UNTOLD: Final = "a delegate's outputs: only the emitted program tells which node each one is"

Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""


@dataclass(frozen=True)
class Execution:
    """One execution.

    Attributes:
        number: Which of the dump's executions it is.
        sample: Which execution of its method it is.
        methods: The method that ran, once per stage; empty where it is none of the run's.
        reason: Why it is none, or None.
    """

    block: Block
    number: int
    sample: int | None = None
    methods: tuple[Method, ...] = ()
    reason: str | None = None


def executions(dump: Dump, methods: Sequence[Method]) -> Iterator[Execution]:
    """Yields every execution of a dump, in order.

    Raises:
        UsageError: Two programs fit it.
    """
    samples: Counter[str] = Counter()
    for number, block in enumerate(dump.executions):
        fitting = _fitting(block, methods)
        names = list(dict.fromkeys(method.name for method in fitting))
        _raise_if_several(fitting)
        if len(names) == 1:
            yield Execution(block, number, samples[names[0]], tuple(fitting))
            samples[names[0]] += 1
        else:
            reason = f"could be an execution of {' or '.join(names)}" if names else "fits no method of this run"
            yield Execution(block, number, reason=reason)


def _raise_if_several(fitting: Sequence[Method]) -> None:
    """Raises where one execution could be of several programs: one dump is of one, and its ids are valid there only."""
    for kind in (Emitted, Edge):
        stages = list(dict.fromkeys(method.stage for method in fitting if isinstance(method, kind)))
        if len(stages) > 1:
            raise UsageError(
                f"the dump fits the stages {' and '.join(stages)}", hint=f"say which one ran: stage={stages[0]!r}"
            )


@dataclass
class Method:
    """One method of one stage, as events see it.

    Attributes:
        place: Its outermost graph.
        graphs: That one, and those of what it calls.
        kinds: Operator types of the nodes of each instruction, and whether they are delegate calls.
    """

    place: Place
    graphs: list[Place]
    kinds: dict[int, set[tuple[str, bool]]]
    most_wrong: ClassVar[float] = 0.0
    """How many events may name another operator than the node that they are of, for each that names its own."""

    @property
    def name(self) -> str:
        """The method's name."""
        return self.place.graph.method

    @property
    def stage(self) -> str:
        """The stage's name."""
        return self.place.stage.name

    def fits(self, block: Block) -> int | None:
        """Returns how many events of a block name the operators of these nodes; None where it is another program's.

        Instructions count from 0 in every program: only operators tell one from another.
        """
        fits, wrong, unknown = 0, 0, 0
        for event in block.events:
            if event.kind in ("kernel", "delegate_call") and event.instruction is not None:
                nodes = self.kinds.get(event.instruction)
                if nodes is None:
                    unknown += 1
                elif self._fits(event, nodes):
                    fits += 1
                elif _PRIMITIVE not in (event.name or ""):
                    wrong += 1
        if wrong > self.most_wrong * fits or not self._ran_through(block):
            return None
        told = self._told_inside(block)
        return None if told is None or fits + told < unknown or (unknown and fits + told == unknown) else fits + told

    def _told_inside(self, block: Block) -> int | None:
        """Returns how many of the events inside delegates are known operators of these; None where they are others."""
        return 0

    def _ran_through(self, block: Block) -> bool:
        """Tells whether an execution did what these instructions do, as far as that is known."""
        return True

    def _fits(self, event: Event, nodes: set[tuple[str, bool]]) -> bool:
        if event.kind == "delegate_call":
            return any(delegated for _, delegated in nodes)
        return any(_operator(event.name) == kind for kind, _ in nodes)

    def lay(self, block: Block, sample: int | None, rows: EventRows, first: bool) -> int:
        """Adds a block's events; those of the run itself only for the first stage. Returns how many lie on no node."""
        raise NotImplementedError

    def values(self, block: Block) -> Laid:
        """Returns the values that an execution logged, and the reasons of those that it did not."""
        raise NotImplementedError


@dataclass
class Emitted(Method):
    """A method whose nodes are the instructions."""

    graph: EmittedGraph = field(kw_only=True)
    inside: Inside = field(kw_only=True)
    delegates: list[Delegate] = field(kw_only=True)
    dumping: Dumping = field(kw_only=True)

    def _told_inside(self, block: Block) -> int | None:
        return self.inside.told(
            (position, event.name or "")
            for event in block.events
            if event.kind == "delegate_inner" and (position := self.graph.nodes.get(event.instruction or 0)) is not None
        )

    def _ran_through(self, block: Block) -> bool:
        """Without control flow, every instruction runs."""
        if self.graph.reasons or not any(event.name == _WHOLE for event in block.events):
            return True
        return self.kinds.keys() <= {event.instruction for event in block.events}

    def lay(self, block: Block, sample: int | None, rows: EventRows, first: bool) -> int:
        """As :meth:`Method.lay`; what several nodes share is on each of them, as ``latency_shared``."""
        attached = attach(block, self.graph)
        base = self.place.base
        for event in self.inside.placed(attached.latency):
            if event.ordinal is None and event.position is None and not first:
                continue
            ordinal = event.ordinal if event.position is None else base + event.position
            rows.add(ordinal, event.metric, event.event, event.reason, sample)
        return rows.lost(attached.unmatched, f"no node of {self.stage} is its instruction", sample)

    def attached(self, block: Block) -> Attached:
        """Returns the events of an execution on the nodes."""
        return attach(block, self.graph)

    def values(self, block: Block) -> Laid:
        """As :meth:`Method.values`, by the instructions' own nodes, and inside delegates of their ports and their own.

        What a delegate returned is what the program went on with: it counts before what the delegate logged of it.
        """
        attached = self.attached(block)
        values, missing = named(self.place.graph, attached)
        values |= passed_inputs(self.place.graph, attached, self.delegates)
        values |= port_values(attached, self.delegates)
        return _with(self.dumping.lay(attached.inner), values, missing)


@dataclass
class Edge(Method):
    """A method before it was emitted: the instructions are known through the record's maps."""

    nodes: dict[int, list[int]] = field(kw_only=True)
    delegated: dict[int, str] = field(kw_only=True)
    types: list[str] = field(kw_only=True)
    ports: list[int] = field(kw_only=True)
    dumping: Dumping = field(kw_only=True)
    most_wrong: ClassVar[float] = 0.1
    """Passes after this stage replace some operators."""
    _ran: dict[int, list[int]] = field(default_factory=dict, kw_only=True)

    def lay(self, block: Block, sample: int | None, rows: EventRows, first: bool) -> int:
        """As :meth:`Method.lay`; what several nodes share is on each of them, as ``latency_shared``."""
        attached = attach(block, EmittedGraph({i: i for i in self.nodes}, {}, {}, {}))
        base = self.place.base
        for event in attached.latency:
            if event.position is None:
                if first:
                    rows.add(None, event.metric, event, None, sample)
                continue
            nodes = self._named(event)
            if event.metric == "latency_inner" or (event.metric != "latency" and len(nodes) > 1):
                rows.add(None, event.metric, event, f"part of {INSTRUCTION} {event.position} of {self.name}", sample)
            elif len(nodes) == 1 and event.position not in self.delegated:
                rows.add(base + nodes[0], event.metric, event, None, sample)
            else:
                what = self.delegated.get(event.position, "its handles")
                reason = f"the time of one {INSTRUCTION} for all {len(nodes)} nodes of {what}"
                for node in nodes:
                    rows.add(base + node, _SHARED, event, reason, sample)
        return rows.lost(attached.unmatched, f"no node of {self.stage} has its handle", sample)

    def values(self, block: Block) -> Laid:
        """Only a kernel whose operator is one node's tells whose value it logged; a delegate by its identifiers."""
        ran = {
            event.instruction: event.name
            for event in block.events
            if event.kind == "kernel" and event.instruction is not None
        }
        owner: dict[int, int] = {}
        for i, nodes in self.nodes.items():
            of = [node for node in nodes if self.types[node] == _operator(ran.get(i))]
            if i not in self.delegated and len(of) == 1:
                owner[i] = of[0]
        ports = {i: self.ports[node] for i, node in owner.items()}
        attached = attach(block, EmittedGraph({i: i for i in owner}, ports, {}, {}))
        names, path = self.place.graph.nodes["name"].to_pylist(), self.place.graph.path
        values = {(path, names[owner[i]], port): array for (i, port), array in attached.values.items()}
        missing = {(path, names[owner[i]], port): reason for (i, port), reason in attached.missing.items()}
        for i, nodes in self.nodes.items():
            missing |= {(path, names[n], 0): _UNTOLD if i in self.delegated else _SHARED_VALUE for n in nodes
                        if i not in owner}  # fmt: skip
        return _with(self.dumping.lay(attached.inner), values, missing)

    def _named(self, event: Latency) -> list[int]:
        """Returns the nodes of an event's instruction: of several, those whose operator is the kernel that ran."""
        assert event.position is not None
        nodes = self.nodes[event.position]
        if event.name == _DISPATCH:
            return self._ran.get(event.position, nodes)
        named = [node for node in nodes if self.types[node] == _operator(event.name)]
        self._ran[event.position] = named or nodes
        return named or nodes


def _fitting(block: Block, methods: Sequence[Method]) -> list[Method]:
    """Returns the method that ran, once per stage, each stage by itself: the one whose operators the events name."""
    scored = [(method, score) for method in methods if (score := method.fits(block)) is not None]
    best = max((score for _, score in scored), default=0)
    if not best:
        return [method for method, _ in scored] if len({method.name for method in methods}) == 1 else []
    names = {method.name for method, score in scored if score == best}
    return [method for method, score in scored if method.name in names and score]


def _operator(event: str | None) -> str:
    """Returns the operator that a kernel's event names: ``native_call_add.out`` reads ``add``."""
    return (event or "").removeprefix(_KERNEL).partition(".")[0].rpartition("::")[2]


def methods_of(run: RunNodes, stages: Sequence[str] | None = None, method: str | None = None) -> list[Method]:
    """Returns the methods on whose nodes events can lie: emitted ones first.

    Args:
        stages: Only of these; None: of all.
        method: Only of that name; None: all.

    Raises:
        UsageError: There is no such stage.
    """
    known = [stage.name for stage in run.stages]
    for stage in stages or ():
        if stage not in known:
            hint = nearest(stage, known) or f"stages: {', '.join(known)}"
            raise UsageError(f"stage {stage!r} is not in this run", hint=hint)
    found: list[Method] = []
    for place in run.places:
        if place.graph.path or method not in (None, place.graph.method):
            continue
        if stages is not None and place.stage.name not in stages:
            continue
        if instructions := _instructions(place):
            found.append(_method(place, run, instructions))
    return sorted(found, key=lambda method: isinstance(method, Edge))


def _method(place: Place, run: RunNodes, instructions: dict[int, list[int]]) -> Method:
    rows = place.graph.nodes.select(["op_type", "role", "ports"]).to_pylist()
    delegates = place.stage.delegates.get(place.graph.method, {})
    graphs = [one for one in run.places if one.stage is place.stage and one.graph.method == place.graph.method]
    kinds = {
        i: {(rows[p]["op_type"], rows[p]["role"] == "delegate" or i in delegates) for p in positions}
        for i, positions in instructions.items()
    }
    if place.stage.kind == "runtime":
        graph, called = emitted_graph(place.graph), called_delegates(place, run)
        calls = {position: i for i, position in graph.nodes.items()}
        insides = {calls[one.call]: (one.graph, None) for one in called if one.call in calls}
        dumping = Dumping(insides, delegates)
        inside = Inside(place, run)
        return Emitted(place, graphs, kinds, graph=graph, inside=inside, delegates=called, dumping=dumping)
    flat = {i: (place.graph, set(instructions[i])) for i in delegates if i in instructions}
    return Edge(
        place,
        graphs,
        kinds,
        nodes={i: [p for p in at if _counts(rows[p])] or at for i, at in instructions.items()},
        delegated={i: delegate.backend for i, delegate in delegates.items()},
        types=[row["op_type"] for row in rows],
        ports=[row["ports"] for row in rows],
        dumping=Dumping(flat, delegates),
    )


def _with(inner: Laid, values: Mapping[Key, Array], missing: Mapping[Key, str]) -> Laid:
    """Returns what delegates logged themselves with what else was logged, which goes first."""
    for key, array in values.items():
        if key in inner.values and not same(array, inner.values[key]):
            inner.notes[key] = "the delegate logged another value of it than it returned"
        else:
            inner.notes.pop(key, None)
        inner.missing.pop(key, None)
    inner.values.update(values)
    inner.missing = {**{key: reason for key, reason in missing.items() if key not in inner.values}, **inner.missing}
    return inner


def _counts(row: dict[str, Any]) -> bool:
    return row["role"] in ("op", "symint", "delegate") and row["op_type"] != "getitem"


def _instructions(place: Place) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in place.graph.tables["handles"].to_pylist():
        if row["namespace"] == INSTRUCTION:
            found.setdefault(row["handle"], []).append(row["position"])
    return found
