"""Runs an emitted program on this machine's runtime and compares what it logs with a reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fxstore.ingest.attach import Attached, attach, emitted_graph
from fxstore.ingest.etdump import Array, read_etdump
from fxstore.ingest.held import Held
from fxstore.ingest.measure import latency_rows, named
from fxstore.ingest.pairs import Key
from fxstore.ingest.running import Compared, Reference, Side, State, Wanted, graphs_of, top_graph
from fxstore.ingest.samples import Given
from fxstore.records import Graph, Structure

_INSIDE = "inside a delegate: measured at its outputs"
_NESTED = "inside a nested graph: not told apart in the log"


@dataclass(frozen=True)
class OnDevice:
    """What runs on the device gave; rows as :data:`fxstore.ingest.overlays.ROWS`."""

    accuracy: pa.Table
    latency: pa.Table


def run_on_device(structure: Structure, reference: Side, program: Side, given: Given, wanted: Wanted) -> OnDevice:
    """Runs an emitted program with tracing, on each sample; returns accuracy against the reference, and latency."""
    from fxstore.ingest.values import flat_inputs

    top, base = top_graph(structure, program.stage, given.method)
    compared = Compared(structure, reference.stage, program.stage, given.method)
    needed = {pair.reference for pair in compared.pairs if pair.reference is not None}
    right = Reference(structure, reference, given.method, needed)
    graph = reference.graph(given.method)
    inputs = [flat_inputs(graph, sample.args, sample.kwargs) for sample in given.samples]
    accuracy, latency = [], []
    state: State = dict(reference.written)
    for number, attached in enumerate(_attached(bytes(program.source.buffer), top, inputs, given)):
        state = state if given.carry_state else dict(reference.written)
        with Held(wanted.budget_bytes) as held:
            missing = right.hold(given.samples[number], held, state)
            comparison = compared.comparison(held, missing, wanted.metrics, "cumulative", number)
            reasons = _missing(structure, program.stage, given.method, top)
            values, unlogged = named(top, attached)
            values |= _fed(top, inputs[number])
            for key, value in values.items():
                comparison.take(key, value)
            keys = [pair.value for pair in compared.pairs]
            inside = {key: reasons[key[0]] for key in keys if key[0] and key not in values}
            accuracy.append(comparison.rows({**inside, **unlogged}))
        latency.append(latency_rows(attached.latency, base, number))
    return OnDevice(pa.concat_tables(accuracy), pa.concat_tables(latency))


def _attached(program: bytes, top: Graph, inputs: Sequence[Sequence[Any]], given: Given) -> Iterable[Attached]:
    """Yields what each sample logged; steps run in one process, whose state carries over, others each in their own."""
    from fxstore.ingest.device import run_pte

    graph = emitted_graph(top)
    groups = [list(inputs)] if given.carry_state else [[one] for one in inputs]
    for group in groups:
        run = run_pte(program, [(given.method, flat) for flat in group])
        for execution in read_etdump(run.etdump, run.debug).executions:
            yield attach(execution, graph)


def _missing(structure: Structure, stage: str, method: str, top: Graph) -> Mapping[str, str]:
    """Returns why the values of each nested graph are not logged."""
    roles = top.nodes["role"].to_pylist()
    inside = {
        graph.path
        for graph in graphs_of(structure, stage, method)
        if graph.parent_position is not None and graph.parent_path == top.path
        if roles[graph.parent_position] == "delegate"
    }
    return {graph.path: _INSIDE if graph.path in inside else _NESTED for graph in graphs_of(structure, stage, method)}


def _fed(top: Graph, inputs: Sequence[Any]) -> dict[Key, Array]:
    """Returns the values of the inputs: what the program was given, which the runtime does not log."""
    from fxstore.ingest.values import to_array

    places = {f"input:{i}": value for i, value in enumerate(inputs) if hasattr(value, "detach")}
    return {(top.path, name, 0): to_array(places[key]) for name, key in top.signature.items() if key in places}
