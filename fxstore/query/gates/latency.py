"""Rules about times: medians, with the run's own speed taken out, and never more certain than the samples are.

A side's value of a node is the median over its runs; each run's values are divided by how much slower the run is as a
whole, which is the median over the nodes of their ratio to the base. A node trips a rule only where both sides have at
least five samples and the difference is more than three standard errors of the medians, estimated from the median
absolute deviation (1.4826 MAD for the standard deviation, 1.2533 for that of a median of normal samples).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from fxstore.query.gates.rules import NOT_ENOUGH, NOTE, TRIPPED, Finding, Rule, kept
from fxstore.query.gates.sides import Cell, Key, Sides

Cells = dict[Key, Cell]
LEAST_SAMPLES: Final = 5
LEAST_NODES: Final = 5
ERRORS: Final = 3.0
_SLOW: Final = 1.1
_MAD_TO_DEVIATION: Final = 1.4826
_MEDIAN_TO_MEAN_ERROR: Final = 1.2533
_STATISTIC: Final = re.compile(r"(?P<name>p\d{1,2}|min|max|mean|median)_(?P<unit>ns|us|ms|s)")
_NANOSECONDS: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Statistic:
    """A statistic of the samples of a run, such as ``p90_ms`` of the latency in nanoseconds."""

    name: str
    unit: str

    def of(self, cell: Cell) -> list[float]:
        """Returns the samples of a cell in this unit."""
        scale = _NANOSECONDS.get(cell.unit or "ns", 1.0) / _NANOSECONDS[self.unit]
        return [value * scale for value, broken in zip(cell.values, cell.broken, strict=True) if broken == 2]

    def value(self, samples: Sequence[float]) -> float:
        """Returns the statistic of some samples; percentiles are interpolated."""
        if self.name in ("min", "max", "mean"):
            return {"min": min, "max": max, "mean": fmean}[self.name](samples)  # type: ignore[operator, no-any-return]
        part = 0.5 if self.name == "median" else int(self.name[1:]) / 100
        ranked, place = sorted(samples), part * (len(samples) - 1)
        low = int(place)
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (ranked[high] - ranked[low]) * (place - low)


def statistic(name: str) -> Statistic | None:
    """Returns the statistic that a name says, or None where it says none."""
    found = _STATISTIC.fullmatch(name)
    return Statistic(found["name"], found["unit"]) if found else None


@dataclass
class _Measured:
    """What one run says: each node's value, and the samples behind it."""

    values: dict[Key, float]
    samples: dict[Key, list[float]]
    slowdown: float = 1.0


@dataclass(frozen=True)
class _Estimate:
    value: float
    samples: int
    error: float


def judge(rule: Rule, sides: Sides, base: list[Cells], head: list[Cells], derived: Statistic | None) -> list[Finding]:
    """Returns what a rule finds over all runs of the head.

    Args:
        base: What each run of the base holds of the metric.
        head: What each run of the head holds.
        derived: How the metric comes from the samples; None where it is stored as such.
    """
    before = [_measured(cells, derived) for cells in base]
    after = [_measured(cells, derived) for cells in head]
    notes = _normalize(rule, before, after) if rule.factor is not None else []
    found: list[Finding] = []
    passed = 0
    for node in sorted({node for run in (*before, *after) for node in run.values}):
        finding = _node(rule, sides, node, _estimate(node, before), _estimate(node, after))
        passed += finding is None
        found += [finding] if finding else []
    found = _shortened(rule, found)
    if not found and not passed:
        return [Finding(rule.text, NOT_ENOUGH, f"no node has {rule.subject}", stage=rule.stage)]
    return [*found, *notes, *kept(rule.text, passed)]


def _measured(cells: Cells, derived: Statistic | None) -> _Measured:
    found = _Measured({}, {})
    for node, cell in cells.items():
        samples = derived.of(cell) if derived else [v for v, b in zip(cell.values, cell.broken, strict=True) if b == 2]
        if samples:
            found.samples[node] = samples
            found.values[node] = derived.value(samples) if derived else median(samples)
    return found


def _normalize(rule: Rule, before: list[_Measured], after: list[_Measured]) -> list[Finding]:
    """Takes each run's own speed out of its values; says so where it was slow."""
    reference = {node: median(r.values[node] for r in before if node in r.values) for r in before for node in r.values}
    for run in (*before, *after):
        ratios = [value / reference[node] for node, value in run.values.items() if reference.get(node, 0.0) > 0.0]
        run.slowdown = median(ratios) if len(ratios) >= LEAST_NODES else 1.0
        run.values = {node: value / run.slowdown for node, value in run.values.items()}
        run.samples = {node: [v / run.slowdown for v in values] for node, values in run.samples.items()}
    slow = [run.slowdown for run in after if run.slowdown > _SLOW]
    if not slow:
        return []
    said = f"the runner was slow: {max(slow):.2f} times the base over all nodes in {len(slow)} of {len(after)} runs"
    return [Finding(rule.text, NOTE, f"{said}, taken out of their times", value=max(slow))]


def _estimate(node: Key, runs: list[_Measured]) -> _Estimate | None:
    values = [run.values[node] for run in runs if node in run.values]
    if not values:
        return None
    if len(values) >= LEAST_SAMPLES:
        return _Estimate(median(values), len(values), _error(values))
    samples = [run.samples[node] for run in runs if node in run.samples]
    most = max(samples, key=len)
    return _Estimate(median(values), len(most), max(map(_error, samples)))


def _error(values: Sequence[float]) -> float:
    """Returns the standard error of the median of some samples, relative to it."""
    middle = median(values)
    deviation = _MAD_TO_DEVIATION * median(abs(value - middle) for value in values)
    return _MEDIAN_TO_MEAN_ERROR * deviation / math.sqrt(len(values)) / abs(middle) if middle else 0.0


def _node(rule: Rule, sides: Sides, node: Key, base: _Estimate | None, head: _Estimate | None) -> Finding | None:
    before, after = sides.ordinals(node)

    def finding(state: str, reason: str, limit: float | None = None) -> Finding:
        value, known = (head.value if head else None), (base.value if base else None)
        return Finding(rule.text, state, reason, before, after, value, known, limit)

    if head is None:
        return finding(NOTE, "its node is gone") if after is None else finding(NOT_ENOUGH, "no longer measured")
    if base is None and rule.factor is not None:
        return finding(NOTE, "new: the base has no value")
    limit = rule.limit(base.value if base else None)
    assert limit is not None
    sure = [side for side in (base if rule.factor is not None else None, head) if side is not None]
    fewest = min(side.samples for side in sure)
    if fewest < LEAST_SAMPLES:
        return finding(NOT_ENOUGH, f"{_samples(fewest)}, {LEAST_SAMPLES} are needed", limit)
    if rule.keeps(head.value, limit):
        return None
    error = ERRORS * math.hypot(*(side.error * side.value for side in sure))
    reference = base.value if base and rule.factor is not None else limit
    if abs(head.value - reference) <= error:
        return finding(NOT_ENOUGH, f"{head.value:.4g} against {limit:.4g}, but within the noise of {error:.2g}", limit)
    times = f", {head.value / base.value:.2f} times the base" if base and base.value else ""
    return finding(TRIPPED, f"{head.value:.4g} against {limit:.4g}{times}", limit)


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def _shortened(rule: Rule, found: list[Finding]) -> list[Finding]:
    """Says once what is said of many nodes: that they have too few samples."""
    few = [finding for finding in found if finding.state == NOT_ENOUGH and finding.reason.endswith("are needed")]
    if len(few) < 2:
        return found
    reason = f"{len(few)} nodes: {few[0].reason}"
    return [f for f in found if f not in few] + [Finding(rule.text, NOT_ENOUGH, reason, stage=rule.stage)]
