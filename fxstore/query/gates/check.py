"""Evaluates rules on a head against a base."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fxstore.errors import QueryError, UsageError
from fxstore.query import hints
from fxstore.query.gates import latency, nodes
from fxstore.query.gates.rules import COVERAGE, FALLBACK, NOT_ENOUGH, PASSED, STATES, TRIPPED, Finding, Rule, parse
from fxstore.query.gates.sides import Sides
from fxstore.store import CommittedRun

if TYPE_CHECKING:
    from fxstore.query.across import Store
    from fxstore.query.result import Result
    from fxstore.query.why import Verdict
    from fxstore.render.html import Page

# Which runs a base or a head is: one by id or name, or the last ones with some tags.


_TAGGED: Final = re.compile(r"tag:(?P<tags>[^~]+)(?:~(?P<count>\d+))?")


def select(store: Store, text: str, but: Collection[str] = ()) -> list[CommittedRun]:
    """Returns runs, oldest first.

    Args:
        store: Where they are.
        text: Id or name of one; or ``tag:KEY=VALUE[,KEY=VALUE…][~N]``: of the complete runs that carry all these tags,
            the last N, or the last one. ``tag:VALUE`` is any tag of that value.
        but: Ids of runs that are left out of a selection by tags.

    Raises:
        QueryError: There is none.
        UsageError: The text is no selection.
    """
    if not text.startswith("tag:"):
        return [store.existing_run(text)]
    found = _TAGGED.fullmatch(text)
    if found is None or found["count"] == "0":
        raise UsageError(f"{text!r} selects no runs", hint="tag:branch=main~20 is the last 20 complete runs tagged so")
    wanted = [part.strip() for part in found["tags"].split(",")]
    runs = [
        run
        for run in store.committed_runs()
        if run.status == "complete" and run.run_id not in but and all(_carries(run, tag) for tag in wanted)
    ]
    if not runs:
        raise QueryError(f"no complete run is tagged {found['tags']!r}", hint="SELECT name, status, tags FROM runs")
    return runs[-int(found["count"] or 1) :]


def _carries(run: CommittedRun, tag: str) -> bool:
    key, equals, value = tag.partition("=")
    return run.tags.get(key) == value if equals else key in run.tags.values()


_LATENCY: Final = "latency"
_COLUMNS: Final = pa.schema(
    [
        ("state", pa.string()), ("rule", pa.string()), ("stage", pa.string()), ("name", pa.string()),
        ("value", pa.float64()), ("base_value", pa.float64()), ("limit", pa.float64()), ("reason", pa.string()),
        ("overlay", pa.string()), ("module_path", pa.string()), ("source_file", pa.string()),
        ("source_line", pa.int32()), ("base_nid", pa.int64()), ("head_nid", pa.int64()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """What some rules found; prints itself as a table.

    Attributes:
        result: One row per finding, what tripped first, in the order of the graph: state (``tripped``,
            ``not enough data``, ``note``, ``passed``), rule, stage, name, value, base_value, limit, reason, overlay,
            module_path, source_file, source_line, base_nid, head_nid.
        rules: The rules as they were given.
        runs: Ids of the newest head and of the newest base, which the page shows.
        heads: Ids of all runs that were checked.
    """

    result: Result
    rules: tuple[str, ...]
    runs: tuple[str, ...]
    heads: tuple[str, ...]
    _judge: Callable[[], Verdict | None] = field(default=lambda: None, repr=False, compare=False)

    def why(self) -> Verdict | None:
        """Returns the verdict on the newest head against the newest base; None where it cannot be judged.

        It is judged by the first rule that trips and says how good a metric must be, else by the defaults of
        ``store.why``.
        """
        return self._judge()

    def state_of(self, rule: str) -> str:
        """Returns the state of one rule: of its findings the gravest that is no note."""
        states = {row["state"] for row in self.rows() if row["rule"] == rule}
        return next((state for state in (TRIPPED, NOT_ENOUGH) if state in states), PASSED)

    @property
    def tripped(self) -> bool:
        """Whether any rule tripped."""
        return any(row["state"] == TRIPPED for row in self.rows())

    @property
    def state(self) -> str:
        """The gravest state of the rules; ``not enough data`` is no pass."""
        states = {self.state_of(rule) for rule in self.rules}
        return next((state for state in (TRIPPED, NOT_ENOUGH) if state in states), PASSED)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the findings as one dict each."""
        return [dict(zip(self.result.columns, row, strict=True)) for row in self.result]

    def summary(self) -> str:
        """Returns one line: how many rules are in which state."""
        number = Counter(self.state_of(rule) for rule in self.rules)
        return ", ".join(f"{number[state]} {state}" for state in STATES if number[state])

    def junit(self) -> str:
        """Returns the findings as JUnit XML: one test case per rule."""
        from fxstore.query.gates import reports

        return reports.junit(self)

    def annotations(self) -> list[str]:
        """Returns the findings as workflow commands of GitHub, which show them beside the source lines."""
        from fxstore.query.gates import reports

        return reports.commands(self)

    def compare(self, **options: Any) -> Page:
        """Returns the page of both runs with what the rules found highlighted; options as in ``Store.compare``."""
        return self.result.compare(**{"run": list(self.runs), **options})

    def show(self) -> None:
        """Prints the findings as a box, and the summary."""
        self.result.show()
        print(self.summary())


def evaluate(store: Store, base: str, head: str, rules: Sequence[str]) -> Check:
    """Returns what some rules find in a head against a base; both as in :func:`fxstore.query.gates.check.select`.

    Raises:
        UsageError: A rule is none, or there is none.
        QueryError: There is no such run, or neither side has a rule's metric.
    """
    if not rules:
        raise UsageError("there is no rule to check", hint='--rule "cosine >= 0.99"')
    parsed = list(dict.fromkeys(map(parse, rules)))
    texts = [rule.text for rule in parsed]
    heads = select(store, head)
    bases = select(store, base, but={run.run_id for run in heads})
    sides = Sides(store, bases, heads)
    found = [finding for rule in parsed for finding in _find(rule, sides)]
    found.sort(key=lambda f: (STATES.index(f.state), texts.index(f.rule), f.head is None, f.head or 0))
    table = _table(store, sides, found)
    shown = f"check {base} {head}: {'; '.join(texts)}"
    return Check(
        store.own_result(table, shown),
        tuple(texts),
        (heads[-1].run_id, bases[-1].run_id),
        tuple(run.run_id for run in heads),
        lambda: _why(store, parsed, found, heads[-1], bases[-1]),
    )


def _why(
    store: Store, rules: Sequence[Rule], found: Sequence[Finding], head: CommittedRun, base: CommittedRun
) -> Verdict | None:
    tripped = {finding.rule for finding in found if finding.state == TRIPPED}
    limits: list[tuple[str | None, float | None]] = [
        (rule.subject, rule.offset) for rule in rules if rule.text in tripped and rule.factor is None
    ]
    for metric, threshold in [*limits, (None, None)]:
        with suppress(QueryError, UsageError):  # a rule about times or coverage, or no default threshold
            return store.why(head.run_id, base.run_id, metric=metric, threshold=threshold)
    return None


def _find(rule: Rule, sides: Sides) -> list[Finding]:
    if rule.subject in (FALLBACK, COVERAGE):
        judge: Callable[[Rule, Sides], list[Finding]] = nodes.fallback if rule.subject == FALLBACK else nodes.coverage
        return judge(rule, sides)
    derived, metric = None, rule.subject
    if not (overlays := _overlays(sides, metric)) and (derived := latency.statistic(metric)):
        overlays = _overlays(sides, metric := _LATENCY)
    if not overlays:
        known = sorted({*sides.metrics(), COVERAGE})
        raise QueryError(f"neither run has the metric {rule.subject!r}", hint=hints.among(rule.subject, known))
    found: list[Finding] = []
    for old, new in overlays:
        base = [sides.cells(run, metric, old, rule.stage) for run in sides.base]
        head = [sides.cells(run, metric, new, rule.stage) for run in sides.head]
        kinds = {cell.kind for cells in (*base, *head) for cell in cells.values()}
        if derived or kinds == {"latency"}:
            judged = latency.judge(rule, sides, base, head, derived)
        elif kinds:
            judged = nodes.judge(rule, sides, base, head[-1])
        else:
            continue
        held = new if any(head) else old
        found += [replace(finding, overlay=held) for finding in judged]
    return found or [Finding(rule.text, NOT_ENOUGH, f"no node has {rule.subject}", stage=rule.stage)]


def _overlays(sides: Sides, metric: str) -> list[tuple[str, str]]:
    """Returns the overlays that hold a metric, as a pair of names in base and head: one that was named anew is one."""
    base, head = sides.overlays(sides.base, metric), sides.overlays(sides.head, metric)
    gone, new = [name for name in base if name not in head], [name for name in head if name not in base]
    if len(gone) == len(new) == 1:
        return [*((name, name) for name in base if name in head), (gone[0], new[0])]
    return [(name, name) for name in dict.fromkeys([*base, *head])]


def _table(store: Store, sides: Sides, found: Sequence[Finding]) -> pa.Table:
    base, head = sides.base[-1], sides.head[-1]
    heads = _places(store, head.run_id, [f.head for f in found if f.head is not None])
    bases = _places(store, base.run_id, [f.base for f in found if f.base is not None])
    rows = []
    for finding in found:
        old = bases.get(finding.base, {}) if finding.base is not None else {}
        new = heads.get(finding.head, {}) if finding.head is not None else {}
        place = new or old
        rows.append(
            {
                "state": finding.state, "rule": finding.rule, "stage": place.get("stage", finding.stage),
                "name": place.get("name"), "value": finding.value, "base_value": finding.base_value,
                "limit": finding.limit, "reason": finding.reason,
                "overlay": finding.overlay, "module_path": place.get("module_path"),
                "source_file": place.get("source_file"), "source_line": place.get("source_line"),
                "base_nid": old.get("nid"), "head_nid": new.get("nid"),
            }
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_COLUMNS)


def _places(store: Store, run_id: str, ordinals: Sequence[int]) -> dict[int, dict[str, Any]]:
    if not ordinals:
        return {}
    return {row["ordinal"]: row for row in store.rows_of("_gate_places", run_id, list(ordinals)).to_pylist()}
