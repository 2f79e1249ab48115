"""The metrics: formula, unit, direction and edge values.

With r the reference, v the value, d = v - r, over n elements. All are computed in float64 and never rounded.

===========  =======================================  ======  =======  ===========  ==============  =============
metric       formula                                  unit    better   r = v        r = 0, v != 0   v = 0, r != 0
===========  =======================================  ======  =======  ===========  ==============  =============
cosine       sum(r v) / sqrt(sum(r^2) sum(v^2))       1       higher   1            0               0
mse          sum(d^2) / n                             value²  lower    0            as computed     as computed
mae          sum(|d|) / n                             value   lower    0            as computed     as computed
max_abs      max(|d|)                                 value   lower    0            as computed     as computed
max_rel      max(|d| / |r|) over r != 0               1       lower    0            +inf            1
l1           sum(|d|)                                 value   lower    0            as computed     as computed
l2           sqrt(sum(d^2))                           value   lower    0            as computed     as computed
sqnr, snr    10 log10(sum(r^2) / sum(d^2))            dB      higher   +inf         -inf            0
psnr         10 log10(max(|r|)^2 / mse)               dB      higher   +inf         -inf            as computed
nonfinite    elements of v that are NaN or infinite   count   lower    0            0               0
mismatch     share of |d| > atol + rtol |r|           1       lower    0            as computed     as computed
bitwise      elements whose bits differ               count   lower    0            as computed     as computed
===========  =======================================  ======  =======  ===========  ==============  =============

``r = v`` includes two tensors of zeros. Sources: sqnr as ``torch.ao.ns.fx.utils.compute_sqnr``; snr, mse and l1 as
ExecuTorch's ``SNRComparator``, ``MSEComparator`` and ``L1Comparator``, but without their NaN → 0 and without rounding;
max_rel as NumPy's ``assert_allclose`` reports it; mismatch as ``numpy.isclose``, with atol 1e-8 and rtol 1e-5 unless
they are given: ``mismatch(1e-3,1e-2)``. ``bitwise`` tells -0.0 from 0.0 and one NaN from another; its reason has the
first differing index and the largest distance in steps between neighbouring numbers (ULPs) of the compared dtype; no
mask is left out. Two dtypes have no bits in common: then there is no number. Where an operand holds NaN, every other
metric but ``nonfinite`` is NaN; where it holds an infinity that the other does not, distances are +inf and ratios NaN.
Elements where both hold the same
infinity, as attention masks do, are left out and counted in the reason.

So are mask constants that are finite, such as -1e9 or ``torch.finfo(dtype).min``. A mask is written, not computed, and
in sums of squares it outweighs the rest: the cosine is 1 and the sqnr high, whatever the rest holds. An element is left
out where reference and value both hold the least number of their tensor, and that is

- at most -1e4, and at least 2**10 times as large as every element that does not hold it: each has 60 dB more energy;
- held by two elements or more, in both at the same places, up to the 2**-22 that are lost of what is added to it;
- in both the same up to 2**-7, as dtypes of 8 bits keep it, or in both the least number of a dtype.

The reason says which share was left out, and the constant. Where only one of the two holds it, that is an error as any
other. Leaving out what agrees never makes a number look better. A function of the user's gets all elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fxstore.metrics.moments import Moments

_DB_PER_BIT = 20.0 * math.log10(2.0)


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        formula: The number, from the sums of two finite tensors that are not identical.
        unit: ``1`` for a ratio, ``value`` for the tensor's own unit.
        better: ``higher`` or ``lower``.
        identical: The number of two equal tensors.
        at_infinity: The number where one operand alone holds an infinity, and none NaN.
    """

    formula: Callable[[Moments], float]
    unit: str
    better: str
    identical: float = 0.0
    at_infinity: float = math.inf


def _cosine(m: Moments) -> float:
    if m.rr == 0.0 or m.vv == 0.0:
        return 0.0
    return max(-1.0, min(1.0, m.rv / (math.sqrt(m.rr) * math.sqrt(m.vv))))


def _mse(m: Moments) -> float:
    return _scaled(m.dd / m.extent.size, 2 * m.ed)


def _max_rel(m: Moments) -> float:
    largest, zeros = m.relative
    return math.inf if zeros == m.extent.size else largest


def _sqnr(m: Moments) -> float:
    if m.rr == 0.0:
        return -math.inf
    return _decibels(m.rr / m.dd) + _DB_PER_BIT * (m.er - m.ed)


def _psnr(m: Moments) -> float:
    if m.rr == 0.0:
        return -math.inf
    return _decibels(m.peak_reference * m.peak_reference * m.extent.size / m.dd) + _DB_PER_BIT * (m.er - m.ed)


def _decibels(power_ratio: float) -> float:
    return 10.0 * math.log10(power_ratio) if power_ratio > 0.0 else -math.inf


def _scaled(fraction: float, exponent: int) -> float:
    try:
        return math.ldexp(fraction, exponent)
    except OverflowError:
        return math.inf


def _ratio_in_db(formula: Callable[[Moments], float]) -> Metric:
    return Metric(formula, "dB", "higher", identical=math.inf, at_infinity=math.nan)


METRICS: Final = MappingProxyType(
    {
        "cosine": Metric(_cosine, "1", "higher", identical=1.0, at_infinity=math.nan),
        "mse": Metric(_mse, "value²", "lower"),
        "mae": Metric(lambda m: _scaled(m.d1 / m.extent.size, m.ed), "value", "lower"),
        "max_abs": Metric(lambda m: m.extent.peak_difference, "value", "lower"),
        "max_rel": Metric(_max_rel, "1", "lower"),
        "l1": Metric(lambda m: _scaled(m.d1, m.ed), "value", "lower"),
        "l2": Metric(lambda m: _scaled(math.sqrt(m.dd), m.ed), "value", "lower"),
        "sqnr": _ratio_in_db(_sqnr),
        "snr": _ratio_in_db(_sqnr),
        "psnr": _ratio_in_db(_psnr),
        "nonfinite": Metric(lambda m: 0.0, "count", "lower"),
    }
)
BITWISE: Final = "bitwise"
DEFAULT: Final = ("cosine", "mse", "max_abs", "sqnr")
BETTER: Final = MappingProxyType({name: metric.better for name, metric in METRICS.items()})
_ALSO_CALLED: Final = {
    "cosine_similarity": "cosine", "cosine_sim": "cosine", "cos_similarity": "cosine", "cos_sim": "cosine",
    "snr_db": "snr", "sqnr_db": "sqnr", "psnr_db": "psnr",
    "snrcomparator": "snr", "msecomparator": "mse", "l1comparator": "l1",
}  # fmt: skip
UNIT: Final = MappingProxyType({name: metric.unit for name, metric in METRICS.items()})
DIRECTIONS: Final = ("higher", "lower")
UNDECLARED: Final = (
    "declare it: better='higher' or 'lower', as an attribute of the function or comparator, or as an argument of"
    " fxstore.metrics.register, rec.overlay and ingest (-O better=higher)"
)


def known_better(name: str) -> str | None:
    """Returns the direction of a metric whose whole name is known, as ``SNR`` and ``cosine_similarity`` are, or None.

    A part of a name tells nothing: of ``cosine_distance`` less is better.
    """
    key = name.lower()
    return BETTER.get(_ALSO_CALLED.get(key, key))
