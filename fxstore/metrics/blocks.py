"""Passes over an array in float64: in blocks that stay in a core's cache, and without BLAS's threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fxstore.metrics.operands import Array

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


def peak(array: Array) -> float:
    """Returns the largest magnitude in an array; NaN where it holds one."""
    flat = array.reshape(-1)
    return max(-float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))) if flat.size else 0.0
