"""The sums that all metrics are made of, in float64, in two passes over bounded chunks.

Each sum is kept as a fraction and a power of two, so that squares of very large or very small values neither
overflow nor vanish before the metric itself is formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fxstore.metrics.operands import Array

_CHUNK = 1 << 18
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Extent:
    """The first pass: what there is, and how large.

    Attributes:
        size: Compared elements; equal infinities are left out.
        equal_infinities: Elements left out because both operands hold the same infinity.
        nan: Elements where an operand is NaN.
        broken_reference: Elements of the reference that are not finite, equal infinities aside.
        broken_value: The same of the value.
        peak_reference: Largest magnitude in the reference; as the other peaks only defined without broken elements.
        identical: Whether all elements are equal and none is NaN.
    """

    size: int
    equal_infinities: int
    nan: int
    broken_reference: int
    broken_value: int
    peak_reference: float
    peak_value: float
    peak_difference: float
    identical: bool

    @property
    def is_finite(self) -> bool:
        """Whether no operand holds NaN or an infinity of its own."""
        return not (self.broken_reference or self.broken_value)


@dataclass(frozen=True)
class Moments:
    """The second pass: sums over ``reference * 2**-er``, ``value * 2**-ev`` and ``difference * 2**-ed``."""

    extent: Extent
    er: int
    ev: int
    ed: int
    rr: float
    vv: float
    rv: float
    dd: float
    d1: float
    max_relative: float
    zero_references: int


def _chunks(reference: Array, value: Array) -> Iterator[tuple[_Floats, _Floats, _Floats]]:
    """Yields (reference, value, difference); of two integers, the difference is exact and has no sign."""
    left, right = reference.reshape(-1), value.reshape(-1)
    integers = np.result_type(left, right).kind in "iub"
    for start in range(0, left.size, _CHUNK):
        r, v = left[start : start + _CHUNK], right[start : start + _CHUNK]
        rf, vf = r.astype(np.float64), v.astype(np.float64)
        yield rf, vf, _distance(r, v) if integers else vf - rf


def _distance(r: Array, v: Array) -> _Floats:
    """|v - r| of integers: their two's complements wrap around to the exact distance."""
    up = v.astype(np.uint64) - r.astype(np.uint64)
    return np.where(v > r, up, np.uint64(0) - up).astype(np.float64)


def _without_equal_infinities(
    chunk: tuple[_Floats, _Floats, _Floats],
) -> tuple[tuple[_Floats, _Floats, _Floats], int]:
    r, v, d = chunk
    same = np.isinf(r) & (r == v)
    if not same.any():
        return chunk, 0
    return (r[~same], v[~same], d[~same]), int(same.sum())


def extent(reference: Array, value: Array) -> Extent:
    """Returns the first pass over two arrays of one shape."""
    size = infinities = nan = broken_r = broken_v = 0
    peaks = [0.0, 0.0, 0.0]
    with np.errstate(all="ignore"):
        for chunk in _chunks(reference, value):
            kept, left_out = _without_equal_infinities(chunk)
            r, v, _ = kept
            size, infinities = size + r.size, infinities + left_out
            nan += int((np.isnan(r) | np.isnan(v)).sum())
            broken_r += int(r.size - np.isfinite(r).sum())
            broken_v += int(v.size - np.isfinite(v).sum())
            peaks = [max(p, float(np.abs(x).max(initial=0.0))) for p, x in zip(peaks, kept, strict=True)]
    identical = not (nan or broken_r or broken_v) and peaks[2] == 0.0
    return Extent(size, infinities, nan, broken_r, broken_v, peaks[0], peaks[1], peaks[2], identical)


def moments(reference: Array, value: Array, first: Extent) -> Moments:
    """Returns the second pass; only defined where ``first.is_finite``."""
    peaks = (first.peak_reference, first.peak_value, first.peak_difference)
    er, ev, ed = (math.frexp(p)[1] if math.isfinite(p) else 0 for p in peaks)
    rr = vv = rv = dd = d1 = relative = 0.0
    zeros = 0
    with np.errstate(all="ignore"):
        for chunk in _chunks(reference, value):
            (r, v, d), _ = _without_equal_infinities(chunk)
            known = r != 0.0
            zeros += int(r.size - known.sum())
            relative = max(relative, float((np.abs(d[known]) / np.abs(r[known])).max(initial=0.0)))
            r, v, d = np.ldexp(r, -er), np.ldexp(v, -ev), np.ldexp(d, -ed)
            rr, vv, rv = rr + float(r @ r), vv + float(v @ v), rv + float(r @ v)
            dd, d1 = dd + float(d @ d), d1 + float(np.abs(d).sum())
    return Moments(first, er, ev, ed, rr, vv, rv, dd, d1, relative, zeros)


def mismatches(reference: Array, value: Array, atol: float, rtol: float) -> int:
    """Returns the number of elements with ``|v - r| > atol + rtol |r|``, as ``numpy.isclose`` counts them."""
    count = 0
    with np.errstate(all="ignore"):
        for chunk in _chunks(reference, value):
            (r, _, d), _ = _without_equal_infinities(chunk)
            count += int((np.abs(d) > atol + rtol * np.abs(r)).sum())
    return count
