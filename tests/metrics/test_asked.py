"""What may be asked for as a metric, and the verdicts that limits make."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.errors import UsageError
from fxstore.metrics import DEFAULT, compare, register, resolve


def near(reference: Any, value: Any) -> float:
    return float(np.abs(reference - value).max())


def test_a_limit_makes_a_verdict() -> None:
    got = compare([1.0, 2.0], [1.0, 2.5], ["cosine>=0.99", "mse<=0.1", "mae"])
    assert {name: m.verdict for name, m in got.items()} == {"cosine": "pass", "mse": "fail", "mae": None}
    assert compare([1.0], [1.0], {"sqnr": 40, "mse": None})["sqnr"].verdict == "pass"
    assert compare([0.0], [1.0], ["sqnr>=40"])["sqnr"].verdict == "fail"
    assert compare([1.0], [math.nan], ["mse<=1e9", "cosine>=-1"])["mse"].verdict == "fail"
    assert compare([1.0], [1.0, 2.0], ["mse<=1"])["mse"].verdict is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("cosine<=0.9", "higher is better"),
        ("mse>=0.9", "lower is better"),
        ("mse<=low", "not a number"),
        ("mse<=nan", "not a number"),
        ("mismatch(a,1)", "two tolerances"),
        ("mismatch(-1,1)", "two tolerances"),
        ("no.such.module:f", "cannot import"),
        ("math:pi", "float, not a function"),
        (":", "cannot import"),
        (3, "int is no metric"),
    ],
)
def test_what_is_no_metric_is_a_usage_error(asked: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve([asked])


def test_mismatch_is_the_share_beyond_the_tolerances() -> None:
    reference, value = np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.05, 1.2, 1e-9])
    asked = ["mismatch", "mismatch(0.1,0)", "mismatch(0, 0.1)"]
    assert [m.value for m in compare(reference, value, asked).values()] == [0.5, 0.25, 0.5]
    assert math.isnan(compare([math.nan], [1.0], ["mismatch"])["mismatch"].number or 0.0)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0, 10), st.floats(0, 1))
def test_law_mismatch_counts_as_numpy_does(values: list[float], atol: float, rtol: float) -> None:
    reference = np.array(values[::-1])
    name = f"mismatch({atol!r},{rtol!r})"
    wanted = 1.0 - np.isclose(np.array(values), reference, rtol=rtol, atol=atol).mean()
    assert compare(reference, values, [name])[name].value == pytest.approx(wanted)


def test_a_function_gives_one_number_or_several() -> None:
    assert compare([1.0, 5.0], [1.0, 2.0], near)["near"].value == 3.0
    several = compare([1.0], [2.0], [lambda r, v: {"low": r.min(), "high": v.max()}])
    assert {name: m.value for name, m in several.items()} == {"<lambda>.low": 1.0, "<lambda>.high": 2.0}


def test_a_function_sees_float64_of_its_own_and_nan_as_it_is() -> None:
    seen: list[Any] = []

    def spoil(reference: Any, value: Any) -> float:
        seen.extend((reference.dtype, value.copy()))
        value[:] = 0.0
        return float("nan")

    value = np.array([math.nan, 2.0], np.float32)
    got = compare(np.ones(2, np.float32), value, [spoil, "nonfinite"])
    assert (got["spoil"].status, got["spoil"].reason) == ("non_finite", "1 of 2 values not finite")
    assert seen[0] == np.float64
    assert math.isnan(seen[1][0])
    assert value[1] == 2.0


def test_a_function_that_fails_takes_no_other_metric_with_it() -> None:
    def broken(reference: Any, value: Any) -> float:
        raise ZeroDivisionError("no\nluck")

    got = compare([1.0], [2.0], [broken, lambda r, v: "text", "mse"])
    assert got["broken"].reason == "broken failed: ZeroDivisionError: no"
    assert "ValueError" in (got["<lambda>"].reason or "")
    assert got["mse"].value == 1.0


def test_what_is_no_number_in_a_dict_costs_no_other_key() -> None:
    def odd(reference: Any, value: Any) -> dict[Any, Any]:
        return {"none": None, "text": "x", "nan": math.nan, 5: 1.0, "a.b": np.float32(2), "deeper": {"x": 1.0}}

    got = compare([1.0], [2.0], [odd, "mse"])
    assert {name: m.value for name, m in got.items() if m.value is not None} == {"odd.5": 1.0, "odd.a.b": 2.0, "mse": 1}
    assert got["odd.none"].reason == "odd.none gave nothing"
    assert (got["odd.text"].reason or "").startswith("odd.text failed: ValueError")
    assert got["odd.deeper"].reason == "odd.deeper gave a dict without numbers"
    assert (got["odd.nan"].status, math.isnan(got["odd.nan"].number or 0.0)) == ("non_finite", True)
    assert compare([1.0], [2.0], [lambda r, v: {}])["<lambda>"].reason == "<lambda> gave a dict without numbers"
    assert compare([1.0], [2.0], [lambda r, v: None])["<lambda>"].reason == "<lambda> gave nothing"


def test_two_functions_of_one_name_are_two_metrics() -> None:
    def mse(reference: Any, value: Any) -> float:
        return 7.0

    twice = [lambda r, v: 1.0, lambda r, v: 2.0]
    got = compare([1.0], [2.0], ["mse", mse, *twice, twice[0], mse])
    assert {name: m.value for name, m in got.items()} == {"mse": 1.0, "mse_2": 7.0, "<lambda>": 1.0, "<lambda>_2": 2.0}


def test_a_registered_function_has_a_name_a_unit_and_a_direction() -> None:
    @register("closeness", unit="1", better="higher")
    def close(reference: Any, value: Any) -> float:
        return 1.0 - near(reference, value)

    (by_name,), (by_function,) = resolve("closeness>=0.5"), resolve([close])
    assert (by_name.unit, by_name.better, by_name.threshold) == ("1", "higher", 0.5)
    assert by_function.name == "closeness"
    for name, better in (("mse", "lower"), ("a b", "lower"), ("fine", "up")):
        with pytest.raises(UsageError):
            register(name, near, better=better)


def test_the_command_line_names_a_function_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_metrics.py").write_text(
        "import fxstore.metrics as m\n"
        "@m.register('offset', unit='px')\n"
        "def offset(reference, value):\n    return abs(value - reference).sum()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (asked,) = resolve("own_metrics:offset<=1")
    assert (asked.name, asked.unit, asked.better, asked.threshold) == ("offset", "px", "lower", 1.0)
    assert resolve("own_metrics:offset")[0].better is None
    assert compare([1.0], [4.0], [asked])["offset"].value == 3.0
    sys.modules.pop("own_metrics")


def test_nothing_is_guessed_of_a_direction() -> None:
    def cosine_distance(reference: Any, value: Any) -> float:
        return 0.0

    def closeness(reference: Any, value: Any) -> float:
        return 1.0

    closeness.better = "higher"  # type: ignore[attr-defined]
    assert [asked.better for asked in resolve([cosine_distance, lambda r, v: 0.0, closeness])] == [None, None, "higher"]
    assert register("undeclared", near) is not None
    assert resolve("undeclared")[0].better is None
    assert resolve("undeclared>=0.5")[0].better == "higher"
    assert compare([1.0], [2.0], {"undeclared": None})["undeclared"].verdict is None
    with pytest.raises(UsageError, match="no direction") as error:
        resolve({cosine_distance: 0.1})
    assert "better='higher'" in str(error.value.hint)
    closeness.better = "up"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="better='up'"):
        resolve(closeness)


def test_each_name_is_measured_once_and_nothing_means_the_defaults() -> None:
    assert [asked.name for asked in resolve(None)] == list(DEFAULT)
    assert [asked.threshold for asked in resolve(["mse", "mse<=1"])] == [1.0]


class TestComparators:
    """ExecuTorch's own comparators work as they are, but for their NaN → 0."""

    comparators = pytest.importorskip("executorch.devtools.inspector.numerical_comparator")

    def test_they_give_their_own_numbers(self) -> None:
        rng = np.random.default_rng(0)
        reference, value = rng.standard_normal((2, 3, 5))
        theirs = [
            self.comparators.L1Comparator,
            self.comparators.MSEComparator(),
            self.comparators.SNRComparator,
        ]
        got = compare(reference, value, [*theirs, "l1", "mse", "snr"])
        for name, ours in (("L1Comparator", "l1"), ("MSEComparator", "mse"), ("SNRComparator", "snr")):
            assert got[name].value == pytest.approx(got[ours].value, rel=1e-12)
        assert [asked.better for asked in resolve(theirs)] == ["lower", "lower", "higher"]

    def test_nan_is_not_zero_and_identical_is_not_broken(self) -> None:
        snr = self.comparators.SNRComparator
        got = compare(np.zeros(4), np.full(4, np.nan), [snr, self.comparators.MSEComparator])
        assert {m.status for m in got.values()} == {"non_finite"}
        same = compare([1.0], [1.0], [snr])["SNRComparator"]
        assert (same.value, same.reason) == (math.inf, "identical")

    def test_a_subclass_with_preprocessing_works(self) -> None:
        class Doubled(self.comparators.NumericalComparatorBase):  # type: ignore[misc, name-defined]
            def preprocessing(self, mapping: Any) -> Any:
                return {key: (handle, 2 * tensor) for key, (handle, tensor) in mapping.items()}

            def element_compare(self, a: Any, b: Any) -> float:
                return float((a - b).abs().max())

        assert compare([2.0], [1.0], [Doubled])["Doubled"].value == 0.0

    def test_of_a_comparator_nothing_is_guessed_either(self) -> None:
        class CosineLoss(self.comparators.NumericalComparatorBase):  # type: ignore[misc, name-defined]
            def element_compare(self, a: Any, b: Any) -> float:
                return float((a - b).abs().max())

        class Told(CosineLoss):
            better, unit = "lower", "px"

        (asked,), (told,) = resolve(CosineLoss), resolve(Told())
        assert (asked.name, asked.better) == ("CosineLoss", None)
        assert (told.name, told.better, told.unit) == ("Told", "lower", "px")

    @pytest.mark.parametrize(
        ("judge", "better", "verdicts"),
        [
            (lambda score: score >= 0.95, "higher", ["fail", "pass"]),
            (lambda score: score <= 0.5, "lower", ["pass", "fail"]),
            (lambda score: 0.0 <= score <= 0.5, None, ["pass", "fail"]),
            (lambda score: 1 / 0, None, [None, None]),
        ],
    )
    def test_a_score_has_its_name_and_its_own_verdict(self, judge: Any, better: str | None, verdicts: Any) -> None:
        """As Qualcomm's comparators have them: metric_name, is_valid_score and a threshold."""

        class Scored(self.comparators.NumericalComparatorBase):  # type: ignore[misc, name-defined]
            threshold = 0.5

            def metric_name(self) -> str:
                return "score"

            def is_valid_score(self, score: float) -> bool:
                return bool(judge(score))

            def element_compare(self, a: Any, b: Any) -> float:
                return float(b)

        (asked,) = resolve(Scored)
        assert (asked.name, asked.better, asked.threshold) == ("score", better, 0.5)
        got = [compare([1.0], [value], Scored)["score"] for value in (0.25, 1.0)]
        assert [m.verdict for m in got] == verdicts
        assert [m.value for m in got] == [0.25, 1.0]
        if verdicts == [None, None]:
            assert "is_valid_score failed: ZeroDivisionError" in (got[0].reason or "")
        assert compare([1.0], [math.nan], Scored)["score"].verdict == "fail"

    def test_a_score_never_takes_the_place_of_a_formula(self) -> None:
        class Own(self.comparators.NumericalComparatorBase):  # type: ignore[misc, name-defined]
            def metric_name(self) -> str:
                return "mse"

            def element_compare(self, a: Any, b: Any) -> float:
                return 7.0

        for asked in ([Own, "mse"], ["mse", Own]):
            assert {name: m.value for name, m in compare([1.0], [2.0], asked).items()} == {"mse": 1.0, "mse_2": 7.0}
        assert [one.better for one in resolve([Own, "mse"])] == ["lower", "lower"]

    def test_a_class_that_needs_arguments_is_a_usage_error(self) -> None:
        class Needy(self.comparators.NumericalComparatorBase):  # type: ignore[misc, name-defined]
            def __init__(self, program: object) -> None:
                super().__init__()

            def element_compare(self, a: Any, b: Any) -> float:
                return 0.0

        with pytest.raises(UsageError, match="Needy cannot be asked: TypeError") as error:
            resolve(Needy)
        assert error.value.hint == "pass an object of the class"
