"""What one tensor's values are like, so that a distribution can be looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fxstore.metrics.moments import BLOCK, Floats, blocks, dot
from fxstore.metrics.operands import Array, NoNumberError, operand

BINS: Final = 64
# So many bins are counted at once.
_COUNTED: Final = 4 * BLOCK
# Elements for each pair of numbers from which a table of all pairs is worth it.
_PER_PAIR: Final = 2.0
# A mean's square over the variance, beyond which sums of squares leave too few digits to the deviation.
_FAR: Final = 4.0


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
    if array.dtype.kind == "c":
        return None
    flat = array.reshape(-1)
    if flat.dtype.itemsize == 1 and flat.dtype.kind in "iu" and flat.size:
        return _of_bytes(flat)
    low, high, finite = _range(flat)
    numbers = {
        "elements": float(flat.size),
        "zeros": float(np.count_nonzero(flat == 0)),
        "nonfinite": float(flat.size - finite.size),
    }
    if not finite.size:
        return Description(numbers, None)
    mean, std, counts = _distribution(finite, low, high)
    numbers |= {"min": low, "max": high, "mean": mean, "std": std}
    return Description(numbers, _histogram(low, high, counts))


def _histogram(low: float, high: float, counts: list[int]) -> str:
    shown = str(counts).replace(" ", "")
    return f'{{"low":{low!r},"high":{high!r},"counts":{shown}}}'


def _of_bytes(flat: Array) -> Description:
    """Describes codes of eight bits, of which counting the 256 there are tells everything."""
    every = np.arange(256, dtype=np.uint8).view(flat.dtype).astype(np.float64)
    times = _counts(np.ascontiguousarray(flat).view(np.uint8), 256)
    values, times = every[times > 0], times[times > 0]
    low, high = float(values.min()), float(values.max())
    mean = float(values @ times) / flat.size
    std = math.sqrt(float((values - mean) ** 2 @ times) / flat.size)
    counts = [flat.size]
    if low < high:
        bins = ((values - low) * (1.0 / _width(low, high))).astype(np.uint8)
        found = np.zeros(BINS + 1, np.int64)
        np.add.at(found, bins, times)
        counts = _folded(found.tolist())
    zeros = int(times[values == 0.0].sum())
    numbers = {"elements": float(flat.size), "zeros": float(zeros), "nonfinite": 0.0}
    return Description(numbers | {"min": low, "max": high, "mean": mean, "std": std}, _histogram(low, high, counts))


def _width(low: float, high: float) -> float:
    """Returns the width of a bin."""
    return high / BINS - low / BINS


def _range(flat: Array) -> tuple[float, float, Array]:
    """Returns the least and the largest finite element, and the finite ones: the array itself where all are."""
    if not flat.size:
        return math.nan, math.nan, flat
    low, high = float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))
    if math.isfinite(low) and math.isfinite(high):
        return low, high, flat
    finite = flat[np.isfinite(flat)]
    return _range(finite) if finite.size else (math.nan, math.nan, finite)


def _distribution(finite: Array, low: float, high: float) -> tuple[float, float, list[int]]:
    """Returns mean, standard deviation and counts of equal bins, in one pass.

    Bins by multiplication instead of ``numpy.histogram``'s search: the same bins, many times as fast.
    """
    if low == high:
        return low + 0.0, 0.0, [finite.size]
    width = _width(low, high)
    has_bins = width != 0.0 and math.isfinite(1.0 / width) and math.isfinite(high - low)
    counts = np.zeros(BINS + 1, np.int64)
    bins = np.empty(min(_COUNTED, finite.size), np.uint8)
    sums = _Sums()
    with np.errstate(all="ignore"):
        for block, room in blocks(finite):
            if has_bins:
                np.subtract(block, low, out=room)
                np.multiply(room, 1.0 / width, out=room)
                at = sums.size % _COUNTED
                bins[at : at + room.size] = room
                if at + room.size == bins.size or sums.size + room.size == finite.size:
                    counts += _counts(bins[: at + room.size], BINS + 1)
            sums.add(block)
    return *sums.mean_and_std(), _folded(counts.tolist()) if has_bins else [finite.size]


@dataclass
class _Sums:
    """Sums of elements and of their squares: where these are far from 0, of offsets from the first block's mean."""

    size: int = 0
    total: float = 0.0
    squares: float = 0.0
    pivot: float = 0.0

    def add(self, block: Floats) -> None:
        """Takes a block, and may change it."""
        total, squares = (0.0, 0.0) if self.pivot else _sums(block)
        if not self.size and total * total > _FAR * (block.size * squares - total * total):
            self.pivot = total / block.size
        if self.pivot:
            block -= self.pivot
            total, squares = _sums(block)
        self.size, self.total, self.squares = self.size + block.size, self.total + total, self.squares + squares

    def mean_and_std(self) -> tuple[float, float]:
        offset = self.total / self.size
        return self.pivot + offset, math.sqrt(max(0.0, self.squares / self.size - offset * offset))


def _sums(block: Floats) -> tuple[float, float]:
    return float(np.add.reduce(block)), dot(block, block)


def _counts(numbers: npt.NDArray[np.uint8], below: int) -> npt.NDArray[np.int64]:
    """Returns how often each number below a limit stands there.

    Two neighbours are counted as one number, which takes half the time.
    """
    even = 0 if numbers.size < _PER_PAIR * below**2 else numbers.size - numbers.size % 2
    found: npt.NDArray[np.int64] = np.bincount(numbers[even:], minlength=below)
    if even:
        pairs = np.bincount(numbers[:even].view(np.uint16), minlength=below << 8).reshape(below, 256)
        found += np.add.reduce(pairs, 1) + np.add.reduce(pairs, 0)[:below]
    return found


def _folded(counts: list[int]) -> list[int]:
    return [*counts[: BINS - 1], sum(counts[BINS - 1 :])]
