"""What a store holds under a name: every question has its names checked here, however it is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import Any, Final

import pyarrow as pa

from fxstore.errors import QueryError, UsageError, is_encodable
from fxstore.query import hints, library
from fxstore.query.calls import UNKNOWN
from fxstore.query.caption import Caption, caption_of
from fxstore.query.connection import Asking
from fxstore.query.hints import literal
from fxstore.store import CommittedRun
from fxstore.tables import ORDINAL_BITS

_NIDS: Final = "SELECT nid, stage, name FROM nodes gives the nids"
_NO_METRIC: Final = "it holds no metrics: measure it first"
_RUNS: Final = ("run", "base", "head")
_NODES: Final = ("nid", "a", "b")
_TEXTS: Final = ("metric", "stage", "node", "overlay", "scope", "method", "path", "operator", "module", *_RUNS)
_SAID: Final = {"op_type": "operator"}
_COUNTS: Final = ("n", "hops")
# They ask all runs of a model: a metric that one of these holds is no slip.
_OF_A_MODEL: Final = frozenset({"history", "first_broken"})
# They rank accuracy overlays only.
_OF_ACCURACY: Final = frozenset({"stage_errors"})


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
        if not isinstance(run, str):
            raise UsageError(f"run must be text, not {run!r}", hint="fxstore runs lists ids and names")
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

    def _check_call(self, macro: str, asked: Mapping[str, object]) -> None:
        """Raises where a question can only be empty, or fail, because an argument is wrong.

        Args:
            macro: The macro that answers, or ``match``.
            asked: Its arguments by name; what an argument is for follows from its name.

        Raises:
            UsageError: An argument has the wrong type.
            QueryError: It names what is not there.
        """
        for name, value in asked.items():
            if value is not UNKNOWN:
                _check_type(name, value, is_needed=library.parameters(macro)[name] if macro != "match" else False)
        known = {name: value for name, value in asked.items() if value is not UNKNOWN and value is not None}
        self._check_nids(*(known[name] for name in _NODES if name in known))
        if "operator" in known:
            operator = str(known["operator"])
            operators = self.rows_of("_holders_of_operators")["operator"].to_pylist()
            if operator not in operators:
                hint = hints.among(operator, operators, "SELECT DISTINCT op_type FROM nodes")
                raise QueryError(f"no node of this store has the operator {operator!r}", hint=hint)
        takes = [name for name in _RUNS if macro == "match" or name in library.parameters(macro)]
        for name in takes:
            if asked.get(name) is not UNKNOWN:
                self._check_in(self.existing_run(asked.get(name)), macro, known)  # type: ignore[arg-type]

    def _caption(self, macro: str, asked: Mapping[str, object], table: pa.Table) -> Caption | None:
        run = None
        nid = next((asked[name] for name in _NODES if name in asked), None)
        if macro not in _OF_A_MODEL and "run" in library.parameters(macro):
            nid = _first_nid(table)  # the latest run may be another one by now than that which answered
        if nid is not None:
            run = self._current().catalog.runs.get(f"{int(nid) >> ORDINAL_BITS:08x}")  # type: ignore[call-overload]
        elif "run" in library.parameters(macro):
            run = self.existing_run(asked.get("run"))  # type: ignore[arg-type]
        return caption_of(
            macro, asked, run, table, lambda: self.rows_of("_metrics_of", run.run_id).to_pylist() if run else []
        )

    def _check_in(self, run: CommittedRun, macro: str, asked: Mapping[str, Any]) -> None:
        """Raises where a run has not what it is asked for."""
        stage = asked.get("stage")
        if stage is not None:
            stages = [str(known["stage"]) for known in run.stages]
            other = (one for one in self._newest_first() if stage in [known["stage"] for known in one.stages])
            _check_known(f"run {run.name!r} has no stage", stage, stages, lambda: _has(next(other, None)))
        if "node" in asked and stage is not None:
            self._check_node(run, stage, asked["node"], asked.get("method"), asked.get("path"))
        if "module" in asked:
            module = asked["module"]
            modules = self._held("_held_modules", run.run_id)["module"].to_pylist()
            if not any(known == module or known.startswith(f"{module}.") for known in modules):
                hint = hints.among(module, modules, "SELECT DISTINCT module_path FROM nodes")
                raise QueryError(f"run {run.name!r} has no module {module!r}", hint=hint)
        if "sample" in asked:
            self._check_sample(run, asked["sample"])
        if "metric" in asked or "overlay" in asked:
            self._check_metric(run, asked, "accuracy" if macro in _OF_ACCURACY else None, macro in _OF_A_MODEL)

    def _check_node(self, run: CommittedRun, stage: str, node: str, method: str | None, path: str | None) -> None:
        held = self._held("_held_nodes", run.run_id, stage).to_pylist()
        lister = f"SELECT name FROM nodes WHERE run_id = {literal(run.run_id)} AND stage = {literal(stage)}"
        place = f"stage {stage!r} of run {run.name!r}"
        _check_known(
            f"{place} has no node",
            node,
            [row["name"] for row in held],
            lambda: self._place_of(node, run, stage),
            lister,
        )
        for what, value in (("method", method), ("path", path)):
            if value is not None:
                held = [row for row in held if row["name"] == node]
                known = [row[what] or "" for row in held]
                top = "it is in the top graph: leave path out" if set(known) == {""} else ""
                _check_known(f"node {node!r} in {place} has no {what}", value, known, lambda top=top: top)
                held = [row for row in held if row[what] == value]

    def _place_of(self, node: str, run: CommittedRun, stage: str) -> str:
        """Says where a node is that the asked stage has not: in another stage of the run, or in another run."""
        rows = self.rows_of("_holders_of_node", node).to_pylist()
        if here := {row["stage"] for row in rows if row["run_id"] == run.run_id}:
            return f"stage {next(str(one['stage']) for one in run.stages if one['stage'] in here)!r} has it"
        holders = {row["run_id"] for row in rows if row["stage"] == stage}
        return _has(next((one for one in self._newest_first() if one.run_id in holders), None))

    def _check_metric(self, run: CommittedRun, asked: Mapping[str, Any], kind: str | None, of_model: bool) -> None:
        held = self._held("_held_metrics", run.run_id).to_pylist()
        overlay, metric, scope, stage = (asked.get(name) for name in ("overlay", "metric", "scope", "stage"))
        place = f"run {run.name!r}"
        if overlay is not None:
            known = [row["overlay"] for row in held]
            _check_known(f"{place} has no overlay", overlay, known, lambda: self._holder("overlay", overlay))
        if metric is None:
            return
        all_metrics = {row["metric"] for row in held}
        held = [row for row in held if row["metric"] is not None and kind in (None, row["kind"])]
        metrics = [row["metric"] for row in held]
        if kind is not None and metric not in metrics and metric in all_metrics:
            hint = hints.among(metric, metrics) if metrics else _NO_METRIC
            raise QueryError(f"{place} has no {kind} metric {metric!r}", hint=hint)
        if of_model and metric not in metrics:
            metrics = self._metrics_of_model(run)
        if not metrics:
            elsewhere = self._holder("metric", metric)
            raise QueryError(f"{place} has no metric {metric!r}", hint="; ".join(filter(None, (_NO_METRIC, elsewhere))))
        _check_known(f"{place} has no metric", metric, metrics, lambda: self._holder("metric", metric))
        if of_model:
            return
        held = [row for row in held if row["metric"] == metric]
        for what, value in (("overlay", overlay), ("scope", scope), ("stage", stage)):
            if value is not None:
                known = [row[what] for row in held if row[what] is not None]
                without = "" if known else f"its numbers have no {what}: leave it out"
                _check_known(f"{place} has no {metric!r} in {what}", value, known, lambda said=without: said)
                held = [row for row in held if row[what] == value]
        if not any(row["better"] for row in held):
            raise hints.no_direction(metric)

    def _why_empty(
        self, terms: Iterable[tuple[str, str]], run: CommittedRun | None = None, stage: str | None = None
    ) -> str | None:
        """Returns a hint for a pattern or a condition that nothing fits, however good the others are; or None.

        Args:
            terms: What is looked for: ``stage``, ``metric`` or ``op_type``, and a text with ``*`` and ``?`` in it.
            run: The one that is looked at; default: all.
            stage: The one that is looked at; default: all.
        """
        for what, pattern in terms:
            if what == "stage":
                known = [str(one["stage"]) for found in self.committed_runs() for one in found.stages]
            elif what == "metric":
                known = [one for one in self.rows_of("_holders_of_metrics")["metric"].to_pylist() if one]
            elif run is not None:
                known = self.rows_of("_held_kinds", run.run_id, stage)["kind"].to_pylist()
            else:
                known = self.rows_of("_holders_of_operators")["operator"].to_pylist()
            known = list(dict.fromkeys(known))
            if not any(fnmatchcase(one, pattern) for one in known):
                return f"no {_SAID.get(what, what)} is {pattern!r}: {hints.among(pattern.strip('*'), known)}"
        return None

    def _holder(self, what: str, name: str) -> str:
        """Says which run has a metric or an overlay."""
        rows = self.rows_of("_holders_of_metrics").to_pylist()
        holders = {row["run_id"] for row in rows if row[what] == name}
        return _has(next((one for one in self._newest_first() if one.run_id in holders), None))

    def _metrics_of_model(self, run: CommittedRun) -> list[str]:
        """Returns the metrics that any run of the same model has, or of the same name where it names no model."""
        alike = {
            one.run_id
            for one in self.committed_runs()
            if one.model == run.model and (run.model is not None or one.name == run.name)
        }
        rows = self.rows_of("_holders_of_metrics").to_pylist()
        return sorted({row["metric"] for row in rows if row["run_id"] in alike and row["metric"]})

    def _newest_first(self) -> Iterator[CommittedRun]:
        yield from reversed(self.committed_runs())

    def _check_nids(self, *nids: Any) -> None:
        catalog = self._current().catalog
        for nid in nids:
            if not _is_whole(nid):
                raise UsageError(f"a nid is a whole number, not {nid!r}", hint=_NIDS)
            run = catalog.runs.get(f"{nid >> ORDINAL_BITS:08x}")
            if run is None or nid & ((1 << ORDINAL_BITS) - 1) >= run.nodes:
                raise QueryError(f"no node has the nid {nid}", hint=_NIDS)

    def _check_sample(self, run: CommittedRun, sample: str | int) -> None:
        held = self._held("_held_samples", run.run_id).to_pylist()
        known = [str(row[key]) for key in ("name", "sample") for row in held if row[key] is not None]
        if str(sample) not in known:
            hint = hints.among(str(sample), known, "SELECT DISTINCT sample FROM metrics")
            raise QueryError(f"run {run.name!r} has no sample {sample!r}", hint=hint)


def _first_nid(table: pa.Table) -> int | None:
    """Returns a node that an answer names; None where it names none."""
    for name in ("nid", "nids"):
        for value in table[name].to_pylist() if name in table.column_names else ():
            if value:
                return int(value if isinstance(value, int) else value[0])
    return None


def _check_known(said: str, name: str, known: Iterable[str], elsewhere: Any = lambda: "", lister: str = "") -> None:
    """Raises an error where a name is not among the known ones, with the place that has it or the nearest names."""
    names = list(dict.fromkeys(known))
    if name not in names:
        raise QueryError(f"{said} {name!r}", hint=elsewhere() or hints.among(name, names, lister))


def _has(run: CommittedRun | None) -> str:
    return f"run {run.name!r} ({run.run_id}) has it" if run is not None else ""


def _check_type(name: str, value: object, is_needed: bool) -> None:
    if value is None:
        if is_needed:
            raise UsageError(f"{name} is not given")
    elif name in _TEXTS and not isinstance(value, str):
        raise UsageError(f"{name} must be text, not {value!r}")
    elif isinstance(value, str) and not is_encodable(value):
        raise QueryError(
            f"nothing is called {value!r}: half of a UTF-16 character is no text", hint="check the spelling"
        )
    elif name in _COUNTS and not (_is_whole(value) and value >= 1):  # type: ignore[operator]
        raise UsageError(f"{name} must be a whole number from 1, not {value!r}")
    elif name == "sample" and not (isinstance(value, str) or _is_whole(value)):
        raise UsageError(f"sample must be a number or a name, not {value!r}")
    elif name == "threshold" and not _is_number(value):
        raise UsageError(f"threshold must be a number, not {value!r}")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool) and not math.isnan(value)
