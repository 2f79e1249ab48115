"""Runs stages and compares them: in Python, and on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fxstore.errors import UsageError
from fxstore.ingest.attach import attach, emitted_graph
from fxstore.ingest.etdump import Array, read_etdump
from fxstore.ingest.measure import Comparison, latency_rows, named
from fxstore.ingest.pairs import Key, value_pairs
from fxstore.ingest.qparams import quantised_ports
from fxstore.metrics import Asked
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OnDevice:
    """What one run on the device gave; rows as :data:`fxstore.ingest.measure.ROWS`."""

    accuracy: pa.Table
    latency: pa.Table


@dataclass(frozen=True)
class Given:
    """One input, as the model's caller gives it, and the method that takes it."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    method: str


@dataclass(frozen=True)
class Side:
    """One stage of a comparison: its name and its live source."""

    stage: str
    source: Any

    def graph(self, method: str) -> Any:
        """Returns the live graph of a method."""
        if hasattr(self.source, "to_executorch"):
            return self.source.exported_program(method)
        return self.source[method] if isinstance(self.source, Mapping) else self.source


def measure_stage(
    structure: Structure, reference: Side, measured: Side, given: Given, metrics: Sequence[Asked]
) -> pa.Table:
    """Runs a stage and its reference on one input; returns one row per value and metric."""
    from fxstore.ingest.values import stream_values

    comparison, _ = _compared(structure, reference, measured, given, metrics)
    graph = measured.graph(given.method)
    missing = stream_values(graph, given.args, given.kwargs, comparison.sink, comparison.wants)
    return comparison.rows(missing)


def run_on_device(
    structure: Structure, reference: Side, program: Side, given: Given, metrics: Sequence[Asked]
) -> OnDevice:
    """Runs an emitted program with tracing; returns accuracy against the reference, and latency."""
    from fxstore.ingest.device import run_pte
    from fxstore.ingest.values import flat_inputs

    top, base = _top(structure, program.stage, given.method)
    inputs = flat_inputs(reference.graph(given.method), given.args, given.kwargs)
    run = run_pte(bytes(program.source.buffer), [(given.method, inputs)])
    execution = read_etdump(run.etdump, run.debug).executions[0]
    attached = attach(execution, emitted_graph(top))
    values, missing = named(top, attached)
    values |= _fed(top, inputs)
    comparison, wanted = _compared(structure, reference, program, given, metrics)
    nested = {graph.path: _why_inside(graph, top) for graph in _graphs(structure, program.stage, given.method)}
    for key in wanted:
        if key in values:
            comparison.take(key, values[key])
        elif key[0]:
            missing.setdefault(key, nested[key[0]])
    return OnDevice(comparison.rows(missing), latency_rows(attached.latency, base))


def _why_inside(graph: Graph, top: Graph) -> str:
    """Returns why the values of a nested graph are not logged."""
    if graph.parent_position is not None and graph.parent_path == top.path:
        role = top.nodes["role"][graph.parent_position].as_py()
        if role == "delegate":
            return "inside a delegate: measured at its outputs"
    return "inside a nested graph: not told apart in the log"


def _compared(
    structure: Structure, reference: Side, measured: Side, given: Given, metrics: Sequence[Asked]
) -> tuple[Comparison[Key], list[Key]]:
    """Runs the reference; returns the comparison that waits for the other stage's values, and which it wants."""
    from fxstore.ingest.values import capture_values

    for side in (reference, measured):
        _top(structure, side.stage, given.method)
    pairs = value_pairs(structure, reference.stage, measured.stage, given.method)
    wanted = {pair.reference for pair in pairs if pair.reference is not None}
    captured = capture_values(reference.graph(given.method), given.args, given.kwargs, keep=wanted.__contains__)
    values: dict[Key, Array] = captured.values
    failed = [reason for reason in captured.missing.values() if " failed: " in reason]
    outputs = _outputs(_top(structure, reference.stage, given.method)[0]) & wanted
    if failed and outputs and values.keys().isdisjoint(outputs):
        raise UsageError(f"the reference failed on this input: {failed[0]}", hint="pass an input as the model takes it")
    comparison = Comparison(
        pairs,
        values,
        metrics,
        reference_missing=captured.missing,
        qparams=quantised_ports(_graphs(structure, measured.stage, given.method)),
        reference_qparams=quantised_ports(_graphs(structure, reference.stage, given.method)),
    )
    return comparison, [pair.value for pair in pairs if pair.reason is None]


def _fed(top: Graph, inputs: Sequence[Any]) -> dict[Key, Array]:
    """Returns the values of the inputs: what the program was given, which the runtime does not log."""
    from fxstore.ingest.values import to_array

    places = {f"input:{i}": value for i, value in enumerate(inputs) if hasattr(value, "detach")}
    return {(top.path, name, 0): to_array(places[key]) for name, key in top.signature.items() if key in places}


def _outputs(graph: Graph) -> set[Key]:
    """Returns the values that a graph returns."""
    names, ops = graph.nodes["name"].to_pylist(), graph.nodes["op"].to_pylist()
    return {
        (graph.path, names[edge["src"]], edge["src_port"])
        for edge in graph.edges.to_pylist()
        if ops[edge["dst"]] == "output"
    }


def _graphs(structure: Structure, stage: str, method: str) -> list[Graph]:
    rows = structure.tables["graphs"].select(["stage", "method"]).to_pylist()
    return [
        graph
        for graph, row in zip(structure.graphs, rows, strict=True)
        if row["stage"] == stage and row["method"] == method
    ]


def _top(structure: Structure, stage: str, method: str) -> tuple[Graph, int]:
    rows = structure.tables["graphs"].select(["stage", "method", "path", "base"]).to_pylist()
    for graph, row in zip(structure.graphs, rows, strict=True):
        if (row["stage"], row["method"], row["path"]) == (stage, method, ""):
            return graph, row["base"]
    raise UsageError(f"stage {stage!r} has no method {method!r}")
