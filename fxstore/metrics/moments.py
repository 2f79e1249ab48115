"""The sums that all metrics are made of, in float64, over bounded chunks.

One pass is enough for almost all tensors. Where something is not finite, or a square would overflow or vanish, there
are two: the first counts and finds the magnitudes, the second keeps each sum as a fraction and a power of two. A
complex number is one element: its square is that of its magnitude, and of a product the real part counts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fxstore.metrics.operands import Array

# Passes over an array in float64: in blocks that stay in a core's cache, and without BLAS's threads.


BLOCK = 1 << 15
# A dot product of more than 10,000 elements wakes BLAS's threads, which burn CPU while they wait for each other.
_ROW = 1 << 13

Floats = npt.NDArray[np.float64]


class _Kept(threading.local):
    """Memory of this thread: to get it anew from the system for each array takes as long as a pass over it."""

    numbers: Floats | None = None


_kept = _Kept()


def blocks(*arrays: Array) -> Iterator[tuple[Floats, ...]]:
    """Yields the blocks of flat arrays of one size in float64, and room for one more; the next ones overwrite them."""
    size, rows = arrays[0].size, len(arrays) + 1
    columns = min(BLOCK, size)
    numbers, _kept.numbers = _kept.numbers, None  # whoever asks meanwhile gets other memory
    if numbers is None or numbers.size < rows * columns:
        numbers = np.empty(rows * columns)
    room = numbers[: rows * columns].reshape(rows, columns)
    try:
        for start in range(0, size, BLOCK):
            block = tuple(room[:, : size - start])
            for into, array in zip(block, arrays, strict=False):
                into[:] = array[start : start + BLOCK]
            yield block
    finally:
        _kept.numbers = numbers


def dot(left: Floats, right: Floats) -> float:
    """Returns the sum of products."""
    if left.size <= _ROW:
        return float(left @ right)
    whole = left.size - left.size % _ROW
    rows = np.vecdot(left[:whole].reshape(-1, _ROW), right[:whole].reshape(-1, _ROW))
    return float(rows.sum()) + float(left[whole:] @ right[whole:])


def peak_of(array: Array) -> float:
    """Returns the largest magnitude in an array; NaN where it holds one."""
    flat = array.reshape(-1)
    return max(-float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))) if flat.size else 0.0


# Of what takes several passes over temporary arrays.
_CHUNK = 1 << 13
# Sums of squares between these have lost nothing to the range of float64.
_LEAST, _MOST = 1e-200, 1e200
_Floats = npt.NDArray[np.float64] | npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Extent:
    """What there is, and how large.

    Attributes:
        size: Compared elements; equal infinities are left out.
        equal_infinities: Elements left out because both operands hold the same infinity.
        nan: Elements where an operand is NaN.
        broken_reference: Elements of the reference that are not finite, equal infinities aside.
        broken_value: The same of the value.
        peak_reference: Largest magnitude in the reference; as the other peaks only defined without broken elements.
            NaN where one pass was enough, since few need it then.
        peak_value: The same of the value.
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
class Masks:
    """Elements of two arrays where both hold their mask constant.

    Attributes:
        kept: Flags of the flat arrays' other elements.
        count: How many there are.
        constants: That of the reference, and that of the value.
    """

    kept: npt.NDArray[np.bool_]
    count: int
    constants: tuple[float, float]

    def __str__(self) -> str:
        said = " and ".join(dict.fromkeys(f"{one:.4g}" for one in self.constants))
        return f"{100 * self.count / self.kept.size:.3g}% left out: both hold the mask constant {said}"


@dataclass(frozen=True)
class Moments:
    """Sums over ``reference * 2**-er``, ``value * 2**-ev`` and ``difference * 2**-ed`` of two arrays."""

    reference: Array
    value: Array
    extent: Extent
    er: int
    ev: int
    ed: int
    rr: float
    vv: float
    rv: float
    dd: float

    @cached_property
    def d1(self) -> float:
        """The sum of the magnitudes of the difference, scaled as ``dd`` is."""
        total = 0.0
        with np.errstate(all="ignore"):
            for chunk in _chunks(self.reference, self.value):
                (_, _, d), _ = _without_equal_infinities(chunk)
                total += float(np.abs(_shifted(d, -self.ed)).sum())
        return total

    @cached_property
    def peak_reference(self) -> float:
        """The largest magnitude in the reference, scaled as ``rr`` is."""
        found = self.extent.peak_reference
        return math.ldexp(peak_of(self.reference) if math.isnan(found) else found, -self.er)

    @cached_property
    def relative(self) -> tuple[float, int]:
        """The largest ``|difference / reference|`` where the reference is not 0, and how often it is 0."""
        largest, zeros = 0.0, 0
        with np.errstate(all="ignore"):
            for chunk in _chunks(self.reference, self.value):
                (r, _, d), _ = _without_equal_infinities(chunk)
                known = r != 0.0
                zeros += int(r.size - known.sum())
                largest = max(largest, float((np.abs(d[known]) / np.abs(r[known])).max(initial=0.0)))
        return largest, zeros


def sums(reference: Array, value: Array) -> tuple[Extent, Moments | None]:
    """Returns extent and sums of two arrays of one shape; no sums where they are identical or not finite."""
    found = _in_one_pass(reference, value)
    if found is not None:
        return found
    first = extent(reference, value)
    return first, moments(reference, value, first) if first.is_finite and not first.identical else None


# Masks are written as -1e4, -1e9 or the least number of a dtype; what they hide is smaller by at least so much.
_MASK, _APART = -1e4, 2.0**10
# In float32, what is added to a mask of -1e9 is lost but for so much.
_ROUNDING = 2.0**-22
# A dtype of 8 bits holds a constant of another within so much; the least numbers of dtypes stand for each other.
_CLOSE = 2.0**-7
_LEAST_OF_DTYPES = (-65504.0, -3.3895313892515355e38, -3.4028234663852886e38, -1.7976931348623157e308)


def masks(reference: Array, value: Array, second: Moments) -> Masks | None:
    """Returns where both arrays hold a mask constant, or None: as ``definitions`` describes it.

    Args:
        second: Their sums, which tell of almost all arrays that there is none.
    """
    sums_of_squares = ((second.rr, second.er), (second.vv, second.ev))
    if any(e < 0 or square < math.ldexp(_MASK * _MASK, -2 * e) for square, e in sums_of_squares):
        return None
    left, right = reference.reshape(-1), value.reshape(-1)
    if left.dtype.kind != "f" or right.dtype.kind != "f":
        return None
    if (ours := _constant(left)) is None or (theirs := _constant(right)) is None:
        return None
    both = ours[1] & theirs[1]
    count = int(both.sum())
    is_mask = count > 1 and _is_one_constant(ours[0], theirs[0])
    return Masks(~both, count, (ours[0], theirs[0])) if is_mask else None


def _constant(flat: Array) -> tuple[float, npt.NDArray[np.bool_]] | None:
    """Returns the constant that masks elements of an array, and where it stands; None where none does."""
    least = float(np.minimum.reduce(flat))
    if least > _MASK:
        return None
    held: npt.NDArray[np.bool_] = flat <= least * (1.0 - _ROUNDING)
    rest = flat[~held]
    return (least, held) if rest.size and peak_of(rest) * _APART <= -least else None


def _is_one_constant(left: float, right: float) -> bool:
    return abs(left - right) <= _CLOSE * min(-left, -right) or {left, right} <= set(_LEAST_OF_DTYPES)


def _in_one_pass(reference: Array, value: Array) -> tuple[Extent, Moments | None] | None:
    """Returns the same, or None where that takes more than one look at each element."""
    left, right = reference.reshape(-1), value.reshape(-1)
    if np.result_type(left, right).kind != "f" or not left.size:
        return None
    if _are_equal(left, right) and np.isfinite(peak_of(left)):
        return Extent(left.size, 0, 0, 0, 0, 0.0, 0.0, 0.0, True), None
    rr = vv = rv = dd = peak = 0.0
    with np.errstate(all="ignore"):
        for r, v, d in blocks(left, right):
            np.subtract(v, r, out=d)
            rr, vv = rr + dot(r, r), vv + dot(v, v)
            rv, dd = rv + dot(r, v), dd + dot(d, d)
            peak = max(peak, float(np.maximum.reduce(np.abs(d, out=d))))
    # Whatever is not finite, overflows or vanishes makes one of the squares so.
    if not all(_LEAST < square < _MOST for square in (rr, vv)) or not (_LEAST < dd < _MOST or dd == peak == 0.0):
        return None
    first = Extent(left.size, 0, 0, 0, 0, math.nan, math.nan, peak, peak == 0.0)
    return first, Moments(reference, value, first, 0, 0, 0, rr, vv, rv, dd)


def _are_equal(left: Array, right: Array) -> bool:
    """Tells whether two arrays have the same elements; of those that differ the first ones mostly tell."""
    if left.dtype != right.dtype or not np.array_equal(left[:_CHUNK], right[:_CHUNK]):
        return False
    return left.size <= _CHUNK or np.array_equal(left, right)


def _chunks(reference: Array, value: Array) -> Iterator[tuple[_Floats, _Floats, _Floats]]:
    """Yields (reference, value, difference); of two integers, the difference is exact and has no sign."""
    left, right = reference.reshape(-1), value.reshape(-1)
    kind = np.result_type(left, right).kind
    integers = kind in "iub"
    wide: Any = np.complex128 if kind == "c" else np.float64
    for start in range(0, left.size, _CHUNK):
        r, v = left[start : start + _CHUNK], right[start : start + _CHUNK]
        rf, vf = r.astype(wide), v.astype(wide)
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
    """Returns what two arrays of one shape hold."""
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
    """Returns their sums; only defined where ``first.is_finite``."""
    peaks = (first.peak_reference, first.peak_value, first.peak_difference)
    er, ev, ed = (math.frexp(p)[1] if math.isfinite(p) else 0 for p in peaks)
    rr = vv = rv = dd = 0.0
    with np.errstate(all="ignore"):
        for chunk in _chunks(reference, value):
            (r, v, d), _ = _without_equal_infinities(chunk)
            r, v, d = _shifted(r, -er), _shifted(v, -ev), _shifted(d, -ed)
            rr, vv, rv, dd = rr + _dot(r, r), vv + _dot(v, v), rv + _dot(r, v), dd + _dot(d, d)
    return Moments(reference, value, first, er, ev, ed, rr, vv, rv, dd)


def _shifted(array: _Floats, exponent: int) -> _Floats:
    """Returns ``array * 2**exponent``."""
    if array.dtype.kind != "c":
        return np.ldexp(array, exponent)
    return np.ldexp(np.ascontiguousarray(array).view(np.float64), exponent).view(np.complex128)


def _dot(left: _Floats, right: _Floats) -> float:
    return float(np.vdot(left, right).real)


def mismatches(reference: Array, value: Array, atol: float, rtol: float) -> int:
    """Returns the number of elements with ``|v - r| > atol + rtol |r|``, as ``numpy.isclose`` counts them."""
    count = 0
    with np.errstate(all="ignore"):
        for chunk in _chunks(reference, value):
            (r, _, d), _ = _without_equal_infinities(chunk)
            count += int((np.abs(d) > atol + rtol * np.abs(r)).sum())
    return count
