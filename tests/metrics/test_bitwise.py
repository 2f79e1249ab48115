"""The metric ``bitwise``: every differing bit counts, against a loop over ``struct``."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fxstore.errors import UsageError
from fxstore.metrics import compare, register

FLOATS = {"float16": ("e", "h"), "float32": ("f", "i"), "float64": ("d", "q")}


def measured(a: object, b: object) -> tuple[float | None, str | None]:
    found = compare(a, b, "bitwise")["bitwise"]
    return found.number, found.reason


def place(value: float, kind: str) -> int:
    """Where a number stands among all numbers of its format, 0.0 at 0, -0.0 beside it."""
    form, whole = FLOATS[kind]
    (bits,) = struct.unpack(f"<{whole}", struct.pack(f"<{form}", value))
    least = -(1 << (8 * struct.calcsize(f"<{whole}") - 1))
    return bits if bits >= 0 else least - bits - 0


@given(st.data(), st.sampled_from(list(FLOATS)))
def test_it_is_what_a_loop_over_the_bits_counts(data: st.DataObject, kind: str) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=3, max_side=4))
    values = arrays.arrays(kind, shape, elements=st.floats(width=8 * np.dtype(kind).itemsize, allow_subnormal=True))
    a = data.draw(values)
    b = a.copy()
    for _ in range(data.draw(st.integers(0, 3))):
        at = tuple(data.draw(st.integers(0, side - 1)) for side in shape)
        b[at] = data.draw(st.floats(width=8 * np.dtype(kind).itemsize))
    number, reason = measured(a, b)
    differing = [i for i in np.ndindex(shape) if a[i].tobytes() != b[i].tobytes()]
    assert number == len(differing)
    assert reason is not None
    if not differing:
        assert reason == "identical"
        return
    assert f"first at [{', '.join(map(str, differing[0]))}]" in reason
    whole = [i for i in differing if not (math.isnan(a[i]) or math.isnan(b[i]))]
    if whole:
        apart = max(abs(place(float(a[i]), kind) - place(float(b[i]), kind)) for i in whole)
        assert f"at most {apart} ULPs of {kind}" in reason
    nan = len(differing) - len(whole)
    assert (f"{nan} with NaN" in reason) == bool(nan)


def test_zeros_of_two_signs_and_two_nans_differ() -> None:
    assert measured(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))[0] == 1.0
    one, other = (np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0x7FC00001))
    assert measured(one, one.copy()) == (0.0, "identical")
    assert measured(one, other) == (1.0, "1 of 1 elements differ; first at [0]; 1 with NaN")


def test_neighbours_are_one_ulp_apart_even_across_zero() -> None:
    tiny = np.float32(1e-45)
    for a, b, apart in ((1.0, np.nextafter(np.float32(1), np.float32(2)), 1), (0.0, tiny, 1)):
        _, reason = measured(np.array([a], np.float32), np.array([b], np.float32))
        assert reason is not None
        assert f"at most {apart} ULPs of float32" in reason


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "bool", "complex64", "complex128"])
def test_other_dtypes_are_counted(kind: str) -> None:
    a = np.array([[0, 1], [1, 0]]).astype(kind)
    b = a.copy()
    b[1, 0] = 0
    number, reason = measured(a, b)
    assert number == 1.0
    assert reason is not None
    assert reason.startswith("1 of 4 elements differ; first at [1, 0]")


def test_two_dtypes_have_no_number_and_two_shapes_none_either() -> None:
    number, reason = measured(np.zeros(2, np.float32), np.zeros(2, np.float64))
    assert number is None
    assert reason == "float64 and float32 have no bits to compare"
    assert measured(np.zeros(2), np.zeros(3))[0] is None


def test_masks_are_not_left_out() -> None:
    a = np.array([-1e9, -1e9, 0.5], np.float32)
    b = np.array([-1e9, np.nextafter(np.float32(-1e9), np.float32(0)), 0.5], np.float32)
    assert measured(a, b)[0] == 1.0


def test_it_takes_a_limit_and_its_name_is_built_in() -> None:
    found = compare(np.zeros(2), np.array([0.0, 1.0]), "bitwise<=0")["bitwise"]
    assert (found.number, found.verdict) == (1.0, "fail")
    with pytest.raises(UsageError, match="a metric cannot be called 'bitwise'"):
        register("bitwise", lambda a, b: 0.0)
