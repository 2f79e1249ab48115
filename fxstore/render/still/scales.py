"""Where a number stands on a scale, and what the scale's ends are called; as the page has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LOG_RATIO: Final = 100
_SECONDS: Final = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SHOWN: Final = ("s", "ms", "µs", "ns")
_MINUS: Final = "\u2212"
_UNSAID: Final = frozenset({"1", "value"})


@dataclass(frozen=True)
class Domain:
    """What a scale spans.

    Attributes:
        log: Whether its steps are ratios.
        diverging: Whether zero is in its middle.
    """

    least: float
    most: float
    log: bool = False
    diverging: bool = False


def domain_of(values: Sequence[float], better: str | None) -> Domain | None:
    """Returns what a scale of some finite values spans; None where there are none."""
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
    """Returns where a finite value stands on a scale, from 0 to 1: 1 is worst, or highest."""
    part = _position(value, domain)
    return 1 - part if better == "higher" else part


def _position(value: float, domain: Domain) -> float:
    least, most = domain.least, domain.most
    if most <= least:
        return 0.0
    if domain.diverging:
        return max(0.0, 0.5 - value / least / 2) if value < 0 else min(1.0, 0.5 + value / most / 2)
    if domain.log:
        return min(1.0, (math.log(max(value, least)) - math.log(least)) / (math.log(most) - math.log(least)))
    part = 1.0 if math.isfinite(most - least) else 0.5  # of each end: a span may be larger than any number
    return (value * part - least * part) / (most * part - least * part)


def _value_at(part: float, domain: Domain) -> float:
    least, most = domain.least, domain.most
    if domain.diverging:
        return least * (1 - 2 * part) if part < 0.5 else most * (2 * part - 1)
    if domain.log:
        return math.exp(math.log(least) * (1 - part) + math.log(most) * part)
    return least * (1 - part) + most * part


def ticks(domain: Domain, better: str | None, unit: str | None) -> tuple[list[str], str]:
    """Returns the numbers at the left end, the middle and the right end of a scale, and what is to be said of it."""
    parts = (1.0, 0.5, 0.0) if better == "higher" else (0.0, 0.5, 1.0)
    values = [_value_at(part, domain) for part in parts]
    timed = unit in _SECONDS
    said = [] if timed or not unit or unit in _UNSAID else [unit]
    for digits in range(3, 16):
        texts = [with_unit(float(f"{value:.{digits}g}"), unit if timed else None) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts, ", ".join([*said, *(["log"] if domain.log else [])])


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
