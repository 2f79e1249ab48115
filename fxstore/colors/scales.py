"""Where a number stands on a scale, and what the scale's ends are called; as the page has it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final

from fxstore.colors.shared import shared

_LOG_RATIO: Final = 100
_SECONDS: Final = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SHOWN: Final = ("s", "ms", "µs", "ns")
_MINUS: Final = "\u2212"
_UNSAID: Final = frozenset({"1", "value"})
_IDENTICAL: Final = "identical"
_ROUNDING: Final = "equal up to rounding"
_APART: Final = 0.3
"""A tick nearer than this to that of the gate is left out."""


@dataclass(frozen=True)
class Measure:
    """What is known of a metric, beside its values.

    Attributes:
        better: ``higher``, ``lower`` or None where neither is.
        whole: What its numbers are a share of, or None.
        threshold: Worst number that still passes the gate, or None.
        signed: Whether it is a difference of two numbers, which no scale of the metric fits.
    """

    metric: str
    unit: str | None = None
    better: str | None = None
    whole: float | None = None
    threshold: float | None = None
    signed: bool = False


@dataclass(frozen=True)
class Domain:
    """What a scale spans.

    Attributes:
        log: Whether its steps are ratios.
        diverging: Whether zero is in its middle.
        reach: The number whose distance is what stands on the axis: of a cosine 1 - value; None: the value itself.
        middle: The number that stands in the middle, or None.
        anchored: Whether the metric gives its ends, not the values.
    """

    least: float
    most: float
    log: bool = False
    diverging: bool = False
    reach: float | None = None
    middle: float | None = None
    anchored: bool = False


def scale_of(measure: Measure) -> Mapping[str, Any] | None:
    """Returns what ``colors.json`` knows of a metric's scale; None where it gives no anchors."""
    given = shared()
    if measure.signed:
        return None
    if measure.whole and measure.better != "higher":
        return given["scales"]["share"]  # type: ignore[no-any-return]
    name = given["metrics"].get(measure.metric.lower().partition("(")[0], given["units"].get(measure.unit))
    found: Mapping[str, Any] | None = given["scales"].get(name)
    return found if found and found["better"] == measure.better else None


def anchored(measure: Measure) -> Domain | None:
    """Returns what the scale of a metric spans, whatever its values are; None where nothing is known of it."""
    scale = scale_of(measure)
    if scale is None:
        return None
    whole = measure.whole or 1.0
    least, most = sorted((scale["good"] * whole, scale["bad"] * whole))
    known = Domain(least, most, scale["log"], reach=scale.get("from"), anchored=True)
    middle = measure.threshold
    return known if middle is None or not 0 < _position(middle, known) < 1 else replace(known, middle=middle)


def domain_of(values: Sequence[float], better: str | None) -> Domain | None:
    """Returns what a scale of some finite values spans by their own range; None where there are none."""
    if not values:
        return None
    least, most = min(values), max(values)
    if not better and least < 0 < most:
        return Domain(least, most, diverging=True)
    if better == "higher" or most <= 0 or least < 0:
        return Domain(least, most)
    smallest = min(value for value in values if value > 0)
    return Domain(smallest, most, log=True) if most / smallest > _LOG_RATIO else Domain(least, most)


def badness(value: float, domain: Domain, better: str | None) -> float:
    """Returns where a number stands on a scale, from 0 to 1: 1 is worst, or highest."""
    part = _position(value, domain)
    return 1 - part if better == "higher" else part


def is_perfect(value: float, scale: Mapping[str, Any] | None) -> bool:
    """Tells whether no number of the metric is better, as +inf dB is for equal tensors."""
    return scale is not None and "perfect" in scale and value == float(scale["perfect"])


def standing(values: Mapping[int, float], measure: Measure, differ: Set[int] | None = None) -> list[tuple[str, int]]:
    """Returns in words how many values are perfect or nearly so: identical, equal up to rounding.

    Args:
        values: nid to number.
        differ: nids whose tensors are known to differ although the metric is perfect; None: nothing is known.
    """
    scale = scale_of(measure)
    if scale is None:
        return []
    perfect = [nid for nid, value in values.items() if is_perfect(value, scale)]
    close = 0
    if "rounding" in scale:
        sign = 1 if scale["better"] == "higher" else -1
        near = [value for value in values.values() if math.isfinite(value) and not is_perfect(value, scale)]
        close = sum(sign * value >= sign * scale["rounding"] for value in near)
    certain = bool(scale.get("exact")) or differ is not None
    apart = sum(nid in differ for nid in perfect) if differ else 0
    alone = f"{measure.metric} {_number(float(scale.get('perfect', 0)))}"
    told = scale.get("word") or (_IDENTICAL if certain else alone)
    found = [(told, len(perfect) - apart), (f"{alone}, not identical", apart), (_ROUNDING, close)]
    return [(text, count) for text, count in found if count]


def _position(value: float, domain: Domain) -> float:
    part = _plain_position(value, domain)
    if domain.middle is None:
        return part
    at = _plain_position(domain.middle, domain)
    return part / at / 2 if part <= at else 0.5 + (part - at) / (1 - at) / 2


def _plain_position(value: float, domain: Domain) -> float:
    least, most = domain.least, domain.most
    if most <= least:
        return 0.5
    if math.isinf(value):
        return 1.0 if value > 0 else 0.0
    if domain.reach is not None:
        low, high = math.log(domain.reach - most), math.log(domain.reach - least)
        at = math.log(max(domain.reach - value, domain.reach - most))
        return 1 - min(1.0, (at - low) / (high - low))
    if domain.diverging:
        return max(0.0, 0.5 - value / least / 2) if value < 0 else min(1.0, 0.5 + value / most / 2)
    if domain.log:
        return min(1.0, (math.log(max(value, least)) - math.log(least)) / (math.log(most) - math.log(least)))
    half = 1.0 if math.isfinite(most - least) else 0.5  # of each end: a span may be larger than any number
    return min(1.0, max(0.0, (value * half - least * half) / (most * half - least * half)))


def _value_at(part: float, domain: Domain) -> float:
    least, most = domain.least, domain.most
    if domain.diverging:
        return least * (1 - 2 * part) if part < 0.5 else most * (2 * part - 1)
    if domain.log:
        return math.exp(math.log(least) * (1 - part) + math.log(most) * part)
    return least * (1 - part) + most * part


def ends(domain: Domain, measure: Measure) -> tuple[str, str]:
    """Returns what is left and right of a scale: good and bad only where the metric says what is good."""
    if not measure.better and not domain.anchored:
        return "low", "high"
    scale = scale_of(measure)
    first, last = scale.get("ends", ("good", "bad")) if scale and domain.anchored else ("best", "worst")
    return first, last


def ticks(domain: Domain, measure: Measure) -> tuple[list[tuple[float, str]], str]:
    """Returns where on a scale which numbers stand, from left to right, and what is to be said of it."""
    scale = scale_of(measure)
    if scale is not None and domain.anchored:
        whole = measure.whole or 1.0
        found = [(badness(value * whole, domain, measure.better), text) for value, text in scale["ticks"]]
        note = scale["note"]
        if measure.whole:
            note = f"of {with_unit(float(f'{whole:.3g}'), measure.unit)}, {note}"
        if domain.middle is None:
            return found, note
        gate = f"gate {_number(domain.middle)}"
        return sorted([(0.5, gate), *((at, text) for at, text in found if abs(at - 0.5) > _APART)]), note
    parts = (1.0, 0.5, 0.0) if measure.better == "higher" else (0.0, 0.5, 1.0)
    values = [_value_at(part, domain) for part in parts]
    timed = measure.unit in _SECONDS
    said = [] if timed or not measure.unit or measure.unit in _UNSAID else [measure.unit]
    for digits in range(3, 16):
        texts = [with_unit(float(f"{value:.{digits}g}"), measure.unit if timed else None) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    if domain.least == domain.most:
        return [(0.5, f"all {texts[0]}")], ", ".join(said)
    said += ["log"] if domain.log else []
    said += ["range of these values"] if measure.better else []
    return list(zip((0.0, 0.5, 1.0), texts, strict=True)), ", ".join(said)


def with_unit(value: float, unit: str | None) -> str:
    """Returns a number as people read it; a time in the unit that they would use."""
    length = _SECONDS.get(unit or "")
    if not length or not math.isfinite(value):
        return _number(value) if not unit or unit in _UNSAID or length else f"{_number(value)} {unit}"
    size = abs(value * length) * (1 + 1e-9)
    name = next((name for name in _SHOWN if size >= _SECONDS[name]), unit or "")
    return f"{_number(float(f'{value * length / _SECONDS[name]:.12g}'))} {name}"


def _number(value: float) -> str:
    """Returns a number with at most five significant digits, and those that tell 0.99998 from 1."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    size = abs(value)
    if float(value).is_integer() and size < 1e15:
        return str(int(value)).replace("-", _MINUS)
    sign = _MINUS if value < 0 else ""
    if size >= 1e6 or size < 1e-3:
        return sign + f"{size:.3e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    distance = abs(1 - size)
    digits = max(5, min(12, 2 - math.floor(math.log10(distance)))) if 0 < distance < 1e-3 else 5
    return sign + f"{size:.{digits}g}"
