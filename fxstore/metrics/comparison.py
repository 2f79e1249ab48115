"""``compare``: every asked metric of two tensors, each a number or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fxstore.metrics.definitions import BITWISE, DEFAULT, METRICS
from fxstore.metrics.moments import Extent, Moments, masks, mismatches, sums
from fxstore.metrics.operands import Array, NoNumberError, QParams, aligned, layout_hint
from fxstore.metrics.resolve import Asked, resolve

_LAYOUT_SUSPECT = 0.99
_MESSAGE_LENGTH = 160


@dataclass(frozen=True)
class Measured:
    """One metric of two tensors.

    Attributes:
        value: The number; None where ``status`` is not ``ok``. It is infinite where that is the exact answer: the sqnr
            of identical tensors is +inf, that of a zero reference -inf.
        status: ``ok``; ``non_finite`` where an operand holds NaN or an infinity, or the number overflows;
            ``not_measured`` where there is no comparison.
        reason: Why there is no number, or a note on the one there is (``identical``, ``zero reference``); or None.
        number: What a store keeps in ``metrics.value``: as ``value``, but NaN or an infinity where ``status`` is
            ``non_finite``. None only where there is no number.
        verdict: ``pass`` or ``fail`` by the threshold, or by a comparator's ``is_valid_score``; what is ``non_finite``
            fails. None without either, or without a number.
    """

    value: float | None
    status: str
    reason: str | None = None
    number: float | None = None
    verdict: str | None = None


def not_measured(reason: str) -> Measured:
    """Returns the absence of a number."""
    return Measured(None, "not_measured", reason)


def compare(
    reference: object,
    value: object,
    metrics: object = DEFAULT,
    *,
    qparams: QParams | None = None,
    reference_qparams: QParams | None = None,
    permutation: Sequence[int] | None = None,
) -> dict[str, Measured]:
    """Returns the metrics of a value against its reference.

    Shapes are never broadcast, NaN is never replaced, integer codes are never compared with real numbers. Two
    integer or bool tensors are compared as the integers they are. Definitions and edge values are in
    :mod:`fxstore.metrics.definitions`.

    Args:
        reference: An array, a torch tensor, a list or a number of any shape.
        value: The same, of the reference's shape.
        metrics: As :func:`fxstore.metrics.resolve` takes them: names, limits, functions, comparators.
        qparams: Quantisation parameters of ``value``; used where it holds integer codes.
        reference_qparams: The same for ``reference``.
        permutation: Axes of ``value`` in the reference's order, as for ``numpy.transpose``: ``(0, 3, 1, 2)`` for a
            value in NHWC against a reference in NCHW.

    Returns:
        One entry per asked metric, in that order; of a function that returns a dict, one per key.

    Raises:
        UsageError: If a metric is unknown. Nothing else is raised for any operands.
    """
    return measure(reference, value, resolve(metrics), qparams, reference_qparams, permutation).measured


@dataclass(frozen=True)
class Found:
    """What one comparison has told.

    Attributes:
        measured: One entry per asked metric, in that order; of a function that returns a dict, one per key.
        same: Whether both are arrays that hold the same, down to the sign of a zero.
    """

    measured: dict[str, Measured]
    same: bool = False


def measure(
    reference: object,
    value: object,
    asked: Sequence[Asked],
    qparams: QParams | None = None,
    reference_qparams: QParams | None = None,
    permutation: Sequence[int] | None = None,
) -> Found:
    """Compares as :func:`compare` does, and tells whether there is any difference at all."""
    try:
        left, right = aligned(reference, value, reference_qparams, qparams, permutation)
    except NoNumberError as error:
        return Found({one.name: not_measured(str(error)) for one in asked})
    pair = _Pair(left, right)
    found: dict[str, Measured] = {}
    for one in asked:
        for name, measured in pair.measure(one).items():
            found[name] = judged(measured, one)
    as_given = left is reference and right is value and left.dtype == right.dtype
    return Found(found, as_given and pair.extent.identical and _same_bits(left, right))


def judged(measured: Measured, asked: Asked) -> Measured:
    """Returns the same with a verdict, where there is a threshold or a judge, and a number."""
    if measured.number is None or (asked.threshold is None and asked.is_valid is None):
        return measured
    number, reason = measured.number, measured.reason
    good: bool | None = False
    if measured.status == "ok" and asked.is_valid is not None:
        try:
            good = bool(asked.is_valid(number))
        except Exception as error:  # a judge that fails takes neither the number nor other metrics with it
            good, reason = None, _join(reason, _failure("is_valid_score", error))
    elif measured.status == "ok" and asked.threshold is not None:
        good = number >= asked.threshold if asked.better == "higher" else number <= asked.threshold
    verdict = None if good is None else "pass" if good else "fail"
    return Measured(measured.value, measured.status, reason, number, verdict)


class _Pair:
    """Two comparable arrays of one shape; the sums that metrics share are made once."""

    def __init__(self, left: Array, right: Array) -> None:
        self.left, self.right = self._whole = left, right
        self.extent, self._moments = sums(left, right)
        self._masks = None if self._moments is None else masks(left, right, self._moments)
        if self._masks is not None:
            kept = self._masks.kept
            self.left, self.right = left.reshape(-1)[kept], right.reshape(-1)[kept]
            self.extent, self._moments = sums(self.left, self.right)
        self._note = None if self._moments is None else self._about(self._moments)

    def measure(self, asked: Asked) -> Mapping[str, Measured]:
        if asked.name == BITWISE and asked.function is None:
            return {asked.name: _bitwise(*self._whole)}
        if asked.function is not None and (self.extent.is_finite or not asked.finite_only):
            return self._called(asked)
        if not self.extent.is_finite:
            return {asked.name: _broken(asked, self.extent)}
        if self.extent.identical:
            identical = asked.metric.identical if asked.metric is not None else 0.0
            return {asked.name: _exact(identical, _join("identical", self._left_out))}
        if asked.tolerance is not None:
            share = mismatches(self.left, self.right, *asked.tolerance) / self.extent.size
            return {asked.name: _exact(share, self._left_out)}
        assert asked.metric is not None
        assert self._moments is not None
        return {asked.name: _finished(asked.metric.formula(self._moments), self._note)}

    def _about(self, moments: Moments) -> str | None:
        return _join(_note(moments), self._left_out, _layout_note(moments, *self._whole))

    @property
    def _left_out(self) -> str | None:
        """What was not compared: infinities and mask constants that both operands hold."""
        count = self.extent.equal_infinities
        said = f"{count} equal infinities left out" if count else None
        return _join(said, None if self._masks is None else str(self._masks))

    def _called(self, asked: Asked) -> Mapping[str, Measured]:
        """Asks a user's function; whatever it raises is the reason why there is no number."""
        assert asked.function is not None
        try:
            with np.errstate(all="ignore"):
                given = asked.function(*map(_real, self._whole))
            if isinstance(given, Mapping) and given:
                return {(name := f"{asked.name}.{key}"): self._given(name, one) for key, one in given.items()}
        except Exception as error:  # a metric that fails must not take the others with it
            return {asked.name: _failed(asked.name, error)}
        return {asked.name: self._given(asked.name, given)}

    def _given(self, name: str, given: object) -> Measured:
        if given is None or isinstance(given, Mapping):
            return not_measured(f"{name} gave {'nothing' if given is None else 'a dict without numbers'}")
        try:
            number = float(given)  # type: ignore[arg-type]
        except Exception as error:  # what is no number
            return _failed(name, error)
        identical = self.extent.identical and self._masks is None  # a function has seen the masks, too
        if math.isfinite(number):
            return _exact(number, "identical" if identical else None)
        if identical and math.isinf(number):
            return _exact(number, "identical")
        return Measured(None, "non_finite", _counts(self.extent) or "the function's number", number)


def _same_bits(left: Array, right: Array) -> bool:
    """Tells equal numbers from those that differ in the sign of a zero."""
    if left.dtype.kind != "f":
        return left.dtype.kind in "iub"
    bits = f"u{left.itemsize}"
    return left.itemsize <= np.dtype(np.float64).itemsize and np.array_equal(left.view(bits), right.view(bits))


def _bitwise(left: Array, right: Array) -> Measured:
    """Counts the elements whose bits differ, and says where the first is and how far apart the two get."""
    if left.dtype != right.dtype:
        return not_measured(f"{right.dtype} and {left.dtype} have no bits to compare")
    parts = [left, right]
    if left.dtype.kind == "c":
        parts = [np.stack([one.real, one.imag], axis=-1) for one in parts]
    if parts[0].itemsize > np.dtype(np.uint64).itemsize:
        return not_measured(f"{left.dtype} has bits that mean nothing")
    bits = [np.ascontiguousarray(one).view(f"u{one.itemsize}") for one in parts]
    differing = bits[0] != bits[1]
    count = int(np.count_nonzero(differing.any(axis=-1) if left.dtype.kind == "c" else differing))
    if not count:
        return _exact(0.0, "identical")
    first = np.unravel_index(int(np.argmax(differing)), differing.shape)[: left.ndim]
    where = f"first at [{', '.join(map(str, first))}]"
    return _exact(float(count), _join(f"{count} of {left.size} elements differ", where, _steps(parts, bits, differing)))


def _steps(parts: Sequence[Array], bits: Sequence[Array], differing: Array) -> str | None:
    """Says how many representable numbers lie between two values at most; NaN lies nowhere."""
    if parts[0].dtype.kind != "f":
        return None
    nan = np.isnan(parts[0]) | np.isnan(parts[1])
    sign = bits[0].dtype.type(1 << (8 * bits[0].itemsize - 1))
    # In the order of the numbers: negative ones are counted down from the sign bit, so -0.0 is beside 0.0.
    places = [np.where(one & sign, sign - (one & ~sign), sign + one)[differing & ~nan] for one in bits]
    with_nan = int(np.count_nonzero(differing & nan))
    apart = int(np.max(np.maximum(*places) - np.minimum(*places))) if places[0].size else 0
    said = f"at most {apart} ULPs of {parts[0].dtype} apart" if places[0].size else None
    return _join(said, f"{with_nan} with NaN" if with_nan else None)


def _failed(name: str, error: Exception) -> Measured:
    return not_measured(_failure(name, error))


def _failure(name: str, error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{name} failed: {type(error).__name__}: {lines[0]}"[:_MESSAGE_LENGTH]


def _real(array: Array) -> Array:
    """Returns a copy, so that a function may do with it what it likes."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _exact(number: float, note: str | None) -> Measured:
    return Measured(number, "ok", note, number)


def _finished(number: float, note: str | None) -> Measured:
    if math.isfinite(number) or (note or "").startswith("zero reference"):
        return _exact(number, note)
    return Measured(None, "non_finite", _join("overflow", note), number)


def _broken(asked: Asked, first: Extent) -> Measured:
    reason = _counts(first)
    if asked.name == "nonfinite":
        return _exact(float(first.broken_value), reason)
    at_infinity = asked.metric.at_infinity if asked.metric is not None else math.nan
    return Measured(None, "non_finite", reason, math.nan if first.nan else at_infinity)


def _counts(first: Extent) -> str | None:
    total = first.size + first.equal_infinities
    counts = ((first.broken_value, "values"), (first.broken_reference, "reference values"))
    return _join(*(f"{count} of {total} {what} not finite" for count, what in counts if count))


def _note(second: Moments) -> str | None:
    if second.rr == 0.0:
        return "zero reference"
    return "zero value" if second.vv == 0.0 else None


def _layout_note(second: Moments, left: Array, right: Array) -> str | None:
    if METRICS["cosine"].formula(second) >= _LAYOUT_SUSPECT:
        return None
    return layout_hint(left, right)


def _join(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
