"""What can colour the nodes of a page, and what is known of their values."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from fxstore.colors.scales import Measure, is_perfect, scale_of
from fxstore.errors import QueryError
from fxstore.query import hints
from fxstore.query.session import Store
from fxstore.render.model import ColorBy, Numbers
from fxstore.render.page.run_tables import NodeValues, StoredGraph
from fxstore.store import CommittedRun

_ADDITIVE: Final = frozenset({"latency", "static"})
_SHARED: Final = frozenset({"ns", "us", "µs", "ms", "s", "bytes"})
_MOST_COLORS: Final = 16
MOST_SAMPLES: Final = 64
"""Samples that a page can show on their own, of each colour the first."""
_MOST_SAMPLE_NUMBERS: Final = 400_000


def colors_of(
    numbers: Sequence[NodeValues],
    steps: Sequence[ColorBy],
    changes: Sequence[ColorBy],
    color_by: str | None,
    changes_first: bool,
    visible: Set[int],
    stages: Sequence[Sequence[StoredGraph]] = (),
) -> tuple[ColorBy, ...]:
    """Returns what can colour the nodes: accuracy, training steps, the rest and changes, or what is asked for first.

    What tells nothing of the nodes that are ``visible`` comes last. The graphs of ``stages`` say what a time is a share
    of.
    """
    offered: dict[tuple[str, str], ColorBy] = {}
    order: dict[tuple[str, str], tuple[object, ...]] = {}
    describing = _describing(numbers)
    for one in numbers:
        if one.overlay in describing:
            continue
        key = (one.overlay, one.metric)
        accuracy = one.kind == "accuracy"
        order[key] = (not (accuracy and one.metric == "cosine"), not accuracy, -one.number, one.metric)
        offered[key] = _merged(offered.get(key), one)
        if one.kind in _ADDITIVE and one.unit in _SHARED:
            offered[key] = replace(offered[key], whole=whole_of(offered[key].values, stages))
    differing = differing_in(numbers)
    offered = {key: replace(one, differ=differing.get(key)) for key, one in offered.items()}
    for step in steps:
        key = (step.name, step.metric)
        offered[key] = step
        order[key] = (True, False, -math.inf, step.name)
    for change in changes:
        key = (change.name, change.metric)
        offered[key] = change
        order[key] = (not changes_first, not changes_first, -math.inf, change.name)
    if color_by is not None and not any(color_by in key for key in offered):
        known = dict.fromkeys(name for pair in offered for name in pair)
        raise QueryError(f"no overlay or metric {color_by!r} in these runs", hint=hints.among(color_by, known))
    ranked = sorted(offered, key=lambda key: (color_by not in key, not _tells(offered[key], visible), *order[key]))
    ranked = ranked[:_MOST_COLORS]
    colors = within([offered[key] for key in ranked], _MOST_SAMPLE_NUMBERS)
    ages = {(one.overlay, one.metric): -one.number for one in numbers if one.kind == "accuracy"}
    telling = [key for key in ranked if key in ages and _tells(offered[key], visible)]
    newest = sorted(telling, key=ages.__getitem__)
    metrics = dict.fromkeys(metric for _, metric in telling)
    unions = []
    for metric in metrics:
        parts = _one_each([(key, offered[key]) for key in newest if key[1] == metric], stages)
        unions.append(united(colors, ranked, parts))
    found = [one for one in unions if one is not None]
    if color_by is None:
        return (*_shifted(found, len(found)), *colors)
    return (*colors, *found)


ALL_STAGES: Final = "each stage against its reference"


def _one_each(
    found: Sequence[tuple[tuple[str, str], ColorBy]], stages: Sequence[Sequence[StoredGraph]]
) -> list[tuple[str, str]]:
    """Returns the overlays to unite, newest first, one a stage: two references of one stage are never mixed."""
    if len(found) < 2:
        return []
    places = [(place, graph) for place, graphs in enumerate(stages) for graph in graphs]
    stage_of = {nid: place for place, graph in places for nid in graph.nodes["nid"].to_pylist()}
    taken: set[int] = set()
    kept = []
    for key, color in found:
        own = {stage_of.get(nid, -1 - nid) for nid in (*color.values, *color.missing)}
        if taken.isdisjoint(own):
            taken |= own
            kept.append(key)
    return kept


def united(colors: Sequence[ColorBy], keys: Sequence[tuple[str, str]], of: Sequence[tuple[str, str]]) -> ColorBy | None:
    """Returns one metric of several overlays as one colour, newest overlay first; None of fewer than two.

    Args:
        colors: The page's colours.
        keys: Overlay and metric of each.
        of: Those to unite, which hold one metric.
    """
    parts = [keys.index(key) for key in of]
    if len(parts) < 2:
        return None
    found = [colors[part] for part in parts]
    reverse = found[::-1]
    known = [one.differ for one in found if one.differ is not None]
    samples: tuple[Numbers, ...] = ()
    for one in reverse:
        samples = _united(samples, one.samples)
    same = {one.threshold for one in found}
    return replace(
        found[0],
        name=ALL_STAGES,
        values={nid: value for one in reverse for nid, value in one.values.items()},
        missing={nid: reason for one in reverse for nid, reason in one.missing.items()},
        notes={nid: note for one in reverse for nid, note in one.notes.items()},
        samples=samples,
        all_samples=max(one.all_samples for one in found),
        threshold=same.pop() if len(same) == 1 else None,
        differ=frozenset().union(*known) if len(known) == len(found) else None,
        parts=tuple(parts),
    )


def _shifted(found: Iterable[ColorBy], by: int) -> list[ColorBy]:
    """Returns united colours that stand before the others."""
    return [replace(one, parts=tuple(part + by for part in one.parts)) for one in found]


def _tells(color: ColorBy, visible: Set[int]) -> bool:
    return not (visible.isdisjoint(color.values) and visible.isdisjoint(color.texts))


def _merged(known: ColorBy | None, more: NodeValues) -> ColorBy:
    values = {**(known.values if known else {}), **more.values}
    missing = {**(known.missing if known else {}), **more.missing}
    texts = {**(known.texts if known else {}), **more.texts}
    notes = {**(known.notes if known else {}), **more.notes}
    samples = _united(known.samples if known else (), [more.samples[number] for number in sorted(more.samples)])
    count = max(known.all_samples if known else 0, more.all_samples)
    return ColorBy(
        more.overlay, more.metric, values, missing, more.unit, more.better, texts,
        notes=notes, samples=samples, all_samples=count,
        threshold=more.threshold if known is None or known.threshold == more.threshold else None,
    )  # fmt: skip


def whole_of(values: Mapping[int, float], stages: Sequence[Sequence[StoredGraph]]) -> float | None:
    """Returns what times or bytes are a share of: the sum over the stage that has most; None where it is nothing.

    What stands in a graph whose caller has a number of its own is in that number.
    """
    sums = [
        sum(
            value
            for graph in graphs
            if graph.parent_nid is None or graph.parent_nid not in values
            for nid in graph.nodes["nid"].to_pylist()
            if math.isfinite(value := values.get(nid, 0.0)) and value > 0
        )
        for graphs in stages
    ]
    return max(sums, default=0.0) or None


def differing_in(numbers: Sequence[NodeValues]) -> dict[tuple[str, str], frozenset[int]]:
    """Returns of metrics that are perfect for unequal tensors, too, the nodes where another one says that these differ.

    A cosine is 1 of a tensor and twice it. Metrics of which no other tells about each perfect number are left out.
    """
    exact: dict[str, dict[int, bool]] = {}
    for one in numbers:
        scale = scale_of(Measure(one.metric, one.unit, one.better))
        if scale is not None and scale.get("exact"):
            for nid, value in one.values.items():
                known = exact.setdefault(one.overlay, {})
                known[nid] = known.get(nid, True) and is_perfect(value, scale)
    found: dict[tuple[str, str], frozenset[int]] = {}
    for one in numbers:
        scale = scale_of(Measure(one.metric, one.unit, one.better))
        if scale is None or scale.get("exact") or "perfect" not in scale:
            continue
        perfect = [nid for nid, value in one.values.items() if is_perfect(value, scale)]
        known = exact.get(one.overlay, {})
        if all(nid in known for nid in perfect):
            key = (one.overlay, one.metric)
            found[key] = found.get(key, frozenset()) | {nid for nid in perfect if not known[nid]}
    return found


def _united(known: Sequence[Numbers], more: Sequence[Numbers]) -> tuple[Numbers, ...]:
    """Returns the samples of several runs: those of one name are one; a run's second of a name gets a number."""
    found = {one.name: one for one in known}
    taken: set[str] = set()
    for one in more:
        name, again = one.name, 1
        while name in taken:
            again += 1
            name = f"{one.name} #{again}"
        taken.add(name)
        other = found.get(name, Numbers(name))
        found[name] = Numbers(name, {**other.values, **one.values}, {**other.missing, **one.missing})
    return tuple(found.values())


def within(colors: Sequence[ColorBy], most: int) -> tuple[ColorBy, ...]:
    """Returns colours with at most so many numbers of single samples: those of the first colours and samples."""
    out = []
    for color in colors:
        kept: list[Numbers] = []
        for one in color.samples:
            most -= len(one.values) + len(one.missing)
            if most < 0:
                break
            kept.append(one)
        out.append(replace(color, samples=tuple(kept) if len(kept) > 1 else ()))
    return tuple(out)


def _describing(known: Iterable[NodeValues]) -> set[str]:
    """Returns the overlays that describe values themselves: those that hold histograms."""
    return {one.overlay for one in known if one.kind == "statistics" and one.metric == "histogram" and one.texts}


def statistics_of(known: Sequence[NodeValues]) -> dict[int, dict[str, object]]:
    """Returns what is known of each node's value: statistics, and the counts of its histogram."""
    describing = _describing(known)
    out: dict[int, dict[str, object]] = {}
    for one in known:
        if one.overlay in describing:
            for nid, value in one.values.items():
                out.setdefault(nid, {})[one.metric] = value
            for nid, told in one.texts.items():
                out.setdefault(nid, {})[one.metric] = json.loads(told)["counts"]
    return out


# What changed from one run to the next, as colours of a page.


def change_colors(store: Store, runs: Sequence[CommittedRun], visible: Set[int]) -> list[ColorBy]:
    """Returns for each two runs what ``run_diff`` tells of their nodes, of those that are visible."""
    return [_changes(store, base, head, visible) for base, head in pairwise(runs)]


def _changes(store: Store, base: CommittedRun, head: CommittedRun, visible: Set[int]) -> ColorBy:
    table = store.rows_of("run_diff", base.run_id, head.run_id)
    rows = table.select(["change", "base_nid", "head_nid"]).to_pylist()
    sides = ("base_nid", "head_nid")
    texts = {row[side]: str(row["change"]) for row in rows for side in sides if row[side] in visible}
    return ColorBy(f"{_label(base, head)} → {_label(head, base)}", "change", {}, texts=texts)


def _label(run: CommittedRun, other: CommittedRun) -> str:
    return run.name if run.name != other.name else run.run_id


# What a debugger says of the nodes of a run: whether the accuracy that was measured at each passes its threshold.


VERDICT: Final = "verdict"
FILLS: Final[dict[str, tuple[str, str]]] = {
    "pass": ("#9fd8a4", "#2f6b3a"),
    "fail": ("#f08a80", "#a8362c"),
    "not finite": ("#c46bd0", "#8a3d96"),
    "measured": ("#a9cdf3", "#2d5580"),
    "not measured": ("#e4e7ec", "#2b3646"),
}
"""What a node is, in the order of a legend, and its fill on a light and on a dark ground."""


@dataclass
class Found:
    """What was measured at one node.

    Attributes:
        values: Number by metric; NaN and infinite ones too.
        reasons: Why there is none, by metric, or what is said about one.
    """

    overlay: str = ""
    scope: str | None = None
    samples: int = 0
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    verdicts: set[str] = field(default_factory=set)
    broken: bool = False

    @property
    def verdict(self) -> str | None:
        """``fail`` where any metric fails; None where no metric had a threshold."""
        return max(self.verdicts, key="fail".__eq__, default=None)

    @property
    def kind(self) -> str:
        """What colours the node."""
        if self.verdict is not None:
            return self.verdict
        return "not finite" if self.broken else "measured" if self.values else "not measured"


def verdict_colors(store: Store, run_ids: Iterable[str]) -> list[ColorBy]:
    """Returns the verdicts on the nodes of some runs as colours; a node without a number is ``not measured``."""
    texts = {nid: one.kind for run_id in run_ids for nid, one in measured(store, run_id).items()}
    return [ColorBy(VERDICT, VERDICT, {}, texts=texts, fills=FILLS)] if texts else []


def measured(store: Store, run_id: str) -> dict[int, Found]:
    """Returns what was measured at each node that has a number, or a reason why not."""
    found: dict[int, Found] = defaultdict(Found)
    for row in store.rows_of("_debugger_numbers", run_id).to_pylist():
        one = found[row["nid"]]
        one.overlay, one.scope, one.samples = row["overlay"], row["scope"], row["samples"]
        if row["value"] is not None:
            one.values[row["metric"]] = row["value"]
            one.broken |= math.isnan(row["value"]) or (
                row["status"] == "non_finite" and not (row["reason"] or "").startswith("identical")
            )
        if row["reason"] is not None or row["value"] is None:
            one.reasons[row["metric"]] = row["reason"] or "no data"
        if row["verdict"] is not None:
            one.verdicts.add(row["verdict"])
    return found
