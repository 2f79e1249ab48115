"""A run that is being recorded: its stages, what each is run with, what was measured, and what is missing.

The recorder and what it measures with share one :class:`OpenRun`. Nothing is stored before the recorder commits it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fxstore.errors import UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.overlays import Overlays, RunNodes
from fxstore.link import structure_of
from fxstore.records import Overlay, Stage, Structure

if TYPE_CHECKING:
    import pyarrow as pa

    from fxstore.ingest.measure.stages import Side

_log = logging.getLogger("fxstore")


@dataclass
class OpenRun:
    """What is known of a run so far.

    Attributes:
        sources: Snapshot of each stage that is a live object, by the stage's name.
        states: Its weights and buffers as they were when it was recorded.
        parts: Live objects that a source of several stages held, by stage.
        notes: One line for each thing that is missing, and why.
        errors: Errors of stages that could not be read, in order.
        status: ``complete`` or ``partial``.
    """

    strict: bool = False
    public: bool = False
    status: str = "complete"
    stages: list[Stage] = field(default_factory=list)
    sources: dict[str, object] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, object] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    overlays: Overlays = field(default_factory=Overlays)
    notes: list[str] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    _linked: Structure | None = None

    def nodes(self, name: str) -> int:
        """Returns the number of nodes of a stage, those of nested graphs included."""
        return sum(len(graph.nodes) for stage in self.stages if stage.name == name for graph in stage.graphs)

    def check_name(self, name: str) -> None:
        """Raises where a stage cannot be called so."""
        if not name or any(stage.name == name for stage in self.stages):
            raise UsageError(f"a stage cannot be called {name!r}", hint="each stage of a run needs a name of its own")

    def append(self, stage: Stage) -> None:
        """Adds a stage behind the others; its note says which earlier one has the same content."""
        self.check_name(stage.name)
        same = next((other.name for other in self.stages if stage.graphs and _same_graphs(other, stage)), None)
        if same is not None:
            stage = replace(stage, note="; ".join(filter(None, (stage.note, f"content equals stage {same}"))))
        self.stages.append(stage)
        self._linked = None

    def take(self, found: adapters.Ingested, name: str | None = None) -> None:
        """Adds what an adapter read: stages, overlays, versions; under one name, or under its own names."""
        called = found.called(name)
        for stage in found.stages:
            self.append(replace(stage, name=called[stage.name]))
        self.status = "partial" if found.status != "complete" else self.status
        self.overlays.wait(found.overlays, called)
        self.versions.update(found.versions)
        for own, live in found.live.items():
            self.parts[called[own]] = live

    def keep(self, name: str, source: object) -> None:
        """Keeps what a stage is measured with."""
        try:
            state, snapshot = adapters.state_of(source), adapters.snapshot_of(source)
        except Exception as error:  # the graph is recorded all the same, and the user's compile must go on
            self.lost(f"stage {name} cannot be measured", error)
            return
        self.states[name], self.sources[name] = state, snapshot

    def raise_if_empty(self) -> None:
        """Raises the error of the first stage, where none could be read."""
        if self.errors and not any(stage.graphs for stage in self.stages):
            raise self.errors[0]

    def miss(self, what: str, error: Exception) -> None:
        """Keeps the run without one of its parts: it is ``partial``, and its last stage's note says what is missing."""
        self.lost(what, error)
        if self.stages:
            last = self.stages[-1]
            note = "; ".join(filter(None, (last.note, f"{what}: {error}")))
            self.stages[-1] = replace(last, status="partial" if last.status == "complete" else last.status, note=note)

    @contextmanager
    def watch(self, what: str) -> Iterator[None]:
        """Lets a caller's mistake through; anything else is lost, not raised, unless the recorder is strict."""
        try:
            yield
        except UsageError:
            raise
        except Exception as error:
            self.lost(what, error)

    def lost(self, what: str, error: Exception) -> None:
        """Notes what is missing, and makes the run ``partial``; raises the error where recording is strict."""
        if self.strict:
            raise error
        self.note(f"{what}: {error}", getattr(error, "hint", None))
        self.status = "partial"

    def note(self, line: str, hint: str | None = None) -> None:
        """Keeps a line with the run; the log says what to do, too."""
        _log.warning("%s", f"{line} ({hint})" if hint else line)
        self.notes.append(line)

    def lay_overlays(self, *, strict: bool | None = None) -> None:
        """Lays what came by name on the stages, now that all of these are there.

        Args:
            strict: Raise what would be logged; default: as the recorder.
        """
        nodes = RunNodes(self.stages)
        for waiting in self.overlays.waiting():
            try:
                for line in self.overlays.lay(waiting, nodes):
                    self.note(line)
            except Exception as error:  # a source of numbers must not cost the run its graphs
                if strict:
                    raise
                self.lost(f"overlay {getattr(waiting[0], 'name', '')} is not laid", error)

    def lay_static(self) -> None:
        """Adds the costs that shapes alone tell."""
        from fxstore.ingest.measure.static import static_overlay

        with self.watch("the costs of operators are not told"):
            overlay = static_overlay(self.structure())
            if overlay is not None:
                self.overlays.first(overlay)

    def structure(self) -> Structure:
        """Returns the graphs so far, and what links them; computed anew only after another stage came."""
        if self._linked is None:
            self._linked = structure_of(self.stages)
        return self._linked

    def runs_in_python(self, stage: Stage) -> bool:
        """Tells whether a stage can be run here without the runtime."""
        return stage.kind != "runtime" and stage.name in self.sources

    def source(self, name: str) -> object:
        """Returns a stage as it was recorded, ready to be run.

        Edits of its graphs after that do not matter: a stage is kept as a snapshot, which shares weights.
        """
        source = self.sources.get(name)
        if source is None:
            known = [stage.name for stage in self.stages]
            why = "cannot be run: its live object is not at hand" if name in known else "is not in this run"
            raise UsageError(f"stage {name!r} {why}", hint=nearest(name, known) or f"stages: {', '.join(known)}")
        was = self.states[name]
        changed = was.changed(source) if was is not None else []
        if changed:
            raise UsageError(
                f"weights of stage {name!r} were changed in place after it was recorded: {', '.join(changed[:3])}",
                hint="measure it before they are, or record a deep copy of it",
            )
        if hasattr(source, "executorch_program"):
            self._check_same(name, source)
        return source

    def _check_same(self, name: str, source: object) -> None:
        """Raises where an emitted program, which is run as it is, is no longer what was recorded."""
        then = next(stage for stage in self.stages if stage.name == name)
        if content(adapters.read(source).stages[0]) != content(then):
            raise UsageError(f"stage {name!r} was edited after it was recorded", hint="record it after its last edit")

    def side(self, name: str) -> Side:
        """Returns a stage as one side of a comparison.

        Raises:
            UsageError: There is no such stage, or it cannot be run as it was recorded.
        """
        return self.side_of(name, self.source(name), self.states.get(name))

    def side_of(self, name: str, source: object, state: Any) -> Side:
        """Returns a source as one side of a comparison, with the buffers that it had when it was recorded."""
        from fxstore.ingest.measure.stages import Side

        return Side(name, source, {} if state is None else state.written)

    def lay(
        self,
        name: str,
        kind: str,
        source: str,
        parts: Sequence[pa.Table],
        method: str,
        unit: str | None = None,
        better: str | None = None,
    ) -> None:
        """Adds an overlay of numbers that were measured; its name ends with any method but ``forward``."""
        name = name if method == "forward" else f"{name} ({method})"
        import pyarrow as pa

        self.overlays.extend(Overlay(name, kind, source, pa.concat_tables(parts), unit, better))


def _same_graphs(one: Stage, other: Stage) -> bool:
    """Tells whether two stages have the same nodes and uses; what is known of their handles may differ."""
    return len(one.graphs) == len(other.graphs) and all(
        (a.method, a.path) == (b.method, b.path) and a.nodes.equals(b.nodes) and a.edges.equals(b.edges)
        for a, b in zip(one.graphs, other.graphs, strict=True)
    )


def content(stage: Stage) -> list[tuple[str, str, str]]:
    """Returns what a stage's graphs hold: equal for equal content."""
    return [(graph.method, graph.path, graph.fingerprint()) for graph in stage.graphs]
