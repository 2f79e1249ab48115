"""Methods of the recorder that run stages: against each other in Python, and the emitted program on the device."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fxstore.errors import UsageError
from fxstore.record.traced import LOGGED

if TYPE_CHECKING:
    from fxstore.ingest.executorch.etdump import Dump
    from fxstore.ingest.executorch.executions import Emitted
    from fxstore.ingest.measure.stages import Side
    from fxstore.record.open_run import OpenRun
    from fxstore.record.recorder import Recorder

_PREVIOUS: Final = "previous"
_ADDED: Final = f"{LOGGED}; inside delegates lowered again with added outputs"
_SCOPES: Final = {"cumulative": ("cumulative",), "local": ("local",), "both": ("cumulative", "local")}
_log = logging.getLogger("fxstore")


def measure(
    self: Recorder,
    inputs: Sequence[Any] | Mapping[str, Any],
    kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    reference: str = "float",
    metrics: object = None,
    stages: Sequence[str] | str | None = None,
    method: str = "forward",
    scope: str = "cumulative",
    carry_state: bool = False,
    statistics: bool = True,
    budget_bytes: int = 1 << 28,
    values: object = None,
    values_stage: str | None = None,
) -> None:
    """Runs stages on inputs and stores how far each of their values is from the reference's.

    A failure while they run is logged, and the run is ``partial`` then; it is raised where the recorder is strict.
    What is measured again on further inputs adds samples to the same overlay.

    Args:
        inputs: One input, a tuple as the model takes it; or a list of such tuples, one per sample. A dict names
            them: ``{"short prompt": (x,), "long prompt": [(x,), (y,)]}``; the inputs of a list under a name are its
            steps, and named so: ``long prompt step 1``.
        kwargs: Its keyword inputs; or a list of them, one per sample.
        reference: The stage that counts as right; ``previous`` measures each stage against the one before it.
        metrics: As :func:`fxstore.metrics.resolve` takes them: names, names with a limit (``cosine>=0.99``),
            functions, comparators; default: cosine, mse, max_abs, sqnr.
        stages: What to measure; default: every later stage that runs in Python. One whose weights were changed in
            place since it was recorded is left out then, and logged. Later edits of its graph do not matter.
        method: The entry point that is run.
        scope: ``cumulative``: each stage runs on its own values; ``local``: each operator is fed the reference's;
            or ``both``.
        carry_state: The inputs of a list are steps, each of which begins with the buffers (a KV cache) that the one
            before left in that stage; under another name, the first begins with those that were recorded. Else each
            begins with these.
        statistics: Store minimum, maximum, mean, a histogram and so on of each value, too.
        budget_bytes: Of the reference's values, what may stay in memory; the rest waits in temporary files.
        values: What a device or a capturer gave on these inputs, by debug handle, as :meth:`values` takes it: it
            is compared, too, with the first stage where the reference is ``previous``.
        values_stage: The stage whose handles these are; default: the last one that has any.

    Raises:
        UsageError: A stage or a metric is unknown or cannot be run, its weights were changed in place since it was
            recorded, or nothing is left to measure.
    """
    run = self._open
    from fxstore.ingest.measure.samples import given as samples_of
    from fxstore.ingest.measure.stages import Measurement, Wanted
    from fxstore.metrics import resolve

    if scope not in _SCOPES:
        raise UsageError(f"scope={scope!r}", hint=f"one of {', '.join(_SCOPES)}")
    given = samples_of(inputs, kwargs, method, carry_state)
    wanted = Wanted(resolve(metrics), _SCOPES[scope], statistics, budget_bytes)
    if values is not None:
        self.values(
            values,
            inputs,
            kwargs,
            reference=None if reference == _PREVIOUS else run.side(reference).stage,
            metrics=metrics,
            stage=values_stage,
            method=method,
            carry_state=carry_state,
        )
        if stages is None and not _runs_after(run, reference):
            return
    described: set[str] = set()
    sides: dict[str, Side] = {}
    for base, names in _against(run, reference, several_names(stages), sides):
        with run.watch(f"{', '.join(names)} not measured against {base}"):
            right, *others = (sides.get(name) or run.side(name) for name in (base, *names))
            found = Measurement(run.structure(), right, others, given, wanted).run()
            for name in [one for one in found.statistics if one not in described]:
                tables = [*found.statistics[name], *given.names()]
                run.lay(f"{name} statistics", "statistics", "measured in Python", tables, method)
            described |= found.statistics.keys()
            for name, tables in found.accuracy.items():
                run.lay(f"{name} vs {base}", "accuracy", "measured in Python", [*tables, *given.names()], method)
            for name, error in found.failed.items():
                run.lost(f"{name} is not measured against {base}", error)


def device(
    self: Recorder,
    inputs: Sequence[Any] | Mapping[str, Any],
    kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    stage: str = "runtime",
    reference: str = "quantized",
    metrics: object = None,
    method: str = "forward",
    carry_state: bool = False,
    inside: bool = True,
    budget_bytes: int = 1 << 28,
) -> None:
    """Runs the emitted program with tracing, in a process of its own, and stores accuracy and latency.

    A failure while it runs is logged, and the run is ``partial`` then; it is raised where the recorder is strict.

    Args:
        inputs: As :meth:`measure` takes them.
        kwargs: As :meth:`measure` takes them.
        stage: A stage whose source is an ``ExecutorchProgramManager``.
        reference: The stage that counts as right.
        metrics: As :meth:`measure` takes them.
        method: The entry point that is run.
        carry_state: The inputs of a list are steps of one process, whose state carries over; else each has a
            process of its own.
        inside: Values inside delegates, too: each delegate is lowered again with inner values as outputs, and run
            on what the program passed to it. That is another program than the shipped one, so the reason of
            each such number says ``by an added output``.
        budget_bytes: As :meth:`measure` takes it.

    Raises:
        UsageError: A stage or a metric is unknown, was edited, or is no emitted program.
    """
    run = self._open
    from fxstore.ingest.executorch.runtime_values import unplaced_line
    from fxstore.ingest.measure.runtime import compare_logged, dumped, flat_samples, logged_and_added, logged_values
    from fxstore.ingest.measure.samples import given as samples_of
    from fxstore.ingest.measure.stages import Wanted
    from fxstore.metrics import resolve

    wanted = Wanted(resolve(metrics), ("cumulative",), False, budget_bytes)
    given = samples_of(inputs, kwargs, method, carry_state)
    right, program = run.side(reference), run.side(stage)
    if not hasattr(program.source, "executorch_program"):
        raise UsageError(f"stage {stage!r} is no emitted program", hint="record what to_executorch() returns")
    ran = _emitted(run, stage, method)
    with run.watch(f"{stage} is not run on the device"):
        dump = dumped(program.source, flat_samples(right, given), given)
        _lay_times(run, dump, stage, method)
        if inside and ran.delegates:
            logged, source = logged_and_added(ran, dump.executions, program.source), _ADDED
        else:
            logged, source = logged_values(ran, dump.executions), LOGGED
        rows = compare_logged(run.structure(), right, stage, given, wanted, logged)
        run.lay(f"{stage} vs {reference}", "accuracy", source, [rows, *given.names()], method)
        if lost := unplaced_line({name: why for one in logged for name, why in one.unplaced.items()}):
            run.note(f"{stage}: {lost}")


def tensors(
    self: Recorder,
    inputs: Sequence[Any] | Mapping[str, Any],
    path: str | os.PathLike[str],
    kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    stages: Sequence[str] | str | None = None,
    nodes: Sequence[str] | str | None = None,
    method: str = "forward",
    carry_state: bool = False,
    overwrite: bool = False,
) -> Path:
    """Runs stages on inputs and writes raw values, named ``stage/sample/node/port``; nothing goes into the store.

    Args:
        inputs: As :meth:`measure` takes them.
        path: A ``.npz`` or ``.safetensors`` file. Half precision is written as float32, codes as they are.
        kwargs: As :meth:`measure` takes them.
        stages: Default: every stage that runs in Python.
        nodes: Names, those in nested graphs also as ``path/name``; default: everything that is computed.
        method: The entry point that is run.
        carry_state: As :meth:`measure` takes it.
        overwrite: Replace what stands at the path.

    Raises:
        UsageError: The run is public, a stage or a node is unknown, or something stands at the path.
    """
    run = self._open
    from fxstore.ingest.measure.raw_tensors import write_tensors
    from fxstore.ingest.measure.samples import given as samples_of

    if run.public:
        raise UsageError("raw tensors are not written of a public run", hint="record it without privacy='public'")
    target = Path(path)
    if target.exists() and not overwrite:
        raise UsageError(f"{target} exists", hint="pass overwrite=True to overwrite it")
    given = samples_of(inputs, kwargs, method, carry_state)
    chosen = several_names(stages) or [one.name for one in run.stages if run.runs_in_python(one)]
    sides = [run.side(name) for name in chosen]
    for name, reason in write_tensors(run.structure(), sides, given, several_names(nodes), target).items():
        _log.warning("not written: %s: %s", name, reason)
    return target


def _emitted(run: OpenRun, stage: str, method: str) -> Emitted:
    from fxstore.ingest.executorch.executions import Emitted, methods_of
    from fxstore.ingest.overlays import RunNodes

    for found in methods_of(RunNodes(run.stages), [stage], method):
        if isinstance(found, Emitted):
            return found
    raise UsageError(f"stage {stage!r} has no method {method!r} that the runtime's events name")


def _lay_times(run: OpenRun, dump: Dump, stage: str, method: str) -> None:
    from fxstore.ingest.executorch.events import EventLayer
    from fxstore.ingest.overlays import RunNodes

    name = f"{stage} latency" if method == "forward" else f"{stage} latency ({method})"
    layer = EventLayer(dump, name=name, values=False, stages=[stage], method=method)
    for laid in layer.lay(RunNodes(run.stages)):
        run.overlays.extend(laid.overlay)
        for line in laid.notes:
            run.note(line)


def _against(
    run: OpenRun, reference: str, stages: list[str] | None, sides: dict[str, Side]
) -> list[tuple[str, list[str]]]:
    """Returns reference stages and what is measured against each; puts what it has looked at into ``sides``."""
    if reference != _PREVIOUS:
        sides[reference] = run.side(reference)
        return [(reference, _runnable_after(run, reference, sides) if stages is None else stages)]
    first = next((one.name for one in run.stages if one.name in run.sources), "")
    order = [first, *_runnable_after(run, first, sides)]
    return [(a, [b]) for a, b in itertools.pairwise(order) if stages is None or b in stages]


def _runs_after(run: OpenRun, reference: str) -> bool:
    """Tells whether there is anything to run in Python beside the reference."""
    others = [one.name for one in run.stages if run.runs_in_python(one)]
    return bool(others[1:] if reference == _PREVIOUS else others[others.index(reference) + 1 :])


def _runnable_after(run: OpenRun, reference: str, sides: dict[str, Side]) -> list[str]:
    names = [stage.name for stage in run.stages]
    found = []
    for stage in run.stages[names.index(reference) + 1 :]:
        if stage.kind == "runtime":
            continue
        try:
            sides[stage.name] = run.side(stage.name)
        except UsageError as error:
            _log.warning("left out of the measurement: %s", f"{error} ({error.hint})" if error.hint else error)
        else:
            found.append(stage.name)
    if not found:
        raise UsageError(f"no stage after {reference!r} can be measured", hint=f"stages: {', '.join(names)}")
    return found


def several_names(names: Sequence[str] | str | None) -> list[str] | None:
    """Returns names as a list; a lone one may be given as it is."""
    return [names] if isinstance(names, str) else None if names is None else list(names)
