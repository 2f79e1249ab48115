"""The two sides of a check: some runs each, with their nodes named by those of the newest head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fxstore.store import CommittedRun

if TYPE_CHECKING:
    from fxstore.query.session import Store

Key = tuple[str, int]
"""A node: ``head`` and its ordinal in the newest head, or the id of the older run that alone has it and its ordinal."""


@dataclass(frozen=True)
class Cell:
    """What one run says of one node and metric.

    Attributes:
        values: All that were measured: ports, samples.
        broken: For each value 0 where it is NaN, 1 where it is infinite, else 2.
        reason: Why there is no value, where there is none.
    """

    stage: str
    kind: str
    unit: str | None
    better: str
    values: tuple[float, ...]
    broken: tuple[int, ...]
    reason: str

    @property
    def worst(self) -> tuple[float, int]:
        """The worst value, and how broken it is; a cell without values has none."""
        sign = 1 if self.better == "higher" else -1
        return min(zip(self.values, self.broken, strict=True), key=lambda pair: (pair[1], sign * pair[0]))


class Sides:
    """Runs of the base and of the head, oldest first; the newest of each stands for it."""

    def __init__(self, store: Store, base: Sequence[CommittedRun], head: Sequence[CommittedRun]) -> None:
        self.store = store
        self.base = list(base)
        self.head = list(head)
        self._keys: dict[str, dict[int, Key]] = {}
        self._held: dict[str, list[dict[str, Any]]] = {}

    @cached_property
    def origins(self) -> dict[int, int]:
        """Ordinal in the newest base of each node of the newest head that stands in both."""
        keys = self._keys_of(self.base[-1])
        return {ordinal: node for node, (run, ordinal) in keys.items() if run == "head"}

    def is_in_head(self, node: Key) -> bool:
        """Whether a node stands in the newest head."""
        return node[0] == "head"

    def ordinals(self, node: Key) -> tuple[int | None, int | None]:
        """Returns a node's ordinals in the newest base and the newest head."""
        if node[0] == "head":
            return self.origins.get(node[1]), node[1]
        return (node[1] if node[0] == self.base[-1].run_id else None), None

    def overlays(self, runs: Sequence[CommittedRun], metric: str) -> list[str]:
        """Returns the names of the overlays of some runs that hold a metric."""
        return sorted({row["overlay"] for run in runs for row in self._held_by(run) if row["metric"] == metric})

    def metrics(self) -> set[str]:
        """Returns the metrics that the newest runs hold."""
        return {row["metric"] for run in (self.base[-1], self.head[-1]) for row in self._held_by(run) if row["metric"]}

    def _held_by(self, run: CommittedRun) -> list[dict[str, Any]]:
        if run.run_id not in self._held:
            self._held[run.run_id] = self.store.rows_of("_held_metrics", run.run_id).to_pylist()
        return self._held[run.run_id]

    def cells(self, run: CommittedRun, metric: str, overlay: str, stage: str | None) -> dict[Key, Cell]:
        """Returns what an overlay of a run holds of a metric, node by node, in one stage or in all."""
        keys = self._keys_of(run)
        rows: dict[int, list[dict[str, Any]]] = {}
        for row in self.store.rows_of("_gate_values", run.run_id, metric, overlay).to_pylist():
            if stage in (None, row["stage"]):
                rows.setdefault(row["ordinal"], []).append(row)
        return {keys.get(ordinal, (run.run_id, ordinal)): _cell(found) for ordinal, found in rows.items()}

    def named(self, run: CommittedRun, rows: Sequence[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Returns rows with an ordinal by their node."""
        keys = self._keys_of(run)
        return {keys.get(row["ordinal"], (run.run_id, row["ordinal"])): row for row in rows}

    def _keys_of(self, run: CommittedRun) -> dict[int, Key]:
        """Returns the node of each ordinal that the newest head has, too; equal structures are matched once."""
        head = self.head[-1]
        if run.structure_hash not in self._keys:
            if run.structure_hash == head.structure_hash:
                pairs = {ordinal: ("head", ordinal) for ordinal in range(head.nodes)}
            else:
                rows = self.store.rows_of("_run_changes", run.run_id, head.run_id).select(["base", "head"]).to_pylist()
                pairs = {
                    row["base"]: ("head", row["head"])
                    for row in rows
                    if row["base"] is not None and row["head"] is not None
                }
            self._keys[run.structure_hash] = pairs
        return self._keys[run.structure_hash]


def _cell(rows: Sequence[dict[str, Any]]) -> Cell:
    first, measured = rows[0], [row for row in rows if row["value"] is not None]
    return Cell(
        stage=first["stage"],
        kind=first["kind"],
        unit=first["unit"],
        better=first["better"],
        values=tuple(row["value"] for row in measured),
        broken=tuple(row["broken"] for row in measured),
        reason=first["reason"],
    )
