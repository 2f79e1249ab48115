"""Records one run: stages as they appear, then what was measured on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from fxstore.errors import UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.backends import BackendLayer
from fxstore.ingest.overlays import Overlays, RunNodes
from fxstore.ingest.privacy import public_run
from fxstore.ingest.versions import loaded_versions
from fxstore.link import structure_of
from fxstore.measuring import Measuring, several_names
from fxstore.privacy import is_public
from fxstore.records import RunRecord, Stage, Structure

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


class Recorder(Measuring):
    """Collects the stages and overlays of one run; commits it when the ``with`` block ends.

    A stage that cannot be read is logged and stored as ``failed``, and the run as ``partial``: recording never breaks
    the compile that it watches. Leaving by an exception stores what there is, with status ``partial``.

    Args:
        commit: Takes the finished run and returns its id.
        strict: Raise what would be logged.
        privacy: ``public``, or None.
    """

    def __init__(
        self,
        commit: Callable[[RunRecord], str],
        name: str,
        *,
        model: str | None = None,
        tags: Mapping[str, str] | None = None,
        strict: bool = False,
        privacy: str | None = None,
    ) -> None:
        self._public = is_public(privacy)
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
        self._states: dict[str, Any] = {}
        self._parts: dict[str, object] = {}
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
            self._keep(name, source)

    def _keep(self, name: str, source: object) -> None:
        """Keeps what a stage is measured with."""
        try:
            state, snapshot = adapters.state_of(source), adapters.snapshot_of(source)
        except Exception as error:  # the graph is recorded all the same, and the user's compile must go on
            self._lost(f"stage {name} cannot be measured", error)
            return
        self._states[name], self._sources[name] = state, snapshot

    def raise_if_empty(self) -> None:
        """Raises the error of the first stage, where none could be read."""
        if self._errors and not any(stage.graphs for stage in self._stages):
            raise self._errors[0]

    def miss(self, what: str, error: Exception) -> None:
        """Keeps the run without one of its parts: it is ``partial``, and its last stage's note says what is missing."""
        self._lost(what, error)
        if self._stages:
            last = self._stages[-1]
            note = "; ".join(filter(None, (last.note, f"{what}: {error}")))
            self._stages[-1] = replace(last, status="partial" if last.status == "complete" else last.status, note=note)

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
        overlay = overlay_of(name, data, where, about, metric, several_names(metrics), node)
        check_names(overlay, RunNodes(self._stages))
        self._overlays.wait([overlay])

    def finish(self) -> Run:
        """Commits the run, once, and returns it.

        Raises:
            UsageError: Nothing was recorded.
        """
        if self.run is None:
            if not self._stages:
                raise UsageError(f"run {self.name!r} has no stage", hint="call rec.stage(name, source) in the block")
            self._overlays.wait([BackendLayer()])
            self.lay_overlays()
            self._overlays.aggregate()
            self._lay_static()
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
            if self._public:
                record = public_run(record, structure_of)
            self.run = Run(self._commit(record), self.name, self._status, names, tuple(self._notes))
            self._sources.clear()
            self._parts.clear()
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
        same = next((other.name for other in self._stages if stage.graphs and _same_graphs(other, stage)), None)
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
        for own, live in found.live.items():
            self._parts[called[own]] = live

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

    def _lay_static(self) -> None:
        from fxstore.ingest.static import static_overlay

        with self._watch("the costs of operators are not told"):
            overlay = static_overlay(self._structure())
            if overlay is not None:
                self._overlays.first(overlay)

    def _structure(self) -> Structure:
        if self._linked is None:
            self._linked = structure_of(self._stages)
        return self._linked

    def _watched(self, one: Callable[..., Any]) -> Callable[..., Any]:
        label = getattr(one, "__name__", type(one).__name__)

        def run(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = one(module, *args, **kwargs)
            graph = getattr(result, "graph_module", result)
            taken = sum(stage.name.partition("#")[0] == label for stage in self._stages)
            self.stage(label if not taken else f"{label}#{taken + 1}", module if graph is None else graph)
            self._stages[-1] = replace(self._stages[-1], made_by=label)
            return result

        return run


def _same_graphs(one: Stage, other: Stage) -> bool:
    """Tells whether two stages have the same nodes and uses; what is known of their handles may differ."""
    return len(one.graphs) == len(other.graphs) and all(
        (a.method, a.path) == (b.method, b.path) and a.nodes.equals(b.nodes) and a.edges.equals(b.edges)
        for a, b in zip(one.graphs, other.graphs, strict=True)
    )
