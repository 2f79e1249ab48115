"""What fills the boxes of a picture, and its legend; the same colours as on the page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fxstore.colors.palettes import Palette, mixed
from fxstore.colors.scales import (
    Domain,
    Measure,
    anchored,
    badness,
    domain_of,
    ends,
    is_perfect,
    scale_of,
    standing,
    ticks,
)
from fxstore.errors import UsageError, nearest
from fxstore.render.model import ColorBy, PageModel, Pane

ROLE: Final = "role"
_STEPS: Final = 32
_MOST_CATEGORIES: Final = 24


@dataclass(frozen=True)
class Fill:
    """How a box is filled.

    Attributes:
        color: ``#rrggbb``.
        hatch: ``''``, ``stripe`` (not a number), ``cross`` (infinite) or ``dot`` (a reason why there is no number).
    """

    color: str
    hatch: str = ""


@dataclass(frozen=True)
class Key:
    """One entry of a legend."""

    text: str
    fill: Fill


@dataclass(frozen=True)
class Scale:
    """The scale of a metric, as it is painted from left to right.

    Attributes:
        stops: Colours at equal steps.
        ticks: Where on it, from 0 to 1, which numbers stand.
        ends: What is left and right of it: good and bad, or low and high.
        note: What stands on its axis, or ''.
    """

    stops: Sequence[str]
    ticks: Sequence[tuple[float, str]]
    ends: tuple[str, str]
    note: str


@dataclass(frozen=True)
class Coloring:
    """The colours of the nodes of a picture.

    Attributes:
        title: Metric and overlay.
        fills: nid to fill, for every node of the picture.
        keys: Legend of all that stands on no scale, in order, with counts.
    """

    title: str
    fills: Mapping[int, Fill]
    scale: Scale | None = None
    keys: Sequence[Key] = ()


def coloring(model: PageModel, palette: Palette, color_by: str | None = None) -> Coloring:
    """Returns the colours of a model's nodes.

    Args:
        color_by: An overlay or a metric of the model, or ``role``; by default the model's first that says anything of
            the picture's nodes, else the roles.

    Raises:
        UsageError: The model has no such colours.
    """
    if color_by != ROLE:
        shown = {nid for pane in model.panes for nid in _nids(pane)}
        for by in model.colors:
            wanted = color_by in (by.name, by.metric)
            if wanted or (color_by is None and not (shown.isdisjoint(by.values) and shown.isdisjoint(by.texts))):
                return _categories(by, model, palette) if by.texts else _numbers(by, model, palette)
        if color_by is not None:
            known = [ROLE, *dict.fromkeys(name for by in model.colors for name in (by.name, by.metric))]
            hint = nearest(color_by, known) or f"one of {', '.join(known)}"
            raise UsageError(f"there is no overlay or metric {color_by!r} in this picture", hint=hint)
    roles = {
        nid: role or "op"
        for pane in model.panes
        for graph in pane.graphs
        for nid, role in zip(*(graph.nodes[name].to_pylist() for name in ("nid", ROLE)), strict=True)
    }
    return _categories(ColorBy(ROLE, ROLE, {}, texts=roles), model, palette)


def _numbers(by: ColorBy, model: PageModel, palette: Palette) -> Coloring:
    shown = [nid for pane in model.panes for nid in _nids(pane)]
    told = {nid: value for nid in shown if (value := by.values.get(nid)) is not None and not math.isnan(value)}
    finite = [value for value in told.values() if math.isfinite(value)]
    domain = (anchored(by.measure) if told else None) or domain_of(finite, by.better)
    fills: dict[int, Fill] = {}
    counts: Counter[str] = Counter()
    specials = _specials(palette)
    for nid, kind in _kinds(model.panes, by).items():
        counts[kind] += 1
        value = by.values.get(nid, math.nan)
        fills[nid] = specials[kind] if kind else Fill(_step(value, domain, by.measure, palette))
    keys = _standing_keys(told, sum(counts[kind] for kind in ("", _NAN, _INFINITE)), domain, by, palette)
    keys += _special_keys(counts, specials)
    return Coloring(_title(by), fills, _scale(domain, by, palette), keys)


_NAN, _INFINITE, _REASON, _UNKNOWN, _OTHER = "NaN", "±∞", "not compared", "no data", "other stages"


def _specials(palette: Palette) -> dict[str, Fill]:
    colors = palette.graph
    return {
        _NAN: Fill(colors["nan"], "stripe"),
        _INFINITE: Fill(colors["inf"], "cross"),
        _REASON: Fill(colors["missing"], "dot"),
        _UNKNOWN: Fill(colors["nodata"]),
        _OTHER: Fill(colors["other"]),
    }


def _special_keys(counts: Mapping[str, int], specials: Mapping[str, Fill]) -> list[Key]:
    """Returns what the legend says of nodes that stand on no scale; those of other stages are not counted."""
    shown = (kind for kind in specials if counts.get(kind))
    return [Key(kind if kind == _OTHER else f"{kind} {counts[kind]:,}", specials[kind]) for kind in shown]


def _standing_keys(
    values: Mapping[int, float], count: int, domain: Domain | None, by: ColorBy, palette: Palette
) -> list[Key]:
    """Returns what the legend says of nodes at the good end: identical, equal up to rounding."""
    if domain is None:
        return []
    good = Fill(_stops(domain, by.better, palette)[0])
    found = standing(values, by.measure, by.differ)
    return [Key(f"all {n:,} {text}" if n == count else f"{text} {n:,}", good) for text, n in found]


def _kinds(panes: Sequence[Pane], by: ColorBy) -> dict[int, str]:
    """Returns what each node has instead of a place on the scale; '' where it has one."""
    kinds: dict[int, str] = {}
    scale = scale_of(by.measure)
    for pane in panes:
        nids = _nids(pane)
        known = any(nid in by.values or nid in by.missing or nid in by.texts for nid in nids)
        for nid in nids:
            value = by.values.get(nid)
            if value is not None:
                placed = math.isfinite(value) or is_perfect(value, scale)
                kinds[nid] = _NAN if math.isnan(value) else "" if placed else _INFINITE
            elif nid in by.texts:
                kinds[nid] = ""
            else:
                kinds[nid] = _REASON if nid in by.missing else _UNKNOWN if known else _OTHER
    return kinds


def _step(value: float, domain: Domain | None, measure: Measure, palette: Palette) -> str:
    assert domain is not None
    perfect = is_perfect(value, scale_of(measure))
    place = 0 if perfect else min(_STEPS - 1, int(badness(value, domain, measure.better) * _STEPS))
    return _stops(domain, measure.better, palette)[place]


def _stops(domain: Domain, better: str | None, palette: Palette) -> list[str]:
    named = palette.diverging if domain.diverging else palette.scale if better else palette.neutral
    return [mixed(named, (i + 0.5) / _STEPS) for i in range(_STEPS)]


def _scale(domain: Domain | None, by: ColorBy, palette: Palette) -> Scale | None:
    if domain is None:
        return None
    marks, note = ticks(domain, by.measure)
    return Scale(_stops(domain, by.better, palette), marks, ends(domain, by.measure), note)


def _categories(by: ColorBy, model: PageModel, palette: Palette) -> Coloring:
    """Returns colours by text: the most frequent ones have their own, the others share one."""
    shown = [nid for pane in model.panes for nid in _nids(pane)]
    counts = Counter(by.texts[nid] for nid in shown if nid in by.texts)
    order = list(counts)
    place = {text: i for i, text in enumerate(dict.fromkeys([*by.fills, *order]))}
    own = sorted(sorted(order, key=lambda text: -counts[text])[:_MOST_CATEGORIES], key=place.__getitem__)
    colors = _category_colors(by, own, palette)
    rest = palette.categories[len(own) % len(palette.categories)]
    kinds, specials = _kinds(model.panes, by), _specials(palette)
    fills = {
        nid: specials[kinds[nid]] if kinds[nid] else Fill(colors.get(by.texts[nid], rest))
        for nid in dict.fromkeys(shown)
    }
    keys = [Key(f"{text} {counts[text]:,}", Fill(colors[text])) for text in own]
    if len(order) > len(own):
        others = sum(counts[text] for text in order if text not in colors)
        keys.append(Key(f"{len(order) - len(own):,} others {others:,}", Fill(rest)))
    keys += _special_keys(Counter(kinds.values()), specials)
    return Coloring(_title(by), fills, None, keys)


def _category_colors(by: ColorBy, texts: Sequence[str], palette: Palette) -> dict[str, str]:
    known = {ROLE: palette.roles, "change": palette.changes}.get(by.metric, {})
    given = {text: light if palette.name == "light" else dark for text, (light, dark) in by.fills.items()}
    several = palette.categories
    return {text: given.get(text) or known.get(text) or several[i % len(several)] for i, text in enumerate(texts)}


def _title(by: ColorBy) -> str:
    return by.metric if by.metric == by.name else f"{by.metric} · {by.name}"


def _nids(pane: Pane) -> list[int]:
    return [nid for graph in pane.graphs if not graph.beside for nid in graph.nodes["nid"].to_pylist()]
