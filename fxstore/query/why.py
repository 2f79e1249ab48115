"""The verdict on a run, in sentences: which stage introduced an error, where, how far it goes, what is not known.

    stage_errors ──► origin   the first stage that introduced an error, and the node where it starts
                 ──► output   what that stage returns; which later stages still have the error, or add one
    fallback     ──► cost     what runs outside of every backend
    coverage     ──► missing  stages, and coverage: nodes, without a number
    history      ──► before   the same node in the last run in which it was good, or in the base

Every sentence is made of facts that SQL gives, too; :meth:`Verdict.json` has these. Nothing is guessed: the metric and
the threshold are those that were asked for, or defaults that the verdict names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from fxstore.colors.scales import Measure, scale_of, with_unit
from fxstore.errors import QueryError, UsageError
from fxstore.query import hints
from fxstore.query.hints import literal
from fxstore.query.text import json_value, shown_json

if TYPE_CHECKING:
    from fxstore.query.across import Store
    from fxstore.store import CommittedRun

# A ratio of energies also sees an error that scales a whole tensor, of which a cosine says 1.
_PREFERRED: Final = ("sqnr", "snr", "cosine", "psnr", "mismatch", "max_rel")
_LISTED: Final = 3
_RUNTIME: Final = "runtime"

Level = Literal["good", "warn", "bad"]
Row = Mapping[str, Any]


class NodeName(NamedTuple):
    """A node in a sentence."""

    text: str
    nid: int


@dataclass(frozen=True)
class Sentence:
    """One sentence of a verdict.

    Attributes:
        about: ``origin``, ``output``, ``cost``, ``missing`` (stages), ``coverage`` (nodes) or ``before``.
        parts: Texts and the names of nodes, in order.
    """

    about: str
    parts: tuple[str | NodeName, ...]

    def __str__(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


@dataclass(frozen=True)
class Verdict:
    """What is known of a run's accuracy and cost; ``print(verdict)`` prints its sentences.

    Attributes:
        run: Name of the run.
        run_id: Its id.
        level: ``bad`` where an error reaches what a stage returns, or where that is not measured; ``warn`` where one
            starts and stays inside, where a stage has numbers that nothing was judged by, or where nothing was
            compared; else ``good``.
        metric: The metric that the error was found by, else the first that was judged; None without numbers.
        threshold: Worst number that still counts as good, in the metric's unit; None without a metric.
        limits: What was judged by, as in ``sqnr >= 20 dB``: several where not all stages have one metric.
        defaults: Which of ``metric`` and ``threshold`` were chosen by default.
        stage: Stage that introduced the error; None where there is none.
        nid: Node at which it starts; None where there is none.
        sentences: What is said, most important first.
        facts: What the sentences rest on: ``stages`` (the rows of ``stage_errors``, with what each was judged by),
            ``fallback`` (its rows), ``not_measured`` (stages without a number, stages that were not judged, and nodes
            without a number by stage and reason) and ``base`` (a row, or None).
    """

    run: str
    run_id: str
    level: Level
    metric: str | None
    threshold: float | None
    limits: tuple[str, ...]
    defaults: tuple[str, ...]
    stage: str | None
    nid: int | None
    sentences: tuple[Sentence, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentences, separated by spaces."""
        return " ".join(map(str, self.sentences))

    @property
    def caption(self) -> str:
        """What was judged, and what of it was chosen by default."""
        chosen = f", {' and '.join(self.defaults)} by default" if self.defaults else ""
        return ", ".join([f"run {self.run} ({self.run_id})", *self.limits]) + chosen

    def json(self) -> str:
        """Returns the verdict as one JSON object: its attributes, ``text``, and each sentence with its nodes."""
        said = [{"about": one.about, "text": str(one), "nodes": _nodes(one)} for one in self.sentences]
        plain = asdict(self) | {"sentences": said, "text": self.text}
        return shown_json(json_value(plain))

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html

        return f"<p><strong>{self.level}</strong>: {html.escape(self.text)}</p>"


def verdict(
    store: Store, run: str | None, base: str | None, metric: str | None = None, threshold: float | None = None
) -> Verdict:
    """Returns the verdict on a run; arguments as in :meth:`fxstore.query.across.Store.why`."""
    found = store.existing_run(run)
    before = None if base is None else store.existing_run(base)
    held = [
        row for row in store._held("_held_metrics", found.run_id).to_pylist()
        if row["kind"] == "accuracy" and row["metric"] is not None and row["better"]
    ]  # fmt: skip
    defaults = tuple(name for name, given in (("metric", metric), ("threshold", threshold)) if given is None)
    criteria = _criteria(store, found, held, metric, threshold)
    fallback = store.fallback(found.run_id).arrow().to_pylist() if _has_delegates(found, store) else []
    if not criteria:
        return _nothing_compared(found, fallback)
    rows = _judged(store, found, criteria)
    origin = next((row for row in rows if row["introduced"]), None)
    missing = _not_measured(store, found, rows, held)
    by = origin["by"] if origin else rows[0]["by"] if rows else criteria[0]
    past = _before(store, found, before, origin)
    level: Level = "good"
    if origin is not None:
        level = "bad" if any(_reaches(row) for row in rows if row["introduced"]) else "warn"
    elif not rows or any(row["bad"] for row in rows) or missing["not_judged"]:
        level = "warn"
    sentences = [
        _origin(store, found, origin) if origin else _no_error(store, found, rows, by),
        _output(origin, rows, found) if origin else None,
        _cost(fallback),
        _missing(missing),
        _history(past, origin, before),
        _uncounted(missing["nodes"]),
    ]
    stages = [{name: value for name, value in row.items() if name != "by"} | row["by"]._asdict() for row in rows]
    facts = {"stages": stages, "fallback": fallback, "not_measured": missing, "base": past}
    limits = tuple(dict.fromkeys(str(row["by"]) for row in rows)) or (str(by),)
    return Verdict(
        run=found.name,
        run_id=found.run_id,
        level=level,
        metric=by.metric,
        threshold=by.threshold,
        limits=limits,
        defaults=defaults,
        stage=origin["stage"] if origin else None,
        nid=origin["nid"] if origin else None,
        sentences=tuple(one for one in sentences if one is not None),
        facts=facts,
    )


class _Criterion(NamedTuple):
    """What a stage is judged by."""

    metric: str
    threshold: float
    better: str
    unit: str | None

    def fails(self, value: float) -> bool:
        return math.isnan(value) or (value < self.threshold if self.better == "higher" else value > self.threshold)

    def shown(self, value: float | None) -> str:
        """Returns a number with its unit: decibels with three digits, others with six, since 0.999686 is not 1."""
        if value is None:
            return "not measured"
        return with_unit(float(f"{value:.{3 if self.unit == 'dB' else 6}g}"), self.unit)

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.better == 'higher' else '<='} {self.shown(self.threshold)}"


def _criteria(
    store: Store, run: CommittedRun, held: Sequence[Row], metric: str | None, threshold: float | None
) -> list[_Criterion]:
    """Returns what to judge by: the asked metric alone, else each that has a default threshold, the preferred first.

    Raises:
        QueryError: The run does not have the asked metric, or only metrics without a default threshold.
        UsageError: The asked metric has no default threshold, and none is given.
    """
    known = list(dict.fromkeys(row["metric"] for row in held))
    if metric is not None and metric not in known:
        hint = hints.among(metric, known) if known else "measure it first: rec.measure(inputs, reference=…)"
        raise QueryError(f"run {run.name!r} has no accuracy metric {metric!r}", hint=hint)
    chosen = [metric] if metric is not None else [name for name in _PREFERRED if name in known]
    if known and not chosen:
        hint = f"name one with its threshold: --metric {known[0]} --threshold NUMBER"
        raise QueryError(f"none of the metrics of run {run.name!r} has a default threshold", hint=hint)
    rows = store.metrics(run.run_id).arrow().to_pylist() if chosen else []
    found = []
    for name in chosen:
        better = next(row["better"] for row in held if row["metric"] == name)
        unit = next((row["unit"] for row in rows if row["metric"] == name), None)
        scale = scale_of(Measure(name, unit, better))
        limit = threshold if threshold is not None and name == chosen[0] else (scale or {}).get("passes")
        if limit is not None:
            found.append(_Criterion(name, float(limit), better, unit))
        elif metric is not None:
            hint = "--threshold: the worst value that is still good"
            raise UsageError(f"{metric} has no default threshold", hint=hint)
    return found


def _judged(store: Store, run: CommittedRun, criteria: Sequence[_Criterion]) -> list[dict[str, Any]]:
    """Returns a row of ``stage_errors`` per measured stage, in pipeline order, each by the first metric that it has."""
    stages = _stages(run)
    found: dict[str, dict[str, Any]] = {}
    for by in criteria:
        if set(stages) <= found.keys():
            break
        for row in store.stage_errors(by.metric, by.threshold, run=run.run_id).arrow().to_pylist():
            found.setdefault(row["stage"], {**row, "by": by})
    rows = [found[stage] for stage in stages if stage in found]
    for row in rows:
        # What a stage before it has introduced by another metric, stage_errors of this metric cannot know.
        between = stages[stages.index(row["reference"]) + 1 if row["reference"] else 0 : stages.index(row["stage"])]
        earlier = (found[stage] for stage in between if stage in found)
        row["introduced"] &= not any(one["bad"] for one in earlier if one["by"] != row["by"])
    return rows


def _has_delegates(run: CommittedRun, store: Store) -> bool:
    text = f"SELECT 1 FROM nodes WHERE run_id = {literal(run.run_id)} AND role = 'delegate' LIMIT 1"
    return bool(len(store._own(text)))


def _nothing_compared(run: CommittedRun, fallback: Sequence[Row]) -> Verdict:
    said = (
        "No stage was compared with another, so nothing is known of the accuracy: measure it with "
        "rec.measure(inputs, reference=…) or `fxstore measure`."
    )
    sentences = [Sentence("origin", (said,)), _cost(fallback)]
    missing = {"stages": _stages(run), "not_judged": {}, "nodes": []}
    facts = {"stages": [], "fallback": fallback, "not_measured": missing, "base": None}
    told = tuple(one for one in sentences if one is not None)
    return Verdict(run.name, run.run_id, "warn", None, None, (), (), None, None, told, facts)


def _stages(run: CommittedRun) -> list[str]:
    return [str(one["stage"]) for one in run.stages]


def _reaches(row: Row) -> bool:
    """Says whether an error reaches what a stage returns; what is not measured may have it."""
    return row["output"] is None or row["by"].fails(row["output"])


def _named(row: Row) -> NodeName:
    return NodeName(row["name"], row["nid"])


def _place(row: Row) -> str:
    """Returns source line and module of a node, in parentheses; nothing where neither is known."""
    said = []
    if row["source_file"]:
        line = f":{row['source_line']}" if row["source_line"] else ""
        said.append(f"{os.path.basename(row['source_file'].replace(chr(92), '/'))}{line}")
    if row["module_path"]:
        said.append(f"module {row['module_path']}")
    return f" ({', '.join(said)})" if said else ""


def _against(row: Row) -> str:
    return f" against {row['reference']}" if row["reference"] else ""


def _sample(store: Store, run: CommittedRun, row: Row) -> str:
    """Returns which input shows the error, where there are several."""
    if row["sample"] is None:
        return ""
    rows = store.metrics(run.run_id).arrow().to_pylist()
    if not any(one["overlay"] == row["overlay"] and one["samples"] > 1 for one in rows):
        return ""
    return f" in sample {row['sample']}" + (f" ({row['sample_name']})" if row["sample_name"] else "")


def _origin(store: Store, run: CommittedRun, row: Row) -> Sentence:
    by: _Criterion = row["by"]
    how = "falls to" if by.better == "higher" else "rises to"
    told = f"{'becomes' if not math.isfinite(row['value']) else how} {by.shown(row['value'])}"
    side = "below" if by.better == "higher" else "above"
    return Sentence(
        "origin",
        (
            f"{row['stage']} introduced the error: {by.metric}{_against(row)} first {told} at ", _named(row),
            f"{_place(row)}{_sample(store, run, row)}, and {row['bad']} of its {row['measured']} measured nodes "
            f"{'is' if row['bad'] == 1 else 'are'} {side} {by.shown(by.threshold)}.",
        ),
    )  # fmt: skip


def _output(origin: Row, rows: Sequence[Row], run: CommittedRun) -> Sentence:
    """Says how far the error goes, and what the stages after it add; the device in its own words."""
    stage, there = origin["stage"], origin["by"].shown(origin["output"])
    if origin["output"] is None:
        parts: list[str | NodeName] = [f"What {stage} returns was not measured"]
    elif _reaches(origin):
        parts = [f"It reaches the output of {stage}: {there} there"]
    else:
        parts = [f"It does not reach the output of {stage}: {there} there"]
    kinds = {str(one["stage"]): str(one["kind"]) for one in run.stages}
    for row in rows[rows.index(origin) + 1 :]:
        by: _Criterion = row["by"]
        who = f"the device ({row['stage']})" if kinds.get(row["stage"]) == _RUNTIME else row["stage"]
        other = "" if by == origin["by"] else f" {by.metric}"
        worst = f"(worst{other} {by.shown(row['worst'])}{_against(row)})"
        if row["introduced"]:
            at = f"; {who} adds an error of its own{_against(row)}, from{other} {by.shown(row['value'])} at "
            parts += [at, _named(row)]
        else:
            parts.append(f"; {who} {'still has it' if row['bad'] else 'adds none'} {worst}")
    return Sentence("output", (*parts, "."))


def _no_error(store: Store, run: CommittedRun, rows: Sequence[Row], by: _Criterion) -> Sentence:
    """Says that no stage introduced an error, and how near the worst number of each metric comes to its threshold."""
    numbers = [row for row in rows if row["worst"] is not None]
    if not numbers:
        return Sentence("origin", (f"No node has a {by.metric} that could be judged.",))
    if failing := [row for row in rows if row["bad"]]:
        said = _listed([f"{row['stage']} ({row['by'].metric} {row['by'].shown(row['worst'])})" for row in failing])
        return Sentence("origin", (f"{said} has bad nodes, but no stage introduced an error.",))
    parts: list[str | NodeName] = ["Within limits: "]
    for number, one in enumerate(dict.fromkeys(row["by"] for row in numbers)):
        own = [row for row in numbers if row["by"] == one]
        where = f"in {own[0]['stage']}" if len(own) == 1 else f"in the {len(own)} measured stages"
        if len(own) < len(numbers):
            where = f"in {_listed([row['stage'] for row in own])}"
        nearest = min(own, key=lambda row: row["worst"] if row["by"].better == "higher" else -row["worst"])
        asked = {"stage": nearest["stage"], "overlay": nearest["overlay"], "scope": nearest["scope"]}
        worst = store.worst(one.metric, n=1, run=run.run_id, **asked).arrow().to_pylist()
        near = f"{one.shown(nearest['worst'])}, {nearest['stage']}{_against(nearest)}"
        parts.append(f"{'; ' if number else ''}every number {where} holds {one}; the worst is {near}")
        parts += [" at ", _named(worst[0]), _place(worst[0])] if worst else []
    return Sentence("origin", (*parts, "."))


def _cost(fallback: Sequence[Row]) -> Sentence | None:
    """Says what runs outside of every backend; of several operators the most frequent first."""
    if not fallback:
        return None
    nodes = sum(row["nodes"] for row in fallback)
    named = sorted(fallback, key=lambda row: (-row["nodes"], row["op_type"]))[:_LISTED]
    listed = [f"{row['nodes']} {row['op_type']}" for row in named]
    more = f" and {nodes - sum(row['nodes'] for row in named)} others" if len(fallback) > _LISTED else ""
    shares = [row["share"] for row in fallback if row["share"] is not None]
    timed = f", {100 * sum(shares):.0f} % of the measured time" if shares else ""
    operators = "operator runs" if nodes == 1 else "operators run"
    return Sentence("cost", (f"{nodes} {operators} outside of every backend ({', '.join(listed)}{more}){timed}.",))


def _not_measured(store: Store, run: CommittedRun, rows: Sequence[Row], held: Sequence[Row]) -> dict[str, Any]:
    """Returns what has no number, and what has one that was not judged.

    Returns:
        ``stages``: neither measured nor a reference. ``not_judged``: stages with metrics that nothing was judged by.
        ``nodes``: of the judged stages, how many nodes have no number, and why.
    """
    known = {row["stage"] for row in rows}
    others: dict[str, list[str]] = {}
    for row in held:
        if row["stage"] is not None and row["stage"] not in known:
            others.setdefault(row["stage"], []).append(row["metric"])
    counted = store._own(
        "SELECT c.stage, o.name AS overlay, c.not_measured, c.nodes, c.reasons FROM coverage AS c "
        "JOIN overlays AS o ON o.overlay_id = c.overlay_id AND o.run_id = c.run_id "
        f"WHERE c.run_id = {literal(run.run_id)}"
    )
    overlays = {(row["stage"], row["overlay"]) for row in rows}
    stages = _stages(run)
    nodes = sorted(
        (row for row in counted.arrow().to_pylist(maps_as_pydicts="strict")
         if (row["stage"], row["overlay"]) in overlays and row["not_measured"]),
        key=lambda row: stages.index(row["stage"]),
    )  # fmt: skip
    known |= {row["reference"] for row in rows} | others.keys()
    not_judged = {stage: list(dict.fromkeys(others[stage])) for stage in stages if stage in others}
    return {"stages": [stage for stage in stages if stage not in known], "not_judged": not_judged, "nodes": nodes}


def _missing(missing: Row) -> Sentence | None:
    told = [f"Not measured: {_listed(missing['stages'])}."] if missing["stages"] else []
    if others := [f"{stage} (it has {_listed(metrics)})" for stage, metrics in missing["not_judged"].items()]:
        told.insert(0, f"Not judged: {_listed(others)}; --metric and --threshold say by what.")
    return Sentence("missing", (" ".join(told),)) if told else None


def _uncounted(nodes: Sequence[Row]) -> Sentence | None:
    said = [f"{one['not_measured']} of {one['nodes']} nodes of {one['stage']}" for one in nodes]
    text = f"Without a number: {_listed(said)}; the relation coverage has the reasons." if said else ""
    return Sentence("coverage", (text,)) if text else None


def _before(
    store: Store, run: CommittedRun, base: CommittedRun | None, origin: Row | None
) -> dict[str, Any] | None:  # fmt: skip
    """Returns the node's row in the base, else in the newest earlier run in which it was good; None without one."""
    if origin is None:
        return None
    by: _Criterion = origin["by"]
    asked = {"run": run.run_id, "method": origin["method"], "path": origin["path"]}
    rows = store.history(origin["stage"], origin["name"], by.metric, **asked).arrow().to_pylist()
    keys = ("nid", "run", "run_id", "created_at", "value", "reason", "matched_by")
    if base is not None:
        return next(({key: row[key] for key in keys} for row in rows if row["run_id"] == base.run_id), None)
    earlier = rows[: next(i for i, row in enumerate(rows) if row["run_id"] == run.run_id)]
    good = [row for row in earlier if row["value"] is not None and not by.fails(row["value"])]
    return {key: good[-1][key] for key in keys} if good else None


def _history(past: Row | None, origin: Row | None, base: CommittedRun | None) -> Sentence | None:
    if origin is None or (past is None and base is None):
        return None
    if past is None:
        assert base is not None
        return Sentence("before", (f"Base {base.name} ({base.run_id}) has no such node, or is of another model.",))
    who = f"{past['run']} ({past['run_id']})"
    if past["value"] is None:
        return Sentence("before", (f"The base {who} has no number there: {past['reason']}.",))
    what = "In the base" if base is not None else "It was last good in run"
    return Sentence("before", (f"{what} {who}: {origin['by'].shown(past['value'])} there.",))


def _listed(names: Sequence[str]) -> str:
    """Returns names as a sentence has them: a, b and c."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _nodes(sentence: Sentence) -> list[dict[str, Any]]:
    return [{"name": part.text, "nid": part.nid} for part in sentence.parts if isinstance(part, NodeName)]
