"""What a recorder compares of runs that were traced elsewhere: each execution with its own method of a live stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fxstore.errors import UsageError, nearest
from fxstore.ingest import adapters

if TYPE_CHECKING:
    from fxstore.ingest.executorch.events import EventLayer
    from fxstore.ingest.executorch.executions import Execution
    from fxstore.ingest.executorch.handle_values import Laid
    from fxstore.ingest.measure.samples import Given
    from fxstore.ingest.measure.stages import Side
    from fxstore.record.open_run import OpenRun
    from fxstore.record.recorder import Recorder

LOGGED: Final = "ETDump and debug buffer"
_NOTHING: Final = "compared with nothing"
_GIVEN: Final = "given by handle"


def values(
    self: Recorder,
    values: object,
    inputs: object = None,
    kwargs: object = None,
    *,
    reference: str | None = None,
    metrics: object = None,
    stage: str | None = None,
    method: str | None = None,
    carry_state: bool = False,
) -> None:
    """Stores values that come by debug handle, from a device or an intermediate output capturer.

    Each lies on the node of its handle; of several nodes with one handle on the last. What fits no node is counted
    and kept on the run, with the reason. With inputs, the values are compared with a reference.

    Args:
        values: A dict, or a list of dicts, one for each input; or a dict of these by method. Its keys are debug
            handles, tuples of the handles of one node, names of nodes, or ``(delegate, handle)``; the delegate is
            a path (``lowered_module_0``), the name of its call, or the instruction that calls it. Its values are
            tensors or arrays, of a node with several outputs a list of them.
        inputs: As :meth:`measure` takes them: what the values were computed from. Without, they have statistics.
        kwargs: As :meth:`measure` takes them.
        reference: The stage that counts as right; default: the first that can be run.
        metrics: As :meth:`measure` takes them.
        stage: The stage whose handles they are; default: the last one that has any.
        method: The entry point that ran; default: the only one, or ``forward``.
        carry_state: As :meth:`measure` takes it.

    Raises:
        UsageError: There is no such stage, a key names no value, or there are not as many inputs as values.
    """
    run = self._open
    from fxstore.ingest.executorch import values_given
    from fxstore.ingest.measure.samples import given as samples

    _check_reference(run, reference)
    names = list(dict.fromkeys(graph.method for one in run.stages for graph in one.graphs))
    apart = values_given.by_method(values, names) if method is None else None
    if apart is not None:
        for name, own in apart.items():
            args, named = (one.get(name) if isinstance(one, Mapping) else one for one in (inputs, kwargs))
            self.values(own, args, named, reference=reference, metrics=metrics, stage=stage, method=name,
                        carry_state=carry_state)  # fmt: skip
        return
    method = method or (names[0] if len(names) == 1 else "forward")
    told = values_given.samples_of(values)
    of = values_given.stage_with_handles(run.stages, method, stage)
    laid = [values_given.laid_by_handle(of, method, one) for one in told]
    given = None if inputs is None else samples(inputs, kwargs, method, carry_state)
    if given is not None and len(given.samples) != len(laid):
        hint = "one dict of values for each input"
        raise UsageError(f"values of {len(laid)} inputs are given, and {len(given.samples)} inputs", hint=hint)
    right = None if given is None else _reference(run, reference, method, [of.name])
    if given is not None and right is None and reference is not None:
        raise UsageError(f"stage {reference!r} cannot be run for values of {of.name}", hint="leave out reference=")
    compared = f"{_NOTHING}: no inputs were given"
    with run.watch(f"values of {of.name} are not compared"):
        if given is not None and right is None:
            compared = f"{_NOTHING}: no stage can be run"
            run.note(f"values of {of.name}: {compared}")
        elif given is not None and right is not None:
            _compare_given(run, laid, of.name, right, given, metrics)
            compared = f"compared with {right.stage}"
    _describe_given(run, laid, of.name, method, compared)


def compare_logged(run: OpenRun, inputs: object, kwargs: object = None, reference: str | None = None) -> None:
    """Compares the values in the run's ETDumps with those of a stage that is run on the same inputs.

    Where nothing can be run, as when all that there is are files, which are never executed, the overlay of the
    values' statistics says so.

    Args:
        inputs: As :meth:`measure` takes them: one for each execution in the dump, in its order, whose state carries
            over; or a dict of these by method.
        kwargs: As :meth:`measure` takes them; or a dict by method, where the inputs are.
        reference: The stage that counts as right; default: the first that can be run.

    Raises:
        UsageError: There is no such stage, or it does not take these inputs.
    """
    _check_reference(run, reference)
    for waiting in run.overlays.dumps():
        compared = "compared with nothing: that failed"
        with run.watch("runtime values are not compared"):
            compared = _compare_dump(run, waiting, inputs, kwargs, reference)
        run.overlays.renew(waiting, replace(waiting, compared=compared))
        if _NOTHING in compared:
            run.note(f"runtime values: {compared}")


def _compare_given(run: OpenRun, laid: Sequence[Laid], stage: str, right: Side, given: Given, metrics: object) -> None:
    from fxstore.ingest.executorch.values_given import NOT_GIVEN
    from fxstore.ingest.measure.runtime import compare_logged
    from fxstore.ingest.measure.stages import Wanted
    from fxstore.metrics import resolve

    wanted = Wanted(resolve(metrics), ("cumulative",), False, 1 << 28)
    rows = compare_logged(run.structure(), right, stage, given, wanted, laid, NOT_GIVEN)
    run.lay(f"{stage} given vs {right.stage}", "accuracy", _GIVEN, [rows], given.method)


def _describe_given(run: OpenRun, laid: Sequence[Laid], stage: str, method: str, compared: str) -> None:
    from fxstore.ingest.executorch.runtime_values import statistics_of, unplaced_line, unplaced_rows
    from fxstore.ingest.overlays import RunNodes

    nodes = RunNodes(run.stages)
    places = [one for one in nodes.places if one.stage.name == stage and one.graph.method == method]
    parts = [statistics_of(one, places, number) for number, one in enumerate(laid)]
    parts += [unplaced_rows(one.unplaced, number) for number, one in enumerate(laid)]
    run.lay(f"{stage} given", "statistics", f"{_GIVEN}; {compared}", parts, method)
    if lost := unplaced_line({name: why for one in laid for name, why in one.unplaced.items()}):
        run.note(f"values of {stage}: {lost}")


def _check_reference(run: OpenRun, reference: str | None) -> None:
    names = [stage.name for stage in run.stages]
    if reference is not None and reference not in names:
        raise UsageError(f"stage {reference!r} is not in this run", hint=nearest(reference, names))


def _compare_dump(run: OpenRun, layer: EventLayer, inputs: object, kwargs: object, reference: str | None) -> str:
    """Returns with what an ETDump's values were compared, or why with nothing."""
    from fxstore.ingest.executorch.executions import executions, methods_of
    from fxstore.ingest.measure.samples import given_by_method
    from fxstore.ingest.overlays import RunNodes

    dump = layer.dump
    if not dump.has_values:
        return f"{_NOTHING}: no tensor data (debug buffer missing)"
    placed = [one for one in executions(dump, methods_of(RunNodes(run.stages), layer.stages)) if one.methods]
    order = [one.methods[0].name for one in placed]
    if not order:
        return f"{_NOTHING}: no execution in the dump is told to be of a method of this run"
    given = given_by_method(inputs, kwargs, order)
    told = {
        name: _compare_method(run, [one for one in placed if one.methods[0].name == name], given[name], reference)
        for name in dict.fromkeys(order)
    }
    if len(set(told.values())) == 1:
        return told[order[0]]
    return "; ".join(f"{name} {what}" for name, what in told.items())


def _compare_method(run: OpenRun, placed: Sequence[Execution], given: Given, reference: str | None) -> str:
    """Compares the executions of one method; returns with what, or why with nothing."""
    if len(given.samples) != len(placed):
        return f"{_NOTHING}: {len(placed)} executions are in the dump, and {len(given.samples)} inputs are given"
    ran = [method.stage for method in placed[0].methods]
    right = _reference(run, reference, given.method, ran[:1])
    if right is None:
        return f"{_NOTHING}: no stage can be run: of files graphs are read, and nothing in them is executed"
    stage = next(name for name in ran if name != right.stage)
    _compare_executions(run, placed, stage, right, given)
    return f"compared with {right.stage}"


def _compare_executions(run: OpenRun, placed: Sequence[Execution], stage: str, right: Side, given: Given) -> None:
    from fxstore.ingest.measure.runtime import compare_logged, logged_values
    from fxstore.ingest.measure.stages import Wanted
    from fxstore.metrics import resolve

    wanted = Wanted(resolve(None), ("cumulative",), False, 1 << 28)
    ran = ((one.block, method) for one in placed for method in one.methods if method.stage == stage)
    logged = (values for block, method in ran for values in logged_values(method, [block]))
    rows = compare_logged(run.structure(), right, stage, given, wanted, logged)
    run.lay(f"{stage} vs {right.stage}", "accuracy", LOGGED, [rows, *given.names()], given.method)


def _reference(run: OpenRun, name: str | None, method: str, ran: Sequence[str]) -> Side | None:
    """Returns the stage that counts as right: the one of that name, or the first that can be run; or None."""
    for stage in run.stages:
        if stage.name in ran or stage.kind == "runtime" or name not in (None, stage.name):
            continue
        if any(graph.method == method for graph in stage.graphs):
            if stage.name in run.parts:
                part = run.parts[stage.name]
                return run.side_of(stage.name, part, adapters.state_of(part))
            if stage.name in run.sources:
                return run.side(stage.name)
    return None
