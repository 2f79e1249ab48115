"""Lays the events of an ETDump on the nodes of a run: each where it belongs, and none of them twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from fxstore.ingest.attach import EmittedGraph, Latency, attach, emitted_graph
from fxstore.ingest.etdump import Block, Dump, Event
from fxstore.ingest.handles import INSTRUCTION
from fxstore.ingest.inner import Inside
from fxstore.ingest.overlays import ROWS, Laid, Place, RunNodes
from fxstore.records import Overlay

_KERNEL: Final = "native_call_"
_DISPATCH: Final = "OPERATOR_CALL"
_SHARED: Final = "latency_shared"


@dataclass(frozen=True)
class EventLayer:
    """The times in an ETDump, as an overlay: one row per event, ``sample`` the execution, ``text`` the event's name.

    ``latency`` is a node's own time, one row per execution of the node; these alone may be added. Every other metric is
    a part of it, contains it, or is it once more: ``latency_inner`` the operators of a delegate, ``latency_shared`` one
    instruction on each of the several nodes of an edge graph that it stands for, ``latency_dispatch``,
    ``latency_control``, ``latency_framework`` (of the run, no node's), ``latency_other``.
    """

    dump: Dump
    source: str = "ETDump"
    name: str = "latency"

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlay; what fits no method or no node is on the run itself, with the reason."""
        methods = _methods(run)
        sheet = _Sheet()
        notes = list(self._lay(methods, sheet))
        table = sheet.table()
        yield Laid(Overlay(self.name, "latency", self.source, table, "ns", "lower"), tuple(notes))

    def _lay(self, methods: list[_Method], sheet: _Sheet) -> Iterator[str]:
        executions: Counter[str] = Counter()
        for number, block in enumerate(self.dump.blocks):
            if not block.is_execution:
                sheet.framework(block.events, None)
                continue
            fitting = _fitting(block, methods)
            if not fitting:
                sheet.lost(block.events, "fits no method of this run")
                yield f"latency: execution {number} of the dump fits no method of this run"
                continue
            if len(names := dict.fromkeys(method.name for method in fitting)) > 1:
                sheet.lost(block.events, f"could be an execution of {' or '.join(names)}")
                yield f"latency: execution {number} of the dump could be of {' or '.join(names)}"
                continue
            sample = executions[fitting[0].name]
            executions[fitting[0].name] += 1
            lost = {method.stage: method.lay(block, sample, sheet, first=i == 0) for i, method in enumerate(fitting)}
            yield from (
                f"latency: {count} events lie on no node of stage {stage}" for stage, count in lost.items() if count
            )


class _Sheet:
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


@dataclass
class _Method:
    """One method of one stage, as events see it."""

    name: str
    stage: str
    kinds: dict[int, set[tuple[str, bool]]]
    """Operator types of the nodes of each instruction, and whether they are delegate calls."""

    def score(self, block: Block) -> tuple[int, int]:
        """Returns how many of the events of a block fit these nodes, and how many do not."""
        fits, wrong = self._told_inside(block), 0
        for event in block.events:
            if event.kind in ("kernel", "delegate_call") and event.instruction is not None:
                if self._fits(event, self.kinds.get(event.instruction, set())):
                    fits += 1
                else:
                    wrong += 1
        return fits, wrong

    def _told_inside(self, block: Block) -> int:
        """Returns how many of the events inside delegates are known operators of these."""
        return 0

    def _fits(self, event: Event, nodes: set[tuple[str, bool]]) -> bool:
        if event.kind == "delegate_call":
            return any(delegated for _, delegated in nodes)
        return any(_operator(event.name) == kind for kind, _ in nodes)

    def lay(self, block: Block, sample: int, sheet: _Sheet, first: bool) -> int:
        """Adds a block's events; those of the run itself only for the first stage. Returns how many lie on no node."""
        raise NotImplementedError


@dataclass
class _Emitted(_Method):
    """A method whose nodes are the instructions."""

    place: Place = field(kw_only=True)
    graph: EmittedGraph = field(kw_only=True)
    inside: Inside = field(kw_only=True)

    def _told_inside(self, block: Block) -> int:
        return self.inside.told(
            (position, event.name or "")
            for event in block.events
            if event.kind == "delegate_inner" and (position := self.graph.nodes.get(event.instruction or 0)) is not None
        )

    def lay(self, block: Block, sample: int, sheet: _Sheet, first: bool) -> int:
        attached = attach(block, self.graph)
        base = self.place.base
        for event in self.inside.placed(attached.latency):
            if event.ordinal is None and event.position is None and not first:
                continue
            ordinal = event.ordinal if event.position is None else base + event.position
            sheet.add(ordinal, event.metric, event.event, event.reason, sample)
        return sheet.lost(attached.unmatched, f"no node of {self.stage} is its instruction", sample)


@dataclass
class _Edge(_Method):
    """A method before it was emitted: the instructions are known through the record's maps."""

    base: int = field(kw_only=True)
    nodes: dict[int, list[int]] = field(kw_only=True)
    delegated: dict[int, str] = field(kw_only=True)
    types: list[str] = field(kw_only=True)
    _ran: dict[int, list[int]] = field(default_factory=dict, kw_only=True)

    def lay(self, block: Block, sample: int, sheet: _Sheet, first: bool) -> int:
        everything = EmittedGraph({i: i for i in self.nodes}, {}, {}, {})
        attached = attach(block, everything)
        for event in attached.latency:
            if event.position is None:
                if first:
                    sheet.add(None, event.metric, event, None, sample)
                continue
            nodes = self._named(event)
            if event.metric == "latency_inner" or (event.metric != "latency" and len(nodes) > 1):
                sheet.add(None, event.metric, event, f"part of {INSTRUCTION} {event.position} of {self.name}", sample)
            elif len(nodes) == 1 and event.position not in self.delegated:
                sheet.add(self.base + nodes[0], event.metric, event, None, sample)
            else:
                what = self.delegated.get(event.position, "its handles")
                reason = f"the time of one {INSTRUCTION} for all {len(nodes)} nodes of {what}"
                for node in nodes:
                    sheet.add(self.base + node, _SHARED, event, reason, sample)
        return sheet.lost(attached.unmatched, f"no node of {self.stage} has its handle", sample)

    def _named(self, event: Latency) -> list[int]:
        """Returns the nodes of an event's instruction: of several, those whose operator is the kernel that ran."""
        assert event.position is not None
        nodes = self.nodes[event.position]
        if event.name == _DISPATCH:
            return self._ran.get(event.position, nodes)
        named = [node for node in nodes if self.types[node] == _operator(event.name)]
        self._ran[event.position] = named or nodes
        return named or nodes


def _fitting(block: Block, methods: Sequence[_Method]) -> list[_Method]:
    """Returns the method that ran, once per stage: the one whose operators the events name; of equal ones all."""
    scored = [(method, *method.score(block)) for method in methods]
    best: dict[str, int] = {}
    for method, fits, wrong in scored:
        if fits > wrong or (fits == wrong == 0 and len({one.name for one in methods}) == 1):
            best[method.name] = max(best.get(method.name, 0), fits - wrong)
    names = [name for name, score in best.items() if score == max(best.values())]
    return [method for method, fits, wrong in scored if method.name in names and fits >= wrong]


def _operator(event: str | None) -> str:
    """Returns the operator that a kernel's event names: ``native_call_add.out`` reads ``add``."""
    return (event or "").removeprefix(_KERNEL).partition(".")[0].rpartition("::")[2]


def _methods(run: RunNodes) -> list[_Method]:
    """Returns the methods on whose nodes events can lie: emitted ones first."""
    found: list[_Method] = []
    for place in run.places:
        if place.graph.path:
            continue
        instructions = _instructions(place)
        if not instructions:
            continue
        rows = place.graph.nodes.select(["op_type", "role"]).to_pylist()
        delegates = place.stage.delegates.get(place.graph.method, {})
        kinds = {
            i: {(rows[p]["op_type"], rows[p]["role"] == "delegate" or i in delegates) for p in positions}
            for i, positions in instructions.items()
        }
        own = (place.graph.method, place.stage.name, kinds)
        if place.stage.kind == "runtime":
            inside = Inside(place, run)
            found.append(_Emitted(*own, place=place, graph=emitted_graph(place.graph), inside=inside))
        else:
            operators = {i: [p for p in at if _counts(rows[p])] or at for i, at in instructions.items()}
            named = {i: delegate.backend for i, delegate in delegates.items()}
            types = [row["op_type"] for row in rows]
            found.append(_Edge(*own, base=place.base, nodes=operators, delegated=named, types=types))
    return sorted(found, key=lambda method: isinstance(method, _Edge))


def _counts(row: dict[str, Any]) -> bool:
    return row["role"] in ("op", "symint", "delegate") and row["op_type"] != "getitem"


def _instructions(place: Place) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in place.graph.tables["handles"].to_pylist():
        if row["namespace"] == INSTRUCTION:
            found.setdefault(row["handle"], []).append(row["position"])
    return found
