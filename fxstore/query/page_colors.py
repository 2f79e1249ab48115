"""What can colour the nodes of a page, and what is known of their values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from typing import Final

from fxstore.errors import QueryError
from fxstore.query import hints
from fxstore.query.stored import NodeValues
from fxstore.render.model import ColorBy, Numbers

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
) -> tuple[ColorBy, ...]:
    """Returns what can colour the nodes: accuracy, training steps, the rest and changes, or what is asked for first.

    What tells nothing of the nodes that are ``visible`` comes last.
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
    return within([offered[key] for key in ranked[:_MOST_COLORS]], _MOST_SAMPLE_NUMBERS)


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
    )  # fmt: skip


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
