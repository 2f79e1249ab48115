"""Edge values, refusals and laws of fxstore.metrics.compare."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from fxstore.errors import UsageError
from fxstore.metrics import BETTER, DEFAULT, METRICS, UNIT, QParams, compare

ALL = tuple(METRICS)
DISTANCES = ("mse", "mae", "max_abs", "max_rel", "l1", "l2")
RATIOS = ("sqnr", "snr", "psnr")


def noise(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(seed).standard_normal(shape)


def one(reference: object, value: object, metric: str, **options: Any) -> Any:
    return compare(reference, value, [metric], **options)[metric]


def test_a_known_pair_has_the_textbook_numbers() -> None:
    got = {name: m.value for name, m in compare([1.0, 2.0, -2.0], [1.0, 0.0, -1.0], ALL).items()}
    assert got == pytest.approx(
        {
            "cosine": 3 / (3 * math.sqrt(2)),
            "mse": 5 / 3,
            "mae": 1.0,
            "max_abs": 2.0,
            "max_rel": 1.0,
            "l1": 3.0,
            "l2": math.sqrt(5),
            "sqnr": 10 * math.log10(9 / 5),
            "snr": 10 * math.log10(9 / 5),
            "psnr": 10 * math.log10(4 / (5 / 3)),
            "nonfinite": 0.0,
        },
        rel=1e-12,
    )


@pytest.mark.parametrize("tensor", [noise((4, 3)), np.zeros((4, 3)), np.arange(6), np.array([True, False])])
def test_identical_tensors_are_exact_and_ok(tensor: Any) -> None:
    got = compare(tensor, tensor.copy(), ALL)
    assert {m.status for m in got.values()} == {"ok"}
    assert {m.reason for m in got.values()} == {"identical"}
    assert got["cosine"].value == 1.0
    assert all(got[name].value == 0.0 for name in DISTANCES)
    assert all(got[name].value == math.inf for name in RATIOS)


def test_a_zero_reference_and_a_zero_value_have_documented_numbers() -> None:
    some, zeros = noise((16,)), np.zeros(16)
    reference = compare(zeros, some, ALL)
    assert (reference["cosine"].value, reference["sqnr"].value, reference["max_rel"].value) == (
        0.0,
        -math.inf,
        math.inf,
    )
    assert {m.reason for m in reference.values()} == {"zero reference"}
    value = compare(some, zeros, ALL)
    assert (value["cosine"].value, value["sqnr"].value, value["max_rel"].value) == (0.0, 0.0, 1.0)


def test_nan_is_never_zero() -> None:
    got = compare(np.zeros(4), np.full(4, np.nan), ALL)
    assert got["nonfinite"].value == 4.0
    rest = [got[name] for name in ALL if name != "nonfinite"]
    assert all(m.value is None and m.status == "non_finite" and math.isnan(m.number) for m in rest)
    assert {m.reason for m in rest} == {"4 of 4 values not finite"}


def test_one_nan_among_good_values_breaks_the_whole_number() -> None:
    reference = noise((1000,))
    value = reference.copy()
    value[7] = np.nan
    got = compare(reference, value, ["cosine", "nonfinite"])
    assert math.isnan(got["cosine"].number)
    assert got["cosine"].reason == "1 of 1000 values not finite"
    assert got["nonfinite"].value == 1.0


def test_nan_in_the_reference_is_told_apart() -> None:
    got = one([np.nan, 1.0], [2.0, 1.0], "mse")
    assert got.status == "non_finite"
    assert got.reason == "1 of 2 reference values not finite"


def test_an_infinity_of_one_side_is_an_infinite_distance() -> None:
    got = compare([1.0, 2.0], [1.0, np.inf], ["mse", "max_abs", "cosine"])
    assert got["mse"].number == got["max_abs"].number == math.inf
    assert math.isnan(got["cosine"].number)
    assert {m.status for m in got.values()} == {"non_finite"}


def test_equal_infinities_as_in_masks_are_left_out() -> None:
    got = compare([-np.inf, 1.0, 3.0], [-np.inf, 1.0, 2.0], ["mse", "cosine"])
    assert got["mse"].value == 0.5
    assert got["mse"].reason == "1 equal infinities left out"
    assert one([np.inf], [np.inf], "sqnr").value == math.inf
    assert one([np.inf], [-np.inf], "mse").status == "non_finite"


def test_numbers_are_not_rounded() -> None:
    reference = noise((4096,)) * 0.72
    value = reference + noise((4096,), 1) * math.sqrt(0.0042)
    got = compare(reference, value, ["mse", "cosine"])
    assert 0.0040 < got["mse"].value < 0.0044
    assert 0.9955 < got["cosine"].value < 0.9965


def test_shapes_are_never_broadcast() -> None:
    assert one(np.zeros((2, 4, 8)), np.zeros((2, 4, 4)), "mse").reason == "shape (2,4,8) vs (2,4,4)"
    assert one(np.zeros((2, 1)), np.zeros((2, 3)), "mse").status == "not_measured"
    assert one(np.zeros((1,)), 0.0, "mse").reason == "shape (1,) vs ()"


def test_codes_are_never_compared_with_real_numbers() -> None:
    reference = noise((4, 64)).astype(np.float32) * 1.5
    codes = np.clip(np.round(reference / 0.05) + 10, -128, 127).astype(np.int8)
    bare = one(reference, codes, "cosine")
    assert (bare.value, bare.status, bare.reason) == (None, "not_measured", "dtype int8 vs float32, no scale")
    assert one(codes, reference, "cosine").reason == "dtype int8 vs float32, no scale"
    got = compare(reference, codes, ["cosine", "sqnr"], qparams=QParams(0.05, 10))
    assert got["cosine"].value >= 0.999
    assert got["sqnr"].value > 30
    assert one(codes, reference, "cosine", reference_qparams=QParams(0.05, 10)).value >= 0.999


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.bool_])
def test_positions_and_truth_values_are_numbers_beside_floats(kind: type) -> None:
    whole = np.array([0, 1, 1, 0, 1]).astype(kind)
    assert one(whole, whole.astype(np.float32), "mse").value == 0.0
    assert one(whole.astype(np.float32) + np.float32(0.5), whole, "mse").value == 0.25


def test_per_channel_scales_go_along_their_axis() -> None:
    codes = np.array([[1, 2], [3, 4]], np.int8)
    real = codes * np.array([[0.5], [2.0]])
    assert one(real, codes, "mse", qparams=QParams([0.5, 2.0], [0, 0], axis=0)).value == 0.0
    assert one(real, codes, "mse", qparams=QParams([0.5, 2.0], [0, 0], axis=1)).value > 0.0
    assert "3 scales for axis 0 of size 2" in one(real, codes, "mse", qparams=QParams([1.0] * 3, 0, axis=0)).reason
    assert "no axis 5" in one(real, codes, "mse", qparams=QParams([1.0, 1.0], 0, axis=5)).reason
    assert "without an axis" in one(real, codes, "mse", qparams=QParams([1.0, 1.0])).reason
    assert one(real, codes, "mse", qparams=QParams("wide")).reason == "qparams are not numbers"


def test_qparams_leave_real_values_alone() -> None:
    assert one([1.5, 2.0], np.array([1.5, 2.0]), "mse", qparams=QParams(0.1, 3)).value == 0.0


def test_integers_compare_exactly() -> None:
    big = np.array([2**62, -(2**62)], np.int64)
    assert one(big, big + np.array([0, 1]), "max_abs").value == 1.0
    assert one(np.array([-(2**63)]), np.array([2**63 - 1]), "max_abs").value == float(2**64 - 1)
    assert one(np.array([1, 5], np.int32), np.array([1, 2], np.int64), "mse").value == 4.5
    assert one(np.array([True, False]), np.array([True, True]), "mae").value == 0.5
    assert one(np.array([2**64 - 1], np.uint64), np.array([-1], np.int64), "max_abs").value > 1e19


def test_python_numbers_have_no_dtype_to_disagree_with() -> None:
    assert one(np.array([1.0, 2.5]), [1, 2], "mse").value == 0.125
    assert one(1, 1.0, "cosine").value == 1.0


def test_a_declared_layout_is_exact_and_an_undeclared_one_is_suspected() -> None:
    reference = noise((1, 4, 4, 4))
    value = np.ascontiguousarray(reference.transpose(0, 2, 3, 1))
    got = compare(reference, value, ["cosine", "mse"], permutation=(0, 3, 1, 2))
    assert (got["cosine"].value, got["mse"].value) == (1.0, 0.0)
    naive = one(reference, value, "cosine")
    assert naive.value < 0.6
    assert naive.reason == "axes permuted by (0,3,1,2) reproduce the reference"
    other = one(noise((1, 2, 3, 4)), noise((1, 2, 3, 4)).transpose(0, 2, 3, 1), "mse")
    assert other.reason.startswith("shape (1,2,3,4) vs (1,3,4,2); axes permuted by (0,3,1,2)")
    assert one(reference, noise((1, 4, 4, 4), 9), "cosine").reason is None
    assert "does not fit" in one(reference, value, "mse", permutation=(0, 0, 1, 2)).reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no tensor data"),
        (object(), "dtype object is not numeric"),
        ("text", "dtype <U4 is not numeric"),
        (np.zeros((0, 3)), "shape (2,) vs (0,3)"),
        ([[1.0], [1.0, 2.0]], "no tensor data"),
    ],
)
def test_what_is_no_tensor_has_a_reason(value: object, reason: str) -> None:
    assert one([1.0, 2.0], value, "mse").reason == reason


def test_empty_tensors_have_a_reason() -> None:
    assert one(np.zeros((0, 3)), np.zeros((0, 3)), "mse").reason == "empty tensor of shape (0,3)"


def test_very_large_and_very_small_values_neither_overflow_nor_vanish() -> None:
    for scale in (1e200, 1e-200):
        got = compare(np.array([3.0, 4.0]) * scale, np.array([3.0, -4.0]) * scale, ["cosine", "l2", "sqnr"])
        assert got["cosine"].value == pytest.approx(-7 / 25)
        assert got["l2"].value == pytest.approx(8 * scale)
        assert got["sqnr"].value == pytest.approx(10 * math.log10(25 / 64))
    too_large = compare([1e308], [-1e308], ALL)
    assert too_large["max_abs"].number == math.inf
    assert too_large["max_abs"].reason == "overflow"
    assert one([1e200], [-1e200], "mse").status == "non_finite"


def test_numbers_do_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, value = noise((7, 11)), noise((7, 11), 1)
    whole = compare(reference, value, ALL)
    for name in ("_CHUNK", "BLOCK", "_ROW"):
        monkeypatch.setattr(f"fxstore.metrics.moments.{name}", 10 if name != "_ROW" else 3)
    parts = compare(reference.T.copy().T, value, ALL)
    for name in ALL:
        assert parts[name].value == pytest.approx(whole[name].value, rel=1e-12)


def test_a_complex_number_is_one_element() -> None:
    reference = (noise((50, 3)) + 1j * noise((50, 3), 1)).astype(np.complex64)
    value = (reference * (1.1 + 0.1j)).astype(np.complex64)
    r, d = reference.astype(np.complex128), value.astype(np.complex128) - reference
    got = {name: measured.value for name, measured in compare(reference, value, [*ALL, "mismatch(0.1,0.01)"]).items()}
    wanted = {
        "mse": (np.abs(d) ** 2).mean(), "mae": np.abs(d).mean(), "max_abs": np.abs(d).max(), "l1": np.abs(d).sum(),
        "l2": np.linalg.norm(d), "max_rel": (np.abs(d) / np.abs(r)).max(),
        "cosine": np.vdot(r, r + d).real / np.linalg.norm(r) / np.linalg.norm(r + d),
        "sqnr": 20 * np.log10(np.linalg.norm(r) / np.linalg.norm(d)),
        "mismatch(0.1,0.01)": (np.abs(d) > 0.1 + 0.01 * np.abs(r)).mean(),
    }  # fmt: skip
    assert {name: got[name] for name in wanted} == pytest.approx(wanted, rel=1e-12)
    assert one(np.array([1 + 1j]), np.array([1 - 1j]), "mse").value == 4.0
    assert compare(reference, value, [lambda r, v: float(np.abs(v - r).max())])["<lambda>"].value == got["max_abs"]
    assert one(np.array(1j), np.array(1j), "cosine").value == 1.0


def test_an_unknown_metric_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        compare([1.0], [1.0], ["cosin"])
    assert "cosine" in (caught.value.hint or "")


def test_every_metric_has_a_direction_and_a_unit() -> None:
    assert set(BETTER) == set(UNIT) == set(METRICS)
    assert set(DEFAULT) <= set(METRICS)
    assert set(BETTER.values()) == {"higher", "lower"}


def test_torch_is_not_imported() -> None:
    code = "import sys, fxstore.metrics; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestTorch:
    """Torch tensors are recognised without importing torch in fxstore.metrics."""

    torch = pytest.importorskip("torch")

    def test_any_float_and_gradient_and_layout(self) -> None:
        torch = self.torch
        value = torch.randn(3, 4, requires_grad=True)
        assert one(value, value.detach().numpy(), "mse").value == 0.0
        assert one(value, value.t().contiguous().t(), "cosine").value == 1.0
        half = one(torch.ones(4, dtype=torch.bfloat16), torch.ones(4), "mse")
        assert half.value == 0.0

    def test_no_data(self) -> None:
        torch = self.torch
        assert one(torch.ones(2), torch.ones(2, device="meta"), "mse").reason == "no tensor data"
        with torch._subclasses.FakeTensorMode():
            fake = torch.ones(2)
        assert one(np.ones(2), fake, "mse").reason == "no tensor data"

    def test_torch_qparams(self) -> None:
        torch = self.torch
        codes = torch.tensor([[1, 2], [3, 4]], dtype=torch.int8)
        scale, zero = torch.tensor([0.5, 2.0]), torch.tensor([0, 1])
        real = (codes - zero[:, None]) * scale[:, None]
        assert one(real, codes, "mse", qparams=QParams(scale, zero, 0)).value == 0.0


REALS = st.floats(-1e100, 1e100).map(lambda x: 0.0 if abs(x) < 1e-100 else x)
VECTORS = npst.arrays(np.float64, npst.array_shapes(max_dims=3, max_side=4), elements=REALS)
PAIRS = npst.array_shapes(max_dims=3, max_side=4).flatmap(
    lambda shape: st.tuples(*[npst.arrays(np.float64, shape, elements=REALS)] * 2)
)
ANYTHING = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.lists(st.floats(width=32), max_size=4),
    npst.arrays(
        st.one_of(npst.integer_dtypes(), npst.unsigned_integer_dtypes(), npst.floating_dtypes(), npst.boolean_dtypes()),
        npst.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3),
    ),
)


@settings(deadline=None)
@given(VECTORS)
def test_law_identical_is_zero_distance(x: Any) -> None:
    got = compare(x, x.copy(), ALL)
    assert got["cosine"].value == 1.0
    assert all(got[n].value == 0.0 for n in DISTANCES)


@settings(deadline=None)
@given(PAIRS)
def test_law_distances_are_symmetric(pair: Any) -> None:
    x, y = pair
    for name in ("mse", "mae", "max_abs", "l2", "cosine"):
        assert one(x, y, name).number == one(y, x, name).number


@settings(deadline=None)
@given(PAIRS, st.integers(-60, 60))
def test_law_cosine_and_sqnr_ignore_a_common_scale(pair: Any, exponent: int) -> None:
    x, y = pair
    scaled = compare(x * 2.0**exponent, y * 2.0**exponent, ["cosine", "sqnr"])
    for name, plain in compare(x, y, ["cosine", "sqnr"]).items():
        assert scaled[name].number == pytest.approx(plain.number, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(VECTORS, st.integers(-60, 60))
def test_law_cosine_ignores_the_scale_of_the_value(x: Any, exponent: int) -> None:
    assert one(x, x * 2.0**exponent, "cosine").value == pytest.approx(1.0, abs=1e-12)


@settings(deadline=None)
@given(PAIRS)
def test_law_means_are_between_zero_and_the_maximum(pair: Any) -> None:
    got = {name: m.number for name, m in compare(*pair, ALL).items()}
    slack = 1 + 1e-12
    assert 0.0 <= got["mae"] <= got["max_abs"] * slack
    assert math.sqrt(got["mse"]) <= got["max_abs"] * slack <= got["l2"] * slack * slack
    assert -1.0 <= got["cosine"] <= 1.0


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int8])
def test_a_scalar_of_any_kind_is_compared_as_the_number_that_it_is(kind: Any) -> None:
    """No unsigned integer, nor the least one, has a negative of its own type; a truth value has none at all."""
    reference = np.array(True) if kind is np.bool_ else np.array(np.iinfo(kind).min or 3, kind)
    as_floats = compare(float(reference), 0.5, ALL)
    assert as_floats["psnr"].number is not None
    assert {name: m.number for name, m in compare(reference, 0.5, ALL).items()} == {
        name: m.number for name, m in as_floats.items()
    }


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
@example(np.array(False), 0.0)
def test_law_never_raises_and_every_answer_is_consistent(reference: object, value: object) -> None:
    for m in compare(reference, value, ALL).values():
        assert (m.value is not None) == (m.status == "ok")
        assert (m.number is None) == (m.status == "not_measured")
        assert m.status == "ok" or m.reason
        assert m.number is None or math.isfinite(m.number) or m.status == "non_finite" or m.reason


ALONE = """
import time
import numpy as np
from fxstore.metrics import compare, describe
reference = np.random.default_rng(0).normal(size=1 << 22).astype(np.float32)
value = reference * np.float32(1.01)
own, total = time.thread_time(), time.process_time()
compare(reference, value), describe(value)
print((time.process_time() - total) / (time.thread_time() - own))
"""


def test_no_other_thread_works_on_a_comparison() -> None:
    """Threads of a BLAS that wait for each other took a hundred times the time where the machine was busy."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.2


class TestMasks:
    """A finite mask constant outweighs what it does not mask: a wrong tensor must not look right beside it."""

    rng = np.random.default_rng(5)
    masked = np.triu(np.ones((8, 8), bool), 1)  # 28 of 64
    scores, wrong = rng.standard_normal((2, 8, 8))

    def pair(self, ours: float, theirs: float, dtype: Any = np.float32) -> tuple[Any, Any]:
        return tuple(
            np.where(self.masked, constant, scores).astype(dtype)
            for constant, scores in ((ours, self.scores), (theirs, self.wrong))
        )

    @pytest.mark.parametrize(
        ("ours", "theirs", "dtype"),
        [
            (-1e9, -1e9, np.float32),
            (-1e4, -1e4, np.float16),
            (-65504.0, -65504.0, np.float16),
            (float(np.finfo(np.float32).min), float(np.finfo(np.float32).min), np.float32),
            (-1.7976931348623157e308, -1.7976931348623157e308, np.float64),
            (-1e9, -999292928.0, np.float32),  # the same in bfloat16
            (-3.4028234663852886e38, -65504.0, np.float32),  # the least of float32 and of float16
        ],
    )
    def test_what_both_mask_is_left_out_and_said(self, ours: float, theirs: float, dtype: Any) -> None:
        reference, value = self.pair(ours, theirs, dtype)
        got = compare(reference, value, [*METRICS, "mismatch"])
        kept = reference[~self.masked].astype(float), value[~self.masked].astype(float)
        for name, wanted in compare(*kept, [*METRICS, "mismatch"]).items():
            assert got[name].value == pytest.approx(wanted.value, rel=1e-12), name
        assert abs(got["cosine"].value or 1.0) < 0.5
        assert (got["mse"].reason or "").startswith("43.8% left out: both hold the mask constant")
        turned = compare(value, reference, ["cosine", "mse", "max_abs"])
        assert all(turned[name].value == pytest.approx(got[name].value) for name in turned)

    def test_where_one_alone_is_masked_there_is_an_error(self) -> None:
        reference, value = self.pair(-1e9, -1e9)
        value[0, 1] = 0.5
        got = compare(reference, value, ["max_abs", "mse"])
        assert got["max_abs"].value == pytest.approx(1e9)
        assert (got["mse"].reason or "").startswith("42.2% left out")
        unmasked = compare(self.pair(-1e9, -1e9)[0], self.wrong.astype(np.float32), ["max_abs", "mse"])
        assert unmasked["mse"].reason is None

    def test_another_constant_is_an_error(self) -> None:
        got = compare(*self.pair(-1e9, -1e4), ["max_abs"])["max_abs"]
        assert got.value == pytest.approx(1e9, rel=1e-3)
        assert got.reason is None

    @pytest.mark.parametrize(
        "outlier",
        [-1e3, 1e9, -2e4],
        ids=["small", "positive", "not far from the rest"],
    )
    def test_numbers_that_are_no_masks_count(self, outlier: float) -> None:
        reference, value = self.pair(outlier, outlier, np.float64)
        if outlier == -2e4:
            reference[0, 0] = value[0, 0] = -100.0
        got = compare(reference, value, ["mse"])["mse"]
        assert got.value == pytest.approx(float(((reference - value) ** 2).mean()))
        assert got.reason is None

    def test_one_element_is_no_mask_and_masks_alone_are_values(self) -> None:
        lone = np.array([-1e9, 1.0, 2.0])
        assert compare(lone, np.array([-1e9, 1.5, 2.0]), ["mse"])["mse"].reason is None
        alone = np.full(4, -1e9)
        assert compare(alone, alone * (1 + 1e-9), ["mse"])["mse"].reason is None

    def test_of_what_is_left_identical_is_identical(self) -> None:
        reference, value = (np.where(self.masked, c, self.scores).astype(np.float32) for c in (-1e9, -999292928.0))
        got = compare(reference, value, ["sqnr", "max_abs", lambda r, v: r.size])
        assert got["sqnr"].value == math.inf
        assert got["max_abs"].reason == "identical; 43.8% left out: both hold the mask constant -1e+09 and -9.993e+08"
        assert (got["<lambda>"].value, got["<lambda>"].reason) == (64.0, None)
