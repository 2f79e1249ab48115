"""Numbers that name their nodes: laid on the run's stages once all of these are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from fxstore import tables
from fxstore.errors import UsageError, nearest
from fxstore.kinds import kind_of
from fxstore.metrics.definitions import known_better
from fxstore.records import Graph, Overlay, Stage

if TYPE_CHECKING:
    from fxstore.ingest.executorch.events import EventLayer

ROWS: Final = pa.schema([field for field in tables.METRICS if field.name != "overlay"])
"""Rows of an :class:`fxstore.records.Overlay`: nodes by ordinal."""


def rows_of(size: int, columns: Mapping[str, object]) -> pa.Table:
    """Returns rows of schema :data:`ROWS`.

    Args:
        size: How many.
        columns: A list of cells, or the one that all rows have; a column that is left out is NULL.
    """
    cells = [columns.get(field.name) for field in ROWS]
    return pa.table(
        [
            pa.array(one, field.type) if isinstance(one, list) else pa.repeat(pa.scalar(one, field.type), size)
            for one, field in zip(cells, ROWS, strict=True)
        ],
        schema=ROWS,
    )


NAMED: Final = pa.schema(
    [
        ("stage", pa.string()),  # NULL: whatever stage the name stands in, as long as it is one
        ("method", pa.string()),  # NULL: any
        ("path", pa.string()),  # '' the outermost graph; NULL: the outermost that has the name
        ("node", pa.string()),  # NULL: the run itself
        ("port", pa.int32()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("text", pa.string()),
        ("status", pa.string()),  # NULL: told by the value
        ("reason", pa.string()),
        ("scope", pa.string()),
        ("ref_stage", pa.string()),  # the node that it was compared with
        ("ref_node", pa.string()),
        ("sample", pa.int32()),
        ("verdict", pa.string()),  # pass or fail, where the source has judged
    ]
)
"""Rows of a :class:`NodeOverlay`: nodes by name. Every column but ``metric`` may be left out."""

_LONGEST_LIST = 5
_WITH_HINTS = 50


@dataclass(frozen=True)
class Laid:
    """An overlay on the nodes of a run, and one line for each thing that it could not place."""

    overlay: Overlay
    notes: tuple[str, ...] = ()


class Layer(Protocol):
    """What an adapter gives instead of an overlay whose nodes only the whole run tells."""

    def lay(self, run: RunNodes) -> Iterable[Laid]:
        """Returns overlays on these nodes."""
        ...


@dataclass(frozen=True)
class Place:
    """One graph of a run: its stage, and the ordinal of its first node."""

    stage: Stage
    graph: Graph
    base: int


class RunNodes:
    """The nodes of a run's stages by name; ordinals are those that the run is stored with.

    Attributes:
        places: The graphs of all stages, in the run's order.
        nodes: Number of nodes of the run.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(stages)
        self.called: Mapping[str | None, str] = {}
        self.places: list[Place] = []
        self.nodes = 0
        for stage in stages:
            for graph in stage.graphs:
                self.places.append(Place(stage, graph, self.nodes))
                self.nodes += graph.nodes.num_rows
        self._names: dict[tuple[str | None, ...], dict[str, list[tuple[Place, int]]]] = {}

    def of_source(self, called: Mapping[str | None, str]) -> RunNodes:
        """Returns the same nodes, with a source's own names of stages.

        Args:
            called: The run's name of a stage by the source's; None for where the source names none.
        """
        seen = copy(self)
        seen.called = called
        return seen

    def find(
        self, node: str, stage: str | None = None, method: str | None = None, path: str | None = None
    ) -> int | str:
        """Returns the ordinal of the one node of that name, or a line that says why there is not one.

        Args:
            stage: None: any. So for ``method``.
            path: None: any graph, the outermost first.
        """
        stage = self.called.get(stage, stage)
        found = self._named(stage, method, path).get(node, [])
        if path is None and len(found) > 1:
            found = [hit for hit in found if hit[0].graph.path == ""] or found
        if len(found) == 1:
            return found[0][1]
        if not found:
            return "names no node" if stage is None else f"names no node of stage {stage}"
        where = dict.fromkeys(_where(place) for place, _ in found)
        return f"names several nodes: in {', '.join(list(where)[:_LONGEST_LIST])}"

    def check_asked(self, asked: Mapping[str, Set[str | None]]) -> None:
        """Raises a UsageError where all rows are said to be in one stage, or method, that the run has not."""
        for what, names in asked.items():
            known = [place.stage.name if what == "stage" else place.graph.method for place in self.places]
            name = next(iter(names)) if len(names) == 1 else None
            if name is not None and known and self.called.get(name, name) not in known:
                there = ", ".join(map(repr, dict.fromkeys(known)))
                raise UsageError(f"the run has no {what} {name!r}", hint=nearest(name, known) or f"there is {there}")

    def nearest(self, node: str, stage: str | None = None, method: str | None = None) -> str | None:
        """Returns a hint with the nearest names, or None."""
        return nearest(node, self._named(self.called.get(stage, stage), method, None))

    def _named(self, *key: str | None) -> dict[str, list[tuple[Place, int]]]:
        names = self._names.get(key)
        if names is None:
            names = self._names[key] = {}
            for place in self._places(*key):
                for position, name in enumerate(place.graph.nodes["name"].to_pylist()):
                    names.setdefault(name, []).append((place, place.base + position))
        return names

    def _places(self, stage: str | None, method: str | None, path: str | None) -> Iterator[Place]:
        for place in self.places:
            own = (place.stage.name, place.graph.method, place.graph.path)
            if all(asked in (None, is_) for asked, is_ in zip((stage, method, path), own, strict=True)):
                yield place


def _where(place: Place) -> str:
    graph = place.graph
    inner = "/".join(part for part in (graph.method if graph.method != "forward" else "", graph.path) if part)
    return f"{place.stage.name} ({inner})" if inner else place.stage.name


@dataclass(frozen=True)
class NodeOverlay:
    """A set of numbers or categories whose rows name their nodes; it may span stages.

    Attributes:
        name: The overlay's name.
        kind: ``accuracy``, ``latency``, ``category``, ``static``, ``statistics``, or another package's
            (:mod:`fxstore.kinds`).
        rows: Schema :data:`NAMED`.
        source: Where it comes from, in a few words; no path.
        unit: Of the values, such as ``ns``; or None.
        better: ``higher`` or ``lower`` of all its metrics; None: each metric's own, where its name is known.
    """

    name: str
    kind: str
    rows: pa.Table
    source: str = "given"
    unit: str | None = None
    better: str | None = None

    @classmethod
    def of(cls, name: str, kind: str, rows: Iterable[Mapping[str, Any]], **about: Any) -> NodeOverlay:
        """Makes an overlay from one mapping per row, with the columns of :data:`NAMED` that it has.

        Raises:
            ValueError: A row has a column that there is none of.
            UsageError: There is no such kind.
        """
        kind_of(kind)
        columns: dict[str, list[Any]] = {name: [] for name in NAMED.names}
        for row in rows:
            if unknown := row.keys() - columns.keys():
                raise ValueError(f"a row has no column {sorted(unknown)[0]!r}: {', '.join(NAMED.names)}")
            for key, column in columns.items():
                column.append(row.get(key))
        return cls(name, kind, pa.table(columns, schema=NAMED), **about)

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlay on the run's nodes; what names none keeps its number, on the run itself."""
        lost = _Lost(run)
        kind = kind_of(self.kind)
        better = self.better or kind.better
        columns = self.rows.to_pydict()
        run.check_asked({what: set(columns[what]) for what in ("stage", "method")})
        where = list(zip(*(columns[key] for key in ("node", "stage", "method", "path")), strict=True))
        found = {key: run.find(*key) for key in dict.fromkeys(where) if key[0] is not None}
        reasons = {key: lost.note(key, why) for key, why in found.items() if isinstance(why, str)}
        reference = [
            None if node is None else run.find(node, stage, method)
            for node, stage, method in zip(columns["ref_node"], columns["ref_stage"], columns["method"], strict=True)
        ]
        rows = {
            "ordinal": [_number(found.get(key)) for key in where],
            "port": columns["port"],
            "metric": columns["metric"],
            "value": columns["value"],
            "text": [key[0] if key in reasons else text for key, text in zip(where, columns["text"], strict=True)],
            "status": list(map(_status, columns["status"], columns["value"], columns["text"])),
            "reason": [reasons.get(key, reason) for key, reason in zip(where, columns["reason"], strict=True)],
            "scope": columns["scope"],
            "ref": [_number(ordinal) for ordinal in reference],
            "sample": columns["sample"],
            "verdict": columns["verdict"],
            "better": [None if better else known_better(metric) for metric in columns["metric"]],
            **dict.fromkeys(("unit", "threshold"), [None] * len(where)),
        }
        table = pa.table(rows, schema=ROWS)
        yield Laid(
            Overlay(self.name, self.kind, self.source, table, self.unit or kind.unit, better), lost.notes(self.name)
        )


Waiting = tuple[Layer, Mapping[str | None, str]]


class Overlays:
    """The overlays of one run: laid, each under a name of its own, or waiting for its stages."""

    def __init__(self) -> None:
        self.laid: list[Overlay] = []
        self._waiting: list[Waiting] = []

    def add(self, overlay: Overlay) -> None:
        """Adds an overlay; the second of a name ends in ``#2``."""
        taken = sum(other.name.partition(" #")[0] == overlay.name for other in self.laid)
        self.laid.append(replace(overlay, name=f"{overlay.name} #{taken + 1}") if taken else overlay)

    def extend(self, overlay: Overlay) -> None:
        """Adds the rows of a measurement: as further samples, where the same was measured before."""
        from fxstore.ingest.measure.samples import merged

        for i, other in enumerate(self.laid):
            if (other.name, other.kind, other.source) == (overlay.name, overlay.kind, overlay.source):
                self.laid[i] = merged(other, overlay.metrics)
                return
        self.add(overlay)

    def first(self, overlay: Overlay) -> None:
        """Adds an overlay as the oldest: where one is not named, newer ones are preferred."""
        self.laid.insert(0, overlay)

    def aggregate(self) -> None:
        """Adds mean and worst of accuracies over several samples, and statistics of latencies."""
        from fxstore.ingest.executorch.events import durations
        from fxstore.ingest.measure.samples import aggregated

        found = [aggregated(overlay) for overlay in self.laid if overlay.kind == "accuracy"]
        found += [durations(overlay) for overlay in self.laid if overlay.kind == "latency"]
        self.laid = [overlay for overlay in found if overlay is not None] + self.laid

    def wait(self, layers: Iterable[Layer], called: Mapping[str | None, str] | None = None) -> None:
        """Keeps layers until all stages are there; ``called`` as :meth:`RunNodes.of_source` takes it."""
        self._waiting.extend((layer, called or {}) for layer in layers)

    def dumps(self) -> list[EventLayer]:
        """Returns the ETDumps that wait."""
        from fxstore.ingest.executorch.events import EventLayer

        return [layer for layer, _ in self._waiting if isinstance(layer, EventLayer)]

    def renew(self, old: Layer, new: Layer) -> None:
        """Puts a layer in the place of one that waits."""
        self._waiting = [(new if layer is old else layer, called) for layer, called in self._waiting]

    def waiting(self) -> list[Waiting]:
        """Returns the layers that wait, and keeps none."""
        layers, self._waiting = self._waiting, []
        return layers

    def lay(self, waiting: Waiting, run: RunNodes) -> Iterator[str]:
        """Adds a layer's overlays; yields a line for what could not be placed."""
        layer, called = waiting
        for laid in layer.lay(run.of_source(called)):
            self.add(laid.overlay)
            yield from laid.notes


@dataclass
class _Lost:
    """Counts what an overlay names and the run does not have."""

    run: RunNodes
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def note(self, key: tuple[Any, ...], why: str) -> str:
        node, stage, method, _ = key
        self.count += 1
        if self.count <= _WITH_HINTS and "several" not in why and (hint := self.run.nearest(node, stage, method)):
            why = f"{why}; {hint}"
        if self.count <= _LONGEST_LIST:
            self.lines.append(f"{node!r} {why}")
        return why

    def notes(self, overlay: str) -> tuple[str, ...]:
        if not self.count:
            return ()
        more = f"; and {self.count - len(self.lines)} more" if self.count > len(self.lines) else ""
        return (f"overlay {overlay}: {self.count} ids lie on no node: {'; '.join(self.lines)}{more}",)


def _number(found: int | str | None) -> int | None:
    return found if isinstance(found, int) else None


def _status(status: str | None, value: float | None, text: str | None) -> str:
    if status is not None:
        return status
    if value is None:
        return "not_measured" if text is None else "ok"
    return "ok" if math.isfinite(value) else "non_finite"
