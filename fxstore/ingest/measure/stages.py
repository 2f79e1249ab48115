"""Runs stages in Python and compares them, value by value."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fxstore.errors import UsageError
from fxstore.ingest.measure.comparison import Comparison, Described, Pair
from fxstore.ingest.measure.pairing import Key, Nodes, value_pairs
from fxstore.ingest.measure.qparams import quantised_ports
from fxstore.ingest.measure.reference_cache import Held
from fxstore.ingest.measure.samples import Given, Sample
from fxstore.metrics import Asked
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    from fxstore.ingest.measure.interpreter import Give, Substitute

State = MutableMapping[str, Any]


@dataclass(frozen=True)
class Side:
    """One stage of a comparison: its name, its live source, and the buffers that it was recorded with."""

    stage: str
    source: Any
    written: Mapping[str, Any] = field(default_factory=dict)

    def graph(self, method: str) -> Any:
        """Returns the live graph of a method."""
        if hasattr(self.source, "to_executorch"):
            return self.source.exported_program(method)
        return self.source[method] if isinstance(self.source, Mapping) else self.source


@dataclass(frozen=True)
class Wanted:
    """What a measurement shall tell.

    Attributes:
        scopes: ``cumulative``, ``local``, or both.
        budget_bytes: Of the reference's values, what may stay in memory.
    """

    metrics: tuple[Asked, ...]
    scopes: tuple[str, ...]
    statistics: bool
    budget_bytes: int


@dataclass
class Found:
    """What a measurement has told.

    Attributes:
        accuracy: Rows by stage.
        statistics: Rows by stage, the reference's included.
        failed: Errors by stage; of the others there are rows all the same.
    """

    accuracy: dict[str, list[pa.Table]] = field(default_factory=dict)
    statistics: dict[str, list[pa.Table]] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)


class Compared:
    """What is compared of one stage, and with which parameters."""

    def __init__(self, structure: Structure, reference: str, stage: str, method: str) -> None:
        for name in (reference, stage):
            top_graph(structure, name, method)
        self.pairs: list[Pair[Key]] = value_pairs(structure, reference, stage, method)
        self._qparams = quantised_ports(graphs_of(structure, stage, method))
        self._reference_qparams = quantised_ports(graphs_of(structure, reference, method))

    def comparison(
        self, held: Held, missing: Mapping[Key, str], metrics: Sequence[Asked], scope: str, sample: int
    ) -> Comparison[Key]:
        """Returns the comparison that waits for the stage's values."""
        return Comparison(
            self.pairs,
            held,
            metrics,
            reference_missing=missing,
            qparams=self._qparams,
            reference_qparams=self._reference_qparams,
            scope=scope,
            sample=sample,
        )


class Reference:
    """The stage that counts as right, and which of its values are needed.

    Args:
        needed: What :meth:`hold` keeps; the rest is described at most.
    """

    def __init__(self, structure: Structure, side: Side, method: str, needed: set[Key]) -> None:
        self.side = side
        self._method = method
        self._needed = needed
        self._outputs = _outputs(top_graph(structure, side.stage, method)[0]) & needed

    def hold(self, sample: Sample, held: Held, state: State, described: Described | None = None) -> dict[Key, str]:
        """Runs the stage and holds what is needed of it; returns the reasons of values that there are not.

        Raises:
            UsageError: It does not take the input.
        """
        from fxstore.ingest.measure.values import stream_values

        def take(key: Key, give: Give, size: int) -> None:
            array = give(copy=False)
            found = described.take(key, array) if described is not None else None
            if key in self._needed:
                held.put(key, array, found)

        def keep(key: Key) -> bool:
            return key in self._needed or (described is not None and described.wants(key))

        graph = self.side.graph(self._method)
        missing = stream_values(graph, sample.args, sample.kwargs, take, keep, state=state)
        for key in missing:
            held.drop(key)
        missing |= held.missing
        self._check(missing, held)
        return missing

    def _check(self, missing: Mapping[Key, str], held: Held) -> None:
        failed = [reason for reason in missing.values() if " failed: " in reason]
        if failed and self._outputs and held.keys().isdisjoint(self._outputs):
            hint = "pass an input as the model takes it"
            raise UsageError(f"the reference failed on this input: {failed[0]}", hint=hint)


class Measurement:
    """Runs a reference and other stages on each sample; the reference once for all of them.

    Raises:
        UsageError: A stage does not have the method.
    """

    def __init__(
        self, structure: Structure, reference: Side, measured: Sequence[Side], given: Given, wanted: Wanted
    ) -> None:
        self._given = given
        self._wanted = wanted
        self._sides = {
            side.stage: (side, Compared(structure, reference.stage, side.stage, given.method)) for side in measured
        }
        pairs = [pair for _, compared in self._sides.values() for pair in compared.pairs]
        needed = {pair.reference for pair in pairs if pair.reference is not None}
        self._reference = Reference(structure, reference, given.method, needed)
        stages = [reference.stage, *self._sides] if wanted.statistics else []
        self._nodes = {stage: Nodes(structure, stage, given.method) for stage in stages}
        self._found = Found()

    def run(self) -> Found:
        """Returns what the samples told.

        Raises:
            UsageError: The reference does not take an input.
        """
        sides = [self._reference.side, *(side for side, _ in self._sides.values())]
        states: dict[str, State] = {}
        for number, sample in enumerate(self._given.samples):
            if not sample.continues or not states:
                states = {side.stage: dict(side.written) for side in sides}
            with Held(self._wanted.budget_bytes) as held:
                self._sample(number, sample, held, states)
        return self._found

    def _sample(self, number: int, sample: Sample, held: Held, states: Mapping[str, State]) -> None:
        stage = self._reference.side.stage
        described = self._described(stage, number)
        missing = self._reference.hold(sample, held, states[stage], described)
        self._keep(stage, described)
        for stage in self._sides:
            if stage in self._found.failed:
                continue
            before = dict(states[stage])
            try:
                for i, scope in enumerate(self._wanted.scopes):
                    turn = _Turn(stage, scope, i == 0, number, sample, held, missing)
                    self._stage(turn, states[stage] if i == 0 else dict(before))
            except UsageError:
                raise
            except Exception as error:  # what one stage raises takes no other's numbers
                self._found.failed[stage] = error

    def _stage(self, turn: _Turn, state: State) -> None:
        from fxstore.ingest.measure.values import stream_values

        side, compared = self._sides[turn.stage]
        comparison = compared.comparison(turn.held, turn.missing, self._wanted.metrics, turn.scope, turn.number)
        described = self._described(turn.stage, turn.number) if turn.is_first else None

        def take(key: Key, give: Give, size: int) -> None:
            array = give(copy=False)
            same = comparison.take(key, array)
            if described is not None:
                described.take(key, array, None if same is None else turn.held.described(same))

        reasons = stream_values(
            side.graph(self._given.method),
            turn.sample.args,
            turn.sample.kwargs,
            take,
            lambda key: comparison.wants(key) or (described is not None and described.wants(key)),
            state=state,
            substitute=_reference_values(compared.pairs, turn.held) if turn.scope == "local" else None,
        )
        self._found.accuracy.setdefault(turn.stage, []).append(comparison.rows(reasons))
        self._keep(turn.stage, described)

    def _described(self, stage: str, sample: int) -> Described | None:
        return Described(self._nodes[stage], sample) if self._wanted.statistics else None

    def _keep(self, stage: str, described: Described | None) -> None:
        if described is not None:
            self._found.statistics.setdefault(stage, []).append(described.rows())


@dataclass(frozen=True)
class _Turn:
    """One run of one stage.

    Attributes:
        is_first: Whether it is the stage's first run on this sample: the one whose values are described.
    """

    stage: str
    scope: str
    is_first: bool
    number: int
    sample: Sample
    held: Held
    missing: Mapping[Key, str]


def _reference_values(pairs: Sequence[Pair[Key]], held: Held) -> Substitute:
    """Returns what lets each operator work on the reference's values: a float that has a pair is replaced by it."""
    import torch

    sources = {pair.value: pair.reference for pair in pairs if pair.reference is not None and pair.reason is None}

    def substitute(key: Key, value: torch.Tensor) -> torch.Tensor:
        source = sources.get(key)
        array = held.get(source) if source is not None and value.is_floating_point() else None
        if array is None or array.shape != tuple(value.shape) or array.dtype.kind != "f":
            return value
        return torch.from_numpy(array.copy()).to(value.dtype)

    return substitute


def _outputs(graph: Graph) -> set[Key]:
    """Returns the values that a graph returns."""
    names, ops = graph.nodes["name"].to_pylist(), graph.nodes["op"].to_pylist()
    return {
        (graph.path, names[edge["src"]], edge["src_port"])
        for edge in graph.edges.to_pylist()
        if ops[edge["dst"]] == "output"
    }


def graphs_of(structure: Structure, stage: str, method: str) -> list[Graph]:
    """Returns the graphs of one stage and one method, outermost first."""
    rows = structure.tables["graphs"].select(["stage", "method"]).to_pylist()
    return [
        graph
        for graph, row in zip(structure.graphs, rows, strict=True)
        if row["stage"] == stage and row["method"] == method
    ]


def top_graph(structure: Structure, stage: str, method: str) -> tuple[Graph, int]:
    """Returns the outermost graph of a stage and a method, and the ordinal of its first node.

    Raises:
        UsageError: There is none.
    """
    rows = structure.tables["graphs"].select(["stage", "method", "path", "base"]).to_pylist()
    for graph, row in zip(structure.graphs, rows, strict=True):
        if (row["stage"], row["method"], row["path"]) == (stage, method, ""):
            return graph, row["base"]
    raise UsageError(f"stage {stage!r} has no method {method!r}")
