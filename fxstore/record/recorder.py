"""Records one run: stages as they appear, then what was measured on them.

The recorder is what users hold. What it knows is in an :class:`fxstore.record.open_run.OpenRun`; its methods that run
stages are functions of :mod:`fxstore.record.measure` and :mod:`fxstore.record.traced`, which share that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from fxstore.errors import UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.executorch.handles import BackendLayer
from fxstore.ingest.overlays import RunNodes
from fxstore.ingest.privacy import public_run
from fxstore.ingest.versions import loaded_versions
from fxstore.link import structure_of
from fxstore.privacy import is_public
from fxstore.record.measure import device, measure, several_names, tensors
from fxstore.record.open_run import OpenRun
from fxstore.record.traced import values
from fxstore.records import RunRecord, Stage

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
        public = is_public(privacy)
        if not isinstance(name, str) or not name or not isinstance(model, str | None):
            raise UsageError("a run's name, and its model's, are texts", hint="pass name='nightly'")
        self.name = name
        self.model = model
        self.tags = {str(key): str(value) for key, value in (tags or {}).items()}
        self.run: Run | None = None
        self._commit = commit
        self._open = OpenRun(strict, public)

    measure = measure
    device = device
    values = values
    tensors = tensors

    def stage(self, name: str, source: object, **options: Any) -> None:
        """Takes a snapshot of a source now; later edits of it change nothing in the store.

        Args:
            name: The stage's name; a source that holds several stages gives them all, each as ``name/its own``.
            source: Whatever an adapter accepts; of several methods, a dict from method to exported program.
            options: What its adapter takes.

        Raises:
            UsageError: The name is taken, or empty, or the adapter takes no such option.
        """
        self._open.check_name(name)
        try:
            found = adapters.read(source, options).titled(name)
        except UsageError:
            raise
        except Exception as error:  # whatever it is, the user's compile must go on
            self._open.errors.append(error)
            self._open.lost(f"stage {name} is not recorded", error)
            self._open.stages.append(Stage(name, (), status="failed", note=str(error)))
            return
        self._open.take(found, name)
        if len(found.stages) == 1 and found is not source:
            self._open.keep(name, source)

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
        from fxstore.ingest.tables.metrics import check_names, overlay_of

        names = [one.name for one in self._open.stages]
        if stage is not None and stage not in names:
            raise UsageError(f"stage {stage!r} is not in this run", hint=nearest(stage, names))
        where = {"stage": stage, "method": method, "path": path}
        about = {"kind": kind, "unit": unit, "better": better}
        overlay = overlay_of(name, data, where, about, metric, several_names(metrics), node)
        check_names(overlay, RunNodes(self._open.stages))
        self._open.overlays.wait([overlay])

    def finish(self) -> Run:
        """Commits the run, once, and returns it.

        Raises:
            UsageError: Nothing was recorded.
        """
        if self.run is None:
            if not self._open.stages:
                raise UsageError(f"run {self.name!r} has no stage", hint="call rec.stage(name, source) in the block")
            self._open.overlays.wait([BackendLayer()])
            self._open.lay_overlays()
            self._open.overlays.aggregate()
            self._open.lay_static()
            record = RunRecord(
                self.name,
                tuple(self._open.stages),
                self._open.structure(),
                tuple(self._open.overlays.laid),
                self.model,
                self.tags,
                {**loaded_versions(), **self._open.versions},
                self._open.status,
            )
            names = tuple(stage.name for stage in self._open.stages)
            if self._open.public:
                record = public_run(record, structure_of)
            self.run = Run(self._commit(record), self.name, self._open.status, names, tuple(self._open.notes))
            self._open.sources.clear()
            self._open.parts.clear()
        return self.run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._open.status = "partial"
            if not self._open.stages:
                return
        self.finish()

    def _watched(self, one: Callable[..., Any]) -> Callable[..., Any]:
        label = getattr(one, "__name__", type(one).__name__)

        def run(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = one(module, *args, **kwargs)
            graph = getattr(result, "graph_module", result)
            taken = sum(stage.name.partition("#")[0] == label for stage in self._open.stages)
            self.stage(label if not taken else f"{label}#{taken + 1}", module if graph is None else graph)
            self._open.stages[-1] = replace(self._open.stages[-1], made_by=label)
            return result

        return run
