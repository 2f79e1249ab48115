"""Runs stages in Python and compares them, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fxstore.errors import UsageError
from fxstore.ingest.held import Held
from fxstore.ingest.measure import Comparison, Described, Pair
from fxstore.ingest.pairs import Key, Nodes, value_pairs
from fxstore.ingest.qparams import quantised_ports
from fxstore.ingest.samples import Given, Sample
from fxstore.metrics import Asked
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    from fxstore.ingest.interpreting import Substitute

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


def measure_stages(
    structure: Structure, reference: Side, measured: Sequence[Side], given: Given, wanted: Wanted
) -> Found:
    """Runs a reference and other stages on each sample; the reference once for all of them.

    Raises:
        UsageError: A stage does not have the method, or does not take the input.
    """
    compared = [Compared(structure, reference.stage, side.stage, given.method) for side in measured]
    needed = {pair.reference for one in compared for pair in one.pairs if pair.reference is not None}
    states: dict[str, State] = {}
    found = Found()
    for number, sample in enumerate(given.samples):
        if not given.carry_state or not states:
            states = {side.stage: dict(side.written) for side in (reference, *measured)}
        with Held(wanted.budget_bytes) as held:
            described = _described(structure, reference.stage, given.method, number, wanted)
            missing = hold(structure, reference, given.method, sample, held, needed, states[reference.stage], described)
            _keep(found.statistics, reference.stage, described)
            for side, one in zip(measured, compared, strict=True):
                if side.stage in found.failed:
                    continue
                try:
                    _measure(structure, side, one, given.method, sample, number, held, missing, states, wanted, found)
                except UsageError:
                    raise
                except Exception as error:  # what one stage raises takes no other's numbers
                    found.failed[side.stage] = error
    return found


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


def hold(
    structure: Structure,
    reference: Side,
    method: str,
    sample: Sample,
    held: Held,
    needed: set[Key],
    state: State,
    described: Described | None = None,
) -> dict[Key, str]:
    """Runs the reference and holds what is needed of it; returns the reasons of values that there are not."""
    from fxstore.ingest.values import stream_values

    def take(key: Key, copy: Callable[[], Any], size: int) -> None:
        array = copy()
        if described is not None:
            described.take(key, array)
        if key in needed:
            held.put(key, array)

    keep = needed.__contains__ if described is None else lambda key: key in needed or described.wants(key)
    missing = stream_values(reference.graph(method), sample.args, sample.kwargs, take, keep, state=state)
    for key in missing:
        held.drop(key)
    missing |= held.missing
    failed = [reason for reason in missing.values() if " failed: " in reason]
    outputs = _outputs(top_graph(structure, reference.stage, method)[0]) & needed
    if failed and outputs and held.keys().isdisjoint(outputs):
        raise UsageError(f"the reference failed on this input: {failed[0]}", hint="pass an input as the model takes it")
    return missing


def _measure(
    structure: Structure,
    side: Side,
    compared: Compared,
    method: str,
    sample: Sample,
    number: int,
    held: Held,
    missing: Mapping[Key, str],
    states: dict[str, State],
    wanted: Wanted,
    found: Found,
) -> None:
    from fxstore.ingest.values import stream_values

    before = dict(states[side.stage])
    for scope in wanted.scopes:
        comparison = compared.comparison(held, missing, wanted.metrics, scope, number)
        last = scope == wanted.scopes[0]
        described = _described(structure, side.stage, method, number, wanted) if last else None

        def take(key: Key, copy: Callable[[], Any], size: int) -> None:
            array = copy()
            comparison.take(key, array)  # noqa: B023 - used up within this turn
            if described is not None:  # noqa: B023
                described.take(key, array)  # noqa: B023

        def keep(key: Key) -> bool:
            return comparison.wants(key) or (described is not None and described.wants(key))  # noqa: B023

        reasons = stream_values(
            side.graph(method),
            sample.args,
            sample.kwargs,
            take,
            keep,
            state=states[side.stage] if last else dict(before),
            substitute=_reference_values(compared.pairs, held) if scope == "local" else None,
        )
        found.accuracy.setdefault(side.stage, []).append(comparison.rows(reasons))
        _keep(found.statistics, side.stage, described)


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


def _described(structure: Structure, stage: str, method: str, sample: int, wanted: Wanted) -> Described | None:
    return Described(Nodes(structure, stage, method), sample) if wanted.statistics else None


def _keep(tables: dict[str, list[pa.Table]], stage: str, described: Described | None) -> None:
    if described is not None:
        tables.setdefault(stage, []).append(described.rows())


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
