"""Runs an emitted program on this machine's runtime, and compares what any run of one logged with a reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fxstore.ingest.etdump import Array, Block, Dump, read_etdump
from fxstore.ingest.executions import Emitted, Method
from fxstore.ingest.handle_values import Laid
from fxstore.ingest.held import Held
from fxstore.ingest.pairs import Key
from fxstore.ingest.running import Compared, Reference, Side, State, Wanted, graphs_of, top_graph
from fxstore.ingest.samples import Given
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    from fxstore.ingest.added_outputs import Added

_INSIDE = "inside a delegate: measured at its outputs"
_NESTED = "inside a nested graph: not told apart in the log"


def dumped(program: Any, inputs: Sequence[Sequence[Any]], given: Given) -> Dump:
    """Runs an emitted program with tracing, once for each sample; steps share one process, others have their own.

    Args:
        program: An ``ExecutorchProgramManager``.
        inputs: The flat inputs of each sample; they are passed as the program lays them out in memory.
    """
    from fxstore.ingest import laid_out
    from fxstore.ingest.device import run_pte

    places = laid_out.examples(program.exported_program(given.method))
    laid = [[laid_out.like(*pair) for pair in zip(one, places, strict=True)] for one in inputs]
    groups: list[list[Any]] = []
    for sample, flat in zip(given.samples, laid, strict=True):
        if sample.continues and groups:
            groups[-1].append(flat)
        else:
            groups.append([flat])
    blocks: list[Block] = []
    for group in groups:
        run = run_pte(bytes(program.buffer), [(given.method, flat) for flat in group])
        blocks += read_etdump(run.etdump, run.debug).blocks
    return Dump(tuple(blocks), 0)


def logged_values(ran: Method, blocks: Sequence[Block]) -> list[Laid]:
    """Returns what each execution logged."""
    return [ran.values(block) for block in blocks]


def logged_and_added(ran: Emitted, blocks: Sequence[Block], program: Any) -> list[Laid]:
    """Returns the same with the values inside delegates that added outputs tell.

    Args:
        program: The ``ExecutorchProgramManager`` that ran.
    """
    from fxstore.ingest.added_outputs import added_outputs

    attached = [ran.attached(block) for block in blocks]
    added = added_outputs(program.exported_program(ran.name), ran.delegates, attached)
    return [_with(one, more) for one, more in zip(logged_values(ran, blocks), added, strict=True)]


def _with(one: Laid, more: Added) -> Laid:
    """Returns both; what was logged of the shipped program goes first."""
    values = {**more.values, **one.values}
    missing = {key: reason for key, reason in more.missing.items() if key not in values}
    notes = {key: note for key, note in more.notes.items() if key not in one.values}
    return Laid(values, {**missing, **one.missing}, {**notes, **one.notes}, one.unplaced)


def flat_samples(reference: Side, given: Given) -> list[list[Any]]:
    """Returns the flat inputs of each sample, in the order of the reference's graph."""
    from fxstore.ingest.values import flat_inputs

    graph = reference.graph(given.method)
    return [flat_inputs(graph, sample.args, sample.kwargs) for sample in given.samples]


def compare_logged(
    structure: Structure,
    reference: Side,
    stage: str,
    given: Given,
    wanted: Wanted,
    logged: Iterable[Laid],
    untold: str | None = None,
) -> pa.Table:
    """Runs the reference on each sample and compares with it what each execution of a stage logged.

    Args:
        untold: Why there is no value where none was logged; None: what a runtime does not log.

    Returns:
        Rows as :data:`fxstore.ingest.overlays.ROWS`.
    """
    top, _ = top_graph(structure, stage, given.method)
    compared = Compared(structure, reference.stage, stage, given.method)
    needed = {pair.reference for pair in compared.pairs if pair.reference is not None}
    right = Reference(structure, reference, given.method, needed)
    reasons = _missing(structure, stage, given.method, top)
    inputs = flat_samples(reference, given)
    state: State = dict(reference.written)
    found = []
    for number, one in enumerate(logged):
        state = state if given.samples[number].continues else dict(reference.written)
        with Held(wanted.budget_bytes) as held:
            missing = right.hold(given.samples[number], held, state)
            comparison = compared.comparison(held, missing, wanted.metrics, "cumulative", number)
            known = {**(_fed(top, inputs[number]) if untold is None else {}), **one.values}
            for key, value in known.items():
                comparison.take(key, value, one.notes.get(key))
            keys = [pair.value for pair in compared.pairs if pair.value not in known]
            unlogged = {key: untold or reasons[key[0]] for key in keys if key[0] or untold is not None}
            found.append(comparison.rows({**unlogged, **one.missing}))
    return pa.concat_tables(found)


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
    """Returns what the program was given; the runtime logs of it only what it passes on to a delegate."""
    from fxstore.ingest.values import to_array

    places = {f"input:{i}": value for i, value in enumerate(inputs) if hasattr(value, "detach")}
    return {(top.path, name, 0): to_array(places[key]) for name, key in top.signature.items() if key in places}
