"""Statistics of a tensor are those that NumPy computes of it in float64."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from fxstore.metrics import describe, moments

KINDS = [np.bool_, np.int8, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64]


def binned(values: Any) -> list[int]:
    """Bins by the rule: equal widths from the least to the largest, the last one with its upper edge."""
    x = values.astype(np.float64)
    low, high = float(x.min()), float(x.max())
    width = high / 64 - low / 64
    if low == high or width == 0.0 or not math.isfinite(1 / width) or not math.isfinite(high - low):
        return [x.size]
    counts = [0] * 64
    for bin_ in np.minimum(((x - low) * (1 / width)).astype(int), 63).tolist():
        counts[bin_] += 1
    return counts


def check(array: Any, rel: float = 1e-12) -> None:
    """Holds what is told of an array beside what NumPy computes."""
    told = describe(array)
    assert told is not None
    wide = array.reshape(-1).astype(np.float64)
    finite = wide[np.isfinite(wide)]
    assert told.numbers["elements"] == wide.size
    assert told.numbers["zeros"] == (wide == 0).sum()
    assert told.numbers["nonfinite"] == wide.size - finite.size
    if not finite.size:
        assert told.histogram is None
        assert told.numbers.keys() == {"elements", "zeros", "nonfinite"}
        return
    assert (told.numbers["min"], told.numbers["max"]) == (finite.min(), finite.max())
    exact = finite.astype(np.longdouble)
    size = float(np.abs(exact).max())
    assert told.numbers["mean"] == pytest.approx(float(exact.mean()), rel=rel, abs=size * rel)
    assert told.numbers["std"] == pytest.approx(float(exact.std()), rel=rel, abs=size * rel)
    shape = json.loads(told.histogram or "")
    assert (shape["low"], shape["high"]) == (finite.min(), finite.max())
    assert shape["counts"] == binned(finite)


REALS = st.floats(-1e100, 1e100).map(lambda x: 0.0 if abs(x) < 1e-100 else x)
ARRAYS = st.one_of(
    npst.arrays(np.float64, npst.array_shapes(min_side=0, max_dims=3, max_side=5), elements=REALS),
    npst.arrays(np.float32, npst.array_shapes(max_dims=2, max_side=9), elements=st.floats(-1e9, 1e9, width=32)),
    npst.arrays(np.float32, st.integers(1, 99), elements=st.sampled_from([np.nan, np.inf, -np.inf, 0, -0.0, 1, 1.5])),
    npst.arrays(np.int64, st.integers(1, 99), elements=st.integers(-(2**40), 2**40)),
    npst.arrays(st.sampled_from([np.int8, np.uint8, np.bool_]), st.integers(1, 99)),
)


@settings(deadline=None)
@given(ARRAYS)
def test_law_statistics_are_numpys(array: Any) -> None:
    check(array)


@settings(deadline=None)
@given(ARRAYS, st.integers(1, 7), st.integers(1, 7), st.integers(0, 50))
def test_law_statistics_do_not_depend_on_blocks(array: Any, block: int, row: int, pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fxstore.metrics.moments.BLOCK", block)
        patch.setattr("fxstore.metrics.moments._ROW", row)
        patch.setattr("fxstore.metrics.description._PER_PAIR", pairs / 65**2)
        patch.setattr("fxstore.metrics.description._COUNTED", 2 * block)
        check(array)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, moments._ROW - 1, moments.BLOCK, moments.BLOCK + 1, 7 * moments.BLOCK - 7])
def test_large_tensors_of_every_kind(kind: Any, size: int) -> None:
    check((np.random.default_rng(size).normal(size=size) * 40).astype(kind))
    check(np.maximum(np.random.default_rng(size).normal(size=size) * 40, 0).astype(kind))


def test_elements_on_an_edge_are_in_the_bin_above_and_the_largest_in_the_last() -> None:
    told = describe(np.arange(65, dtype=np.float32))
    assert told is not None
    assert json.loads(told.histogram or "")["counts"] == [1] * 63 + [2]
    assert binned(np.arange(65.0)) == np.histogram(np.arange(65.0), 64)[0].tolist()


@pytest.mark.parametrize("size", [100, 70_000])
def test_a_small_deviation_far_from_zero_keeps_its_digits(size: int) -> None:
    values = 1e6 + np.random.default_rng(0).normal(size=size) * 1e-3
    told = describe(values)
    assert told is not None
    assert told.numbers["std"] == pytest.approx(float(values.astype(np.longdouble).std()), rel=1e-9)
    last = np.concatenate([values, np.zeros(1)])
    told = describe(last)
    assert told is not None
    assert told.numbers["std"] == pytest.approx(float(last.astype(np.longdouble).std()), rel=1e-9)


def test_a_constant_has_no_deviation_at_all() -> None:
    told = describe(np.full(70_000, 0.1))
    assert told is not None
    assert (told.numbers["mean"], told.numbers["std"]) == (0.1, 0.0)


def test_what_is_no_tensor_or_complex_has_none() -> None:
    assert describe(None) is None
    assert describe("text") is None
    assert describe(np.ones(3, np.complex64)) is None


def test_blocks_that_are_looked_at_together_do_not_share_memory() -> None:
    left, right = np.arange(5.0), np.arange(5.0) + 10
    for (one, _), (other, _) in zip(moments.blocks(left), moments.blocks(right), strict=True):
        assert one.tolist() == left.tolist()
        assert other.tolist() == right.tolist()
