"""What one tensor's values are like, so that a distribution can be looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import numpy as np

from fxstore.metrics.operands import NoNumberError, operand

BINS: Final = 64


@dataclass(frozen=True)
class Description:
    """Statistics of one tensor, in its own units; codes of a quantised one are described as codes.

    Attributes:
        numbers: ``min``, ``max``, ``mean``, ``std`` (of the population) over the finite elements, if any;
            ``zeros`` and ``nonfinite`` as counts; ``elements``.
        histogram: ``{"low", "high", "counts"}`` as JSON, 64 equal bins over the finite elements; None without any.
    """

    numbers: dict[str, float]
    histogram: str | None


def describe(value: object) -> Description | None:
    """Returns the statistics of a tensor, or None for what is none or is complex."""
    try:
        array = operand(value).array
    except NoNumberError:
        return None
    if np.iscomplexobj(array):
        return None
    flat = array.reshape(-1).astype(np.float64, copy=False)
    finite = flat if np.isfinite(flat).all() else flat[np.isfinite(flat)]
    numbers = {
        "elements": float(flat.size),
        "zeros": float(flat.size - np.count_nonzero(flat)),
        "nonfinite": float(flat.size - finite.size),
    }
    if not finite.size:
        return Description(numbers, None)
    low, high = float(finite.min()), float(finite.max())
    with np.errstate(over="ignore"):
        numbers |= {"min": low, "max": high, "mean": float(finite.mean()), "std": float(finite.std())}
    return Description(numbers, _histogram(finite, low, high))


def _histogram(finite: np.ndarray[tuple[int, ...], np.dtype[np.float64]], low: float, high: float) -> str:
    """Counts by multiplication instead of ``numpy.histogram``'s search: the same bins, four times as fast."""
    width = high / BINS - low / BINS
    if width == 0.0 or not np.isfinite(width):
        counts = [finite.size]
    else:
        bins = np.minimum((finite - low) * (1.0 / width), BINS - 1).astype(np.int64)
        counts = np.bincount(bins, minlength=BINS).tolist()
    return json.dumps({"low": low, "high": high, "counts": counts}, separators=(",", ":"))
