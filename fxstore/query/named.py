"""The runs of a store by their names, and an error with the nearest name where a question names what is not there."""

from __future__ import annotations

from typing import Final

from fxstore.errors import QueryError, UsageError
from fxstore.query import hints
from fxstore.query.asking import Asking
from fxstore.query.hints import literal
from fxstore.store import CommittedRun
from fxstore.tables import ORDINAL_BITS

_NIDS: Final = "SELECT nid, stage, name FROM nodes gives the nids"


class Named(Asking):
    """A store that knows what it holds under a name."""

    def run(self, run: str | None = None) -> CommittedRun | None:
        """Returns a run by id or name, or the latest; None where the store has no run at all.

        Raises:
            QueryError: There is no run of that id or name.
        """
        catalog = self._current().catalog
        if run is None:
            return catalog.latest()
        found = catalog.find(run)
        if found is None:
            raise hints.no_run(catalog, run)
        return found

    def existing_run(self, run: str | None = None) -> CommittedRun:
        """Returns a run by id or name, or the latest.

        Raises:
            QueryError: There is no such run, or no run at all.
        """
        found = self.run(run)
        if found is None:
            raise hints.no_run(self._current().catalog, run)
        return found

    def committed_runs(self) -> list[CommittedRun]:
        """Returns all runs, oldest first."""
        return list(self._current().catalog.runs.values())

    def _check_stage(self, stage: str | None, run: str | None) -> CommittedRun:
        found = self.existing_run(run)
        stages = [str(known["stage"]) for known in found.stages]
        if stage is not None and stage not in stages:
            raise QueryError(f"run {found.name!r} has no stage {stage!r}", hint=hints.among(stage, stages))
        return found

    def _check_node(self, stage: str, node: str, run: str | None) -> None:
        found = self._check_stage(stage, run)
        names = self._held("_held_nodes", found.run_id, stage)["name"].to_pylist()
        if node not in names:
            lister = f"SELECT name FROM nodes WHERE run_id = {literal(found.run_id)} AND stage = {literal(stage)}"
            hint = hints.among(node, names, lister)
            raise QueryError(f"stage {stage!r} of run {found.name!r} has no node {node!r}", hint=hint)

    def _check_nids(self, *nids: int) -> None:
        catalog = self._current().catalog
        for nid in nids:
            if type(nid) is not int:
                raise UsageError(f"a nid is a whole number, not {nid!r}", hint=_NIDS)
            run = catalog.runs.get(f"{nid >> ORDINAL_BITS:08x}")
            if run is None or nid & ((1 << ORDINAL_BITS) - 1) >= run.nodes:
                raise QueryError(f"no node has the nid {nid}", hint=_NIDS)

    def _check_sample(self, sample: str | int | None, run: str | None) -> None:
        """Raises where a run has no sample of that number or name."""
        if sample is None:
            return
        found = self.existing_run(run)
        held = self._held("_held_samples", found.run_id).to_pylist()
        known = list(dict.fromkeys(str(row[key]) for key in ("name", "sample") for row in held if row[key] is not None))
        if str(sample) not in known:
            hint = hints.among(str(sample), known, "SELECT DISTINCT sample FROM metrics")
            raise QueryError(f"run {found.name!r} has no sample {sample!r}", hint=hint)

    def _check_metric(self, metric: str, run: str | None, stage: str | None = None, overlay: str | None = None) -> None:
        """Raises where a ranking could only be empty because a name is wrong, or nobody has said what is better."""
        found = self._check_stage(stage, run)
        held = self._held("_held_metrics", found.run_id).to_pylist()
        overlays = sorted({row["overlay"] for row in held})
        if overlay is not None and overlay not in overlays:
            raise QueryError(f"run {found.name!r} has no overlay {overlay!r}", hint=hints.among(overlay, overlays))
        metrics = sorted({row["metric"] for row in held if overlay in (None, row["overlay"]) and row["metric"]})
        if metric not in metrics:
            hint = hints.among(metric, metrics) if metrics else "it holds no metrics: measure it first"
            raise QueryError(f"run {found.name!r} has no metric {metric!r}", hint=hint)
        if not any(row["better"] for row in held if row["metric"] == metric and overlay in (None, row["overlay"])):
            raise hints.no_direction(metric)
