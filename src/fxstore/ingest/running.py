"""Runs stages and compares them: in Python, and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fxstore.errors import UsageError
from fxstore.ingest.attach import attach, emitted_graph
from fxstore.ingest.etdump import Array, read_etdump
from fxstore.ingest.measure import Comparison, latency_rows, named
from fxstore.ingest.pairs import Key, value_pairs
from fxstore.ingest.qparams import quantised_ports
from fxstore.metrics import DEFAULT
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OnDevice:
    """What one run on the device gave; rows as :data:`fxstore.ingest.measure.ROWS`."""

    accuracy: pa.Table
    latency: pa.Table


def measure_stage(
    structure: Structure,
    reference_source: object,
    source: object,
    inputs: Sequence[Any],
    reference: str,
    stage: str,
    metrics: Sequence[str] | None,
    method: str,
) -> pa.Table:
    """Runs a stage and its reference on one input; returns one row per value and metric."""
    from fxstore.ingest.values import stream_values

    comparison, _ = _compared(structure, reference_source, inputs, reference, stage, metrics, method)
    missing = stream_values(_graph_of(source, method), inputs, None, comparison.sink, comparison.wants)
    return comparison.rows(missing)


def run_on_device(
    structure: Structure,
    reference_source: object,
    program: Any,
    inputs: Sequence[Any],
    reference: str,
    stage: str,
    metrics: Sequence[str] | None,
    method: str,
) -> OnDevice:
    """Runs an emitted program with tracing; returns accuracy against the reference, and latency."""
    from fxstore.ingest.device import run_pte

    top, base = _top(structure, stage, method)
    run = run_pte(bytes(program.buffer), [(method, list(inputs))])
    execution = read_etdump(run.etdump, run.debug).executions[0]
    attached = attach(execution, emitted_graph(top))
    values, missing = named(top, attached)
    values |= _fed(top, inputs)
    comparison, wanted = _compared(structure, reference_source, inputs, reference, stage, metrics, method)
    for key in wanted:
        if key in values:
            comparison.take(key, values[key])
        elif key[0]:
            missing.setdefault(key, "inside a delegate: measured at its outputs")
    return OnDevice(comparison.rows(missing), latency_rows(attached.latency, base))


def _compared(
    structure: Structure,
    reference_source: object,
    inputs: Sequence[Any],
    reference: str,
    stage: str,
    metrics: Sequence[str] | None,
    method: str,
) -> tuple[Comparison[Key], list[Key]]:
    """Runs the reference; returns the comparison that waits for the other stage's values, and which it wants."""
    from fxstore.ingest.values import capture_values

    for name in (reference, stage):
        _top(structure, name, method)
    pairs = value_pairs(structure, reference, stage, method)
    wanted = {pair.reference for pair in pairs if pair.reference is not None}
    captured = capture_values(_graph_of(reference_source, method), inputs, keep=wanted.__contains__)
    values: dict[Key, Array] = captured.values
    failed = [reason for reason in captured.missing.values() if " failed: " in reason]
    outputs = _outputs(_top(structure, reference, method)[0])
    if failed and outputs and not any(output in values for output in outputs & wanted):
        raise UsageError(f"the reference failed on this input: {failed[0]}", hint="pass an input as the model takes it")
    comparison = Comparison(
        pairs,
        values,
        metrics or DEFAULT,
        reference_missing=captured.missing,
        qparams=quantised_ports(_graphs(structure, stage, method)),
        reference_qparams=quantised_ports(_graphs(structure, reference, method)),
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


def _graph_of(source: Any, method: str) -> Any:
    return source.exported_program(method) if hasattr(source, "to_executorch") else source


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
