"""Records one run: stages as they appear, then what was measured on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fxstore.errors import UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.overlays import Overlays, RunNodes
from fxstore.ingest.versions import loaded_versions
from fxstore.link import structure_of
from fxstore.records import Overlay, RunRecord, Stage, Structure

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("fxstore")


@dataclass(frozen=True)
class Run:
    """A committed run.

    Attributes:
        status: ``complete`` or ``partial``.
        stages: Names of its stages in pipeline order.
        notes: One line for each thing that is missing in it, and why.
    """

    run_id: str
    name: str
    status: str
    stages: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Recorder:
    """Collects the stages and overlays of one run; commits it when the ``with`` block ends.

    A stage that cannot be read is logged and stored as ``failed``, and the run as ``partial``: recording never breaks
    the compile that it watches. Leaving by an exception stores what there is, with status ``partial``.

    Args:
        commit: Takes the finished run and returns its id.
        strict: Raise what would be logged.
    """

    def __init__(
        self,
        commit: Callable[[RunRecord], str],
        name: str,
        *,
        model: str | None = None,
        tags: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name or not isinstance(model, str | None):
            raise UsageError("a run's name, and its model's, are texts", hint="pass name='nightly'")
        self.name = name
        self.model = model
        self.tags = {str(key): str(value) for key, value in (tags or {}).items()}
        self.run: Run | None = None
        self._commit = commit
        self._strict = strict
        self._status = "complete"
        self._stages: list[Stage] = []
        self._sources: dict[str, object] = {}
        self._states: dict[str, dict[str, int]] = {}
        self._versions: dict[str, str] = {}
        self._overlays = Overlays()
        self._notes: list[str] = []
        self._errors: list[Exception] = []
        self._linked: Structure | None = None

    def stage(self, name: str, source: object, **options: Any) -> None:
        """Takes a snapshot of a source now; later edits of it change nothing in the store.

        Args:
            name: The stage's name; a source that holds several stages gives them all, each as ``name/its own``.
            source: Whatever an adapter accepts; of several methods, a dict from method to exported program.
            options: What its adapter takes.

        Raises:
            UsageError: The name is taken, or empty, or the adapter takes no such option.
        """
        self._check_name(name)
        try:
            found = adapters.read(source, options).titled(name)
        except UsageError:
            raise
        except Exception as error:  # whatever it is, the user's compile must go on
            self._errors.append(error)
            self._lost(f"stage {name} is not recorded", error)
            self._stages.append(Stage(name, (), status="failed", note=str(error)))
            return
        self._take(found, name)
        if len(found.stages) == 1 and found is not source:
            self._sources[name] = source
            self._states[name] = adapters.state_of(source)

    def raise_if_empty(self) -> None:
        """Raises the error of the first stage, where none could be read."""
        if self._errors and not any(stage.graphs for stage in self._stages):
            raise self._errors[0]

    def nodes(self, name: str) -> int:
        """Returns the number of nodes of a recorded stage, those of nested graphs included."""
        return sum(len(graph.nodes) for stage in self._stages if stage.name == name for graph in stage.graphs)

    def add(self, found: adapters.Ingested) -> None:
        """Takes in what an adapter read, under its own stage names."""
        self._take(found, None)

    def passes(self, passes: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
        """Wraps passes so that the graph that each returns, or edits, becomes a stage named after the pass."""
        return [self._watched(one) for one in passes]

    def overlay(
        self,
        name: str,
        data: Any,
        *,
        stage: str | None = None,
        method: str | None = None,
        path: str | None = None,
        metric: str | None = None,
        metrics: Sequence[str] | str | None = None,
        node: str | None = None,
        kind: str | None = None,
        unit: str | None = None,
        better: str | None = None,
    ) -> None:
        """Lays numbers, or texts, on nodes: operators, inputs, constants and outputs alike, in one stage or in several.

        Names that no stage has are counted, logged with the nearest names, and kept on the run itself.

        Args:
            data: Node, or (node, port), to a number, a text, None, or a mapping from metric to one of these; a
                DataFrame, anything with ``__arrow_c_stream__``, or the path of a CSV or Parquet file, with a column
                ``node``; the frame of ``Inspector.calculate_numeric_gap``; the CSV of the QNN debugger. NaN and
                infinity are numbers; None, and what a table leaves empty, is missing.
            stage: Where the nodes are; default: a table's column ``stage``, else the one stage that has the name.
            method: Entry point that they belong to; default: any.
            path: Nested graph that they stand in; default: the outermost that has the name.
            metric: Name of the metric, where the data has none.
            metrics: Which to take of a table; default: all.
            node: The column that names the nodes; default: ``node``, ``name``, ``node_name`` or ``id``.
            kind: ``accuracy``, ``latency``, ``category``, ``static`` or ``statistics``; default: ``category`` for
                texts, else ``accuracy``.
            better: ``higher`` or ``lower``; default: what is known of the metric.

        Raises:
            UsageError: There is no such stage, a name stands in several places, or an argument does not fit the data.
            SourceError: The file cannot be read, or is refused.
        """
        from fxstore.ingest.metrics_given import check_names, overlay_of

        names = [one.name for one in self._stages]
        if stage is not None and stage not in names:
            raise UsageError(f"stage {stage!r} is not in this run", hint=nearest(stage, names))
        where = {"stage": stage, "method": method, "path": path}
        about = {"kind": kind, "unit": unit, "better": better}
        overlay = overlay_of(name, data, where, about, metric, _several(metrics), node)
        check_names(overlay, RunNodes(self._stages))
        self._overlays.wait([overlay])

    def measure(
        self,
        inputs: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        reference: str = "float",
        metrics: object = None,
        stages: Sequence[str] | str | None = None,
        method: str = "forward",
    ) -> None:
        """Runs stages on an input and stores how far each of their values is from the reference's.

        A failure while they run is logged, and the run is ``partial`` then; it is raised where the recorder is strict.

        Args:
            inputs: One input: a tuple as the model takes it.
            kwargs: Its keyword inputs.
            reference: The stage that counts as right.
            metrics: As :func:`fxstore.metrics.resolve` takes them: names, names with a limit (``cosine>=0.99``),
                functions, comparators; default: cosine, mse, max_abs, sqnr.
            stages: What to measure; default: every later stage that runs in Python. What was edited since it was
                recorded is left out then, and logged.
            method: The entry point that is run.

        Raises:
            UsageError: A stage or a metric is unknown, cannot be run or was edited, or nothing is left to measure.
        """
        from fxstore.ingest.running import Given, Side, measure_stage
        from fxstore.metrics import resolve

        asked, stages = resolve(metrics), _several(stages)
        given = Given(_checked(inputs), kwargs or {}, method)
        right = Side(reference, self._source(reference))
        for name in self._runnable_after(reference) if stages is None else stages:
            measured = Side(name, self._source(name))
            with self._watch(f"{name} is not measured against {reference}"):
                rows = measure_stage(self._structure(), right, measured, given, asked)
                self._lay(f"{name} vs {reference}", "accuracy", "measured in Python", rows, method)

    def device(
        self,
        inputs: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        stage: str = "runtime",
        reference: str = "quantized",
        metrics: object = None,
        method: str = "forward",
    ) -> None:
        """Runs the emitted program with tracing, in a process of its own, and stores accuracy and latency.

        A failure while it runs is logged, and the run is ``partial`` then; it is raised where the recorder is strict.

        Args:
            inputs: One input: a tuple as the model takes it.
            kwargs: Its keyword inputs.
            stage: A stage whose source is an ``ExecutorchProgramManager``.
            reference: The stage that counts as right.
            metrics: As :func:`fxstore.metrics.resolve` takes them: names, names with a limit (``cosine>=0.99``),
                functions, comparators; default: cosine, mse, max_abs, sqnr.
            method: The entry point that is run.

        Raises:
            UsageError: A stage or a metric is unknown, was edited, or is no emitted program.
        """
        from fxstore.ingest.running import Given, Side, run_on_device
        from fxstore.metrics import resolve

        asked = resolve(metrics)
        given = Given(_checked(inputs), kwargs or {}, method)
        right, program = Side(reference, self._source(reference)), Side(stage, self._source(stage))
        if not hasattr(program.source, "buffer"):
            raise UsageError(f"stage {stage!r} is no emitted program", hint="record what to_executorch() returns")
        with self._watch(f"{stage} is not run on the device"):
            found = run_on_device(self._structure(), right, program, given, asked)
            self._lay(f"{stage} latency", "latency", "ETDump", found.latency, method, unit="ns", better="lower")
            self._lay(f"{stage} vs {reference}", "accuracy", "ETDump and debug buffer", found.accuracy, method)

    def finish(self) -> Run:
        """Commits the run, once, and returns it.

        Raises:
            UsageError: Nothing was recorded.
        """
        if self.run is None:
            if not self._stages:
                raise UsageError(f"run {self.name!r} has no stage", hint="call rec.stage(name, source) in the block")
            self.lay_overlays()
            record = RunRecord(
                self.name,
                tuple(self._stages),
                self._structure(),
                tuple(self._overlays.laid),
                self.model,
                self.tags,
                {**loaded_versions(), **self._versions},
                self._status,
            )
            names = tuple(stage.name for stage in self._stages)
            self.run = Run(self._commit(record), self.name, self._status, names, tuple(self._notes))
            self._sources.clear()
        return self.run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._status = "partial"
            if not self._stages:
                return
        self.finish()

    def _check_name(self, name: str) -> None:
        if not name or any(stage.name == name for stage in self._stages):
            raise UsageError(f"a stage cannot be called {name!r}", hint="each stage of a run needs a name of its own")

    def _append(self, stage: Stage) -> None:
        self._check_name(stage.name)
        same = next((other.name for other in self._stages if stage.graphs and _content(other) == _content(stage)), None)
        if same is not None:
            stage = replace(stage, note="; ".join(filter(None, (stage.note, f"content equals stage {same}"))))
        self._stages.append(stage)
        self._linked = None

    def _take(self, found: adapters.Ingested, name: str | None) -> None:
        called = found.called(name)
        for stage in found.stages:
            self._append(replace(stage, name=called[stage.name]))
        self._status = "partial" if found.status != "complete" else self._status
        self._overlays.wait(found.overlays, called)
        self._versions.update(found.versions)

    @contextmanager
    def _watch(self, what: str) -> Iterator[None]:
        """Lets a caller's mistake through; anything else is lost, not raised, unless the recorder is strict."""
        try:
            yield
        except UsageError:
            raise
        except Exception as error:
            self._lost(what, error)

    def _lost(self, what: str, error: Exception) -> None:
        if self._strict:
            raise error
        self._note(f"{what}: {error}")
        self._status = "partial"

    def _note(self, line: str) -> None:
        _log.warning("%s", line)
        self._notes.append(line)

    def lay_overlays(self, *, strict: bool | None = None) -> None:
        """Lays what came by name on the stages, now that all of these are there.

        Args:
            strict: Raise what would be logged; default: as the recorder.
        """
        nodes = RunNodes(self._stages)
        for waiting in self._overlays.waiting():
            try:
                for line in self._overlays.lay(waiting, nodes):
                    self._note(line)
            except Exception as error:  # a source of numbers must not cost the run its graphs
                if strict:
                    raise
                self._lost(f"overlay {getattr(waiting[0], 'name', '')} is not laid", error)

    def _structure(self) -> Structure:
        if self._linked is None:
            self._linked = structure_of(self._stages)
        return self._linked

    def _source(self, name: str) -> object:
        """Returns a stage's live object, as long as it is what was recorded."""
        source = self._sources.get(name)
        if source is None:
            known = [stage.name for stage in self._stages]
            why = "cannot be run: its live object is not at hand" if name in known else "is not in this run"
            raise UsageError(f"stage {name!r} {why}", hint=nearest(name, known) or f"stages: {', '.join(known)}")
        now = adapters.read(source).stages[0]
        then = next(stage for stage in self._stages if stage.name == name)
        was, is_now = self._states[name], adapters.state_of(source)
        changed = sorted(key for key in was.keys() | is_now.keys() if was.get(key) != is_now.get(key))
        if _content(now) != _content(then) or changed:
            what = f": {', '.join(changed[:3])} changed" if changed else ""
            raise UsageError(
                f"stage {name!r} was edited after it was recorded{what}",
                hint="measure it before it is edited (calibration writes buffers, too), or record a deep copy of it",
            )
        return source

    def _runnable_after(self, reference: str) -> list[str]:
        names = [stage.name for stage in self._stages]
        found = []
        for stage in self._stages[names.index(reference) + 1 :]:
            if stage.kind == "runtime":
                continue
            try:
                self._source(stage.name)
            except UsageError as error:
                _log.warning("left out of the measurement: %s", error)
            else:
                found.append(stage.name)
        if not found:
            raise UsageError(f"no stage after {reference!r} can be measured", hint=f"stages: {', '.join(names)}")
        return found

    def _lay(
        self,
        name: str,
        kind: str,
        source: str,
        rows: pa.Table,
        method: str,
        unit: str | None = None,
        better: str | None = None,
    ) -> None:
        name = name if method == "forward" else f"{name} ({method})"
        self._overlays.add(Overlay(name, kind, source, rows, unit, better))

    def _watched(self, one: Callable[..., Any]) -> Callable[..., Any]:
        label = getattr(one, "__name__", type(one).__name__)

        def run(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = one(module, *args, **kwargs)
            graph = getattr(result, "graph_module", result)
            taken = sum(stage.name.partition("#")[0] == label for stage in self._stages)
            self.stage(label if not taken else f"{label}#{taken + 1}", module if graph is None else graph)
            return result

        return run


def _several(names: Sequence[str] | str | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _checked(inputs: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(inputs, tuple | list):
        raise UsageError(f"the input is a {type(inputs).__name__}", hint="pass a tuple, as the model takes it: (x,)")
    return tuple(inputs)


def _content(stage: Stage) -> list[tuple[str, str, str]]:
    return [(graph.method, graph.path, graph.fingerprint()) for graph in stage.graphs]
