"""The verdict on a run, in sentences: which stage introduced an error, where, how far it goes, what is not known.

    stage_errors ──► origin   the first stage that introduced an error, and the node where it starts
                 ──► output   what that stage returns; which later stages still have the error, or add one
    fallback     ──► cost     what runs outside of every backend
    coverage     ──► missing  stages and nodes without a number
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
        about: ``origin``, ``output``, ``cost``, ``missing`` or ``before``.
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
            starts and stays inside, or where nothing was compared; else ``good``.
        metric: The metric that was judged; None where the run has no numbers.
        threshold: Worst number that still counts as good, in the metric's unit; None without a metric.
        defaults: Which of ``metric`` and ``threshold`` were chosen by default.
        stage: Stage that introduced the error; None where there is none.
        nid: Node at which it starts; None where there is none.
        sentences: What is said, most important first.
        facts: What the sentences rest on: ``stages`` (the rows of ``stage_errors``), ``fallback`` (its rows),
            ``not_measured`` (stages without a number, and nodes by stage and reason) and ``base`` (a row, or None).
    """

    run: str
    run_id: str
    level: Level
    metric: str | None
    threshold: float | None
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
        if self.metric is None:
            return f"run {self.run} ({self.run_id})"
        sign = ">=" if self.facts["better"] == "higher" else "<="
        chosen = f", {' and '.join(self.defaults)} by default" if self.defaults else ""
        return f"run {self.run} ({self.run_id}), {self.metric} {sign} {_shown(self.threshold, self.facts)}{chosen}"

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
    metric = _metric(found, held, metric)
    fallback = store.fallback(found.run_id).arrow().to_pylist() if _has_delegates(found, store) else []
    if metric is None:
        return _nothing_compared(found, fallback)
    better = next(row["better"] for row in held if row["metric"] == metric)
    unit = next(
        (row["unit"] for row in store.metrics(found.run_id).arrow().to_pylist() if row["metric"] == metric), None
    )
    facts: dict[str, Any] = {"better": better, "unit": unit}
    if threshold is None:
        threshold = _default_threshold(metric, facts)
    rows = store.stage_errors(metric, threshold, run=found.run_id).arrow().to_pylist()
    origin = next((row for row in rows if row["introduced"]), None)
    missing = _not_measured(store, found, rows)
    past = _before(store, found, before, origin, metric, threshold, facts)
    level: Level = "good"
    if origin is not None:
        level = "bad" if any(_reaches(row, threshold, better) for row in rows if row["introduced"]) else "warn"
    elif any(row["bad"] for row in rows):
        level = "warn"
    sentences = [
        _origin(origin, threshold, metric, facts)
        if origin
        else _no_error(store, found, rows, threshold, metric, facts),
        _output(origin, rows, threshold, found, facts) if origin else None,
        _cost(fallback),
        _missing(missing),
        _history(past, origin, before, facts),
    ]
    facts |= {"stages": rows, "fallback": fallback, "not_measured": missing, "base": past}
    return Verdict(
        found.name, found.run_id, level, metric, threshold, defaults, origin and origin["stage"],
        origin and origin["nid"], tuple(one for one in sentences if one is not None), facts,
    )  # fmt: skip


def _metric(run: CommittedRun, held: Sequence[Row], asked: str | None) -> str | None:
    """Returns the metric to judge: the asked one, else the first of the preferred ones; None where there are none.

    Raises:
        QueryError: The run does not have the asked metric, or only metrics without a default threshold.
    """
    known = list(dict.fromkeys(row["metric"] for row in held))
    if asked is not None:
        if asked not in known:
            hint = hints.among(asked, known) if known else "measure it first: rec.measure(inputs, reference=…)"
            raise QueryError(f"run {run.name!r} has no accuracy metric {asked!r}", hint=hint)
        return asked
    if not known:
        return None
    chosen = next((name for name in _PREFERRED if name in known), None)
    if chosen is None:
        hint = f"name one with its threshold: --metric {known[0]} --threshold NUMBER"
        raise QueryError(f"none of the metrics of run {run.name!r} has a default threshold", hint=hint)
    return chosen


def _default_threshold(metric: str, facts: Row) -> float:
    scale = scale_of(Measure(metric, facts["unit"], facts["better"]))
    if scale is None or "passes" not in scale:
        raise UsageError(f"{metric} has no default threshold", hint="--threshold: the worst value that is still good")
    return float(scale["passes"])


def _has_delegates(run: CommittedRun, store: Store) -> bool:
    text = f"SELECT 1 FROM nodes WHERE run_id = {literal(run.run_id)} AND role = 'delegate' LIMIT 1"
    return bool(len(store._own(text)))


def _nothing_compared(run: CommittedRun, fallback: Sequence[Row]) -> Verdict:
    said = (
        "No stage was compared with another, so nothing is known of the accuracy: measure it with "
        "rec.measure(inputs, reference=…) or `fxstore measure`."
    )
    sentences = [Sentence("origin", (said,)), _cost(fallback)]
    facts = {"stages": [], "fallback": fallback, "not_measured": {"stages": _stages(run), "nodes": []}, "base": None}
    told = tuple(one for one in sentences if one is not None)
    return Verdict(run.name, run.run_id, "warn", None, None, (), None, None, told, facts)


def _stages(run: CommittedRun) -> list[str]:
    return [str(one["stage"]) for one in run.stages]


def _bad(value: float, threshold: float, better: str) -> bool:
    return math.isnan(value) or (value < threshold if better == "higher" else value > threshold)


def _reaches(row: Row, threshold: float, better: str) -> bool:
    """Says whether an error reaches what a stage returns; what is not measured may have it."""
    return row["output"] is None or _bad(row["output"], threshold, better)


def _shown(value: float | None, facts: Row) -> str:
    """Returns a number with its unit: decibels with three digits, others with six, since 0.999686 is not 1."""
    if value is None:
        return "not measured"
    digits = 3 if facts["unit"] == "dB" else 6
    return with_unit(float(f"{value:.{digits}g}"), facts["unit"])


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


def _origin(row: Row, threshold: float, metric: str, facts: Row) -> Sentence:
    value = row["value"]
    how = "falls to" if facts["better"] == "higher" else "rises to"
    told = f"becomes {_shown(value, facts)}" if not math.isfinite(value) else f"{how} {_shown(value, facts)}"
    against = f" against {row['reference']}" if row["reference"] else ""
    side = "below" if facts["better"] == "higher" else "above"
    return Sentence(
        "origin",
        (
            f"{row['stage']} introduced the error: {metric}{against} first {told} at ", _named(row),
            f"{_place(row)}, and {row['bad']} of its {row['measured']} measured nodes "
            f"{'is' if row['bad'] == 1 else 'are'} {side} {_shown(threshold, facts)}.",
        ),
    )  # fmt: skip


def _output(origin: Row, rows: Sequence[Row], threshold: float, run: CommittedRun, facts: Row) -> Sentence:
    """Says how far the error goes, and what the stages after it add; the device in its own words."""
    better = facts["better"]
    if origin["output"] is None:
        parts: list[str | NodeName] = [f"What {origin['stage']} returns was not measured"]
    elif _bad(origin["output"], threshold, better):
        parts = [f"It reaches the output of {origin['stage']}: {_shown(origin['output'], facts)} there"]
    else:
        parts = [f"It does not reach the output of {origin['stage']}: {_shown(origin['output'], facts)} there"]
    kinds = {str(one["stage"]): str(one["kind"]) for one in run.stages}
    for row in rows[rows.index(origin) + 1 :]:
        who = f"the device ({row['stage']})" if kinds.get(row["stage"]) == _RUNTIME else row["stage"]
        against = f" against {row['reference']}" if row["reference"] else ""
        if row["introduced"]:
            parts += [f"; {who} adds an error of its own{against}, from {_shown(row['value'], facts)} at ", _named(row)]
        elif row["bad"]:
            parts.append(f"; {who} still has it (worst {_shown(row['worst'], facts)}{against})")
        else:
            parts.append(f"; {who} adds none (worst {_shown(row['worst'], facts)}{against})")
    return Sentence("output", (*parts, "."))


def _no_error(
    store: Store, run: CommittedRun, rows: Sequence[Row], threshold: float, metric: str, facts: Row
) -> Sentence:
    """Says that no stage introduced an error, and how near the worst number comes to the threshold."""
    sign = 1 if facts["better"] == "higher" else -1
    numbers = [row for row in rows if row["worst"] is not None]
    if not numbers:
        return Sentence("origin", (f"No node has a {metric} that could be judged.",))
    nearest = min(numbers, key=lambda row: (not math.isnan(row["worst"]), sign * row["worst"]))
    if any(row["bad"] for row in rows):
        several = _listed([row["stage"] for row in rows if row["bad"]])
        return Sentence("origin", (f"{several} is beyond {_shown(threshold, facts)}, but no stage introduced it.",))
    worst = store.worst(metric, n=1, run=run.run_id, stage=nearest["stage"]).arrow().to_pylist()
    named: tuple[str | NodeName, ...] = (" at ", _named(worst[0]), _place(worst[0])) if worst else ()
    of = f"in {rows[0]['stage']}" if len(rows) == 1 else f"in the {len(rows)} measured stages"
    against = f" against {nearest['reference']}" if nearest["reference"] else ""
    limit = f"{metric} {'>=' if sign == 1 else '<='} {_shown(threshold, facts)}"
    return Sentence(
        "origin",
        (
            f"No error found: every number {of} holds {limit}; the worst is {_shown(nearest['worst'], facts)}, "
            f"{nearest['stage']}{against}",
            *named,
            ".",
        ),
    )


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


def _not_measured(store: Store, run: CommittedRun, rows: Sequence[Row]) -> dict[str, Any]:
    """Returns the stages that were neither measured nor a reference, and of the others the nodes without a number."""
    known = {row["stage"] for row in rows} | {row["reference"] for row in rows}
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
    return {"stages": [stage for stage in stages if stage not in known], "nodes": nodes}


def _missing(missing: Row) -> Sentence | None:
    said = [_listed(missing["stages"])] if missing["stages"] else []
    parts = [f"{one['not_measured']} of {one['nodes']} nodes of {one['stage']}" for one in missing["nodes"]]
    said += [f"{_listed(parts)} (the relation coverage says why)"] if parts else []
    return Sentence("missing", (f"Not measured: {'; '.join(said)}.",)) if said else None


def _before(
    store: Store, run: CommittedRun, base: CommittedRun | None, origin: Row | None, metric: str, threshold: float,
    facts: Row,
) -> dict[str, Any] | None:  # fmt: skip
    """Returns the node's row in the base, else in the newest earlier run in which it was good; None without one."""
    if origin is None:
        return None
    asked = {"run": run.run_id, "method": origin["method"], "path": origin["path"]}
    rows = store.history(origin["stage"], origin["name"], metric, **asked).arrow().to_pylist()
    keys = ("nid", "run", "run_id", "created_at", "value", "reason", "matched_by")
    if base is not None:
        return next(({key: row[key] for key in keys} for row in rows if row["run_id"] == base.run_id), None)
    earlier = rows[: next(i for i, row in enumerate(rows) if row["run_id"] == run.run_id)]
    good = [row for row in earlier if row["value"] is not None and not _bad(row["value"], threshold, facts["better"])]
    return {key: good[-1][key] for key in keys} if good else None


def _history(past: Row | None, origin: Row | None, base: CommittedRun | None, facts: Row) -> Sentence | None:
    if past is None:
        if base is None or origin is None:
            return None
        return Sentence("before", (f"Base {base.name} ({base.run_id}) has no such node, or is of another model.",))
    who = f"{past['run']} ({past['run_id']})"
    if past["value"] is None:
        return Sentence("before", (f"The base {who} has no number there: {past['reason']}.",))
    what = "In the base" if base is not None else "It was last good in run"
    return Sentence("before", (f"{what} {who}: {_shown(past['value'], facts)} there.",))


def _listed(names: Sequence[str]) -> str:
    """Returns names as a sentence has them: a, b and c."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _nodes(sentence: Sentence) -> list[dict[str, Any]]:
    return [{"name": part.text, "nid": part.nid} for part in sentence.parts if isinstance(part, NodeName)]
