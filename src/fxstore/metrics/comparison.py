"""``compare``: every asked metric of two tensors, each a number or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fxstore.errors import UsageError, nearest
from fxstore.metrics.definitions import DEFAULT, METRICS
from fxstore.metrics.moments import Extent, Moments, extent, moments
from fxstore.metrics.operands import Array, NoNumberError, QParams, aligned, layout_hint

_LAYOUT_SUSPECT = 0.99


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
    """

    value: float | None
    status: str
    reason: str | None = None
    number: float | None = None


def not_measured(reason: str) -> Measured:
    """Returns the absence of a number."""
    return Measured(None, "not_measured", reason)


def compare(
    reference: object,
    value: object,
    metrics: Sequence[str] = DEFAULT,
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
        metrics: Names from :data:`fxstore.metrics.METRICS`.
        qparams: Quantisation parameters of ``value``; used where it holds integer codes.
        reference_qparams: The same for ``reference``.
        permutation: Axes of ``value`` in the reference's order, as for ``numpy.transpose``: ``(0, 3, 1, 2)`` for a
            value in NHWC against a reference in NCHW.

    Returns:
        One entry per asked metric, in that order.

    Raises:
        UsageError: If a metric is unknown. Nothing else is raised for any operands.
    """
    check_names(metrics)
    try:
        left, right = aligned(reference, value, reference_qparams, qparams, permutation)
    except NoNumberError as error:
        return dict.fromkeys(metrics, not_measured(str(error)))
    first = extent(left, right)
    if not first.is_finite:
        return {name: _broken(name, first) for name in metrics}
    if first.identical:
        note = _join("identical", _left_out(first))
        return {name: _exact(METRICS[name].identical, note) for name in metrics}
    second = moments(left, right, first)
    note = _join(_note(second), _left_out(first), _layout_note(second, left, right))
    return {name: _finished(METRICS[name].formula(second), note) for name in metrics}


def check_names(metrics: Sequence[str]) -> None:
    """Raises a UsageError for the first name that is no metric."""
    for name in metrics:
        if name not in METRICS:
            raise UsageError(f"no metric {name!r}", hint=nearest(name, METRICS) or f"one of {', '.join(METRICS)}")


def _exact(number: float, note: str | None) -> Measured:
    return Measured(number, "ok", note, number)


def _finished(number: float, note: str | None) -> Measured:
    if math.isfinite(number) or (note or "").startswith("zero reference"):
        return _exact(number, note)
    return Measured(None, "non_finite", _join("overflow", note), number)


def _broken(name: str, first: Extent) -> Measured:
    total = first.size + first.equal_infinities
    counts = ((first.broken_value, "values"), (first.broken_reference, "reference values"))
    reason = _join(*(f"{count} of {total} {what} not finite" for count, what in counts if count))
    if name == "nonfinite":
        return _exact(float(first.broken_value), reason)
    return Measured(None, "non_finite", reason, math.nan if first.nan else METRICS[name].at_infinity)


def _note(second: Moments) -> str | None:
    if second.rr == 0.0:
        return "zero reference"
    return "zero value" if second.vv == 0.0 else None


def _left_out(first: Extent) -> str | None:
    return f"{first.equal_infinities} equal infinities left out" if first.equal_infinities else None


def _layout_note(second: Moments, left: Array, right: Array) -> str | None:
    if METRICS["cosine"].formula(second) >= _LAYOUT_SUSPECT:
        return None
    return layout_hint(left, right)


def _join(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
