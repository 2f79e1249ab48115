"""Numbers that other tools get wrong: NaN read as zero, codes read as values, layouts, rounding, missing data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from fxstore import connect
from fxstore.metrics import QParams, compare
from tests.store.records import chain, graph, metric, node, overlay, run

NAN = math.nan
RANDOM = np.random.default_rng(0)


def number(reference: Any, value: Any, name: str, **options: Any) -> float:
    found = compare(reference, value, [name], **options)[name].number
    assert found is not None
    return found


def ranked(values: Mapping[str, float | None], count: int) -> tuple[list[str], int]:
    """Returns the worst nodes by cosine, and how many nodes the coverage says were not measured."""
    made = graph([node("x", "placeholder"), *values, node("output", "output")], chain("x", *values, "output"))
    rows = [metric(f"edge:{n}", "cosine", v, reason=None if v is not None else "no data") for n, v in values.items()]
    with connect(":memory:") as store:
        store.commit(run({"edge": made}, overlays=[overlay("acc", rows)]))
        names = [name for _, name in store.sql(f"SELECT nid, name FROM worst('cosine', n := {count})").fetchall()]
        missing = store.sql("SELECT not_measured FROM coverage").fetchall()[0][0]
    return names, int(missing)


def test_30_nan_on_the_device_is_counted_and_comes_first() -> None:
    """A device gives NaN for a reference of zeros: a comparator that reads NaN as 0 calls it perfect."""
    good = RANDOM.standard_normal(1000).astype(np.float32)
    one = good.copy()
    one[7] = NAN
    pairs = {
        "all_nan": (np.zeros(4, np.float32), np.full(4, NAN, np.float32)), "one_nan": (good, one),
        "good": (good, good + 1e-4), "bad_finite": (good, -good),
    }  # fmt: skip
    assert {name: number(*pair, "nonfinite") for name, pair in pairs.items()} == {
        "all_nan": 4, "one_nan": 1, "good": 0, "bad_finite": 0,
    }  # fmt: skip
    cosines = {name: number(*pair, "cosine") for name, pair in pairs.items()}
    assert math.isnan(cosines["all_nan"])
    assert math.isnan(cosines["one_nan"])
    names, _ = ranked(cosines, 4)
    assert set(names[:2]) == {"all_nan", "one_nan"}
    assert names[2:] == ["bad_finite", "good"]


@pytest.mark.parametrize(
    ("name", "cosine", "snr"),
    [("identical", 1.0, math.inf), ("both_zero", 1.0, math.inf), ("zero_ref", 0.0, -math.inf), ("zero_dev", 0.0, 0.0)],
)
def test_31_edge_values_of_cosine_and_snr(name: str, cosine: float, snr: float) -> None:
    """Identical tensors, zeros on either side and on both."""
    r, z = RANDOM.standard_normal(16), np.zeros(16)
    pair = {"identical": (r, r.copy()), "both_zero": (z, z.copy()), "zero_ref": (z, r), "zero_dev": (r, z)}[name]
    assert number(*pair, "cosine") == pytest.approx(cosine, abs=1e-12)
    assert number(*pair, "snr") == pytest.approx(snr, abs=1e-9)


def test_33_codes_are_dequantised_or_not_compared_at_all() -> None:
    """A dump of int8 codes, scale 0.05 and zero point 10, beside a reference of floats."""
    reference = (RANDOM.standard_normal((4, 64)) * 1.5).astype(np.float32)
    codes = np.clip(np.round(reference / 0.05) + 10, -128, 127).astype(np.int8)
    scale = QParams(0.05, 10)
    assert number(reference, codes, "cosine", qparams=scale) >= 0.999
    assert number(reference, codes, "sqnr", qparams=scale) > 30
    naive = number(reference, codes.astype(np.float32), "cosine")
    assert naive < 0.95
    refused = compare(reference, codes, ["cosine"])["cosine"]
    assert refused.value is None
    assert refused.reason == "dtype int8 vs float32, no scale"


def test_34_another_layout_is_permuted_where_declared_and_suspected_where_not() -> None:
    """Equal values with channels last, in a tensor whose sizes agree all the same."""
    reference = RANDOM.standard_normal((1, 4, 4, 4))
    device = np.ascontiguousarray(reference.transpose(0, 2, 3, 1))
    assert number(reference, device, "cosine", permutation=(0, 3, 1, 2)) == 1.0
    assert number(reference, device, "mse", permutation=(0, 3, 1, 2)) == 0.0
    naive = compare(reference, device, ["cosine"])["cosine"]
    assert naive.value is not None
    assert naive.value < 0.6
    assert "(0,3,1,2)" in str(naive.reason)


def test_35_a_gate_sees_what_rounding_would_hide() -> None:
    """An MSE of 0.0042 and a cosine of 0.996, which two decimals make 0.0 and 1.0."""
    reference = RANDOM.standard_normal(4096) * 0.72
    value = reference + RANDOM.standard_normal(4096) * math.sqrt(0.0042)
    assert 0.0039 < number(reference, value, "mse") < 0.0045
    cosine = number(reference, value, "cosine")
    assert 0.9950 < cosine < 0.9970
    made = graph([node("x", "placeholder"), "relu"], chain("x", "relu"))
    with connect(":memory:") as store:
        for name in ("base", "head"):
            rows = [metric("edge:relu", "cosine", cosine)]
            store.commit(run({"edge": made}, name=name, overlays=[overlay("acc", rows)]))
        assert store.sql("SELECT value FROM metrics WHERE run_id = (SELECT max(run_id) FROM runs)").fetchall() == [
            (cosine,)
        ]
        assert store.check("base", "head", ["cosine >= 0.999"]).tripped


def test_58_nan_is_the_worst_and_no_data_is_counted_not_ranked() -> None:
    """In DuckDB NaN is the largest value, so that the worst by order hides the broken node."""
    values = {"conv": 0.2, "gelu": NAN, "relu": None, "add": 0.97, "mul": 0.999, "cat": 1.0}
    assert ranked(values, 3) == (["gelu", "conv", "add"], 1)
    made = graph([node("x", "placeholder"), *values], chain("x", *values))
    rows = [metric(f"edge:{n}", "cosine", v, reason=None if v is not None else "no data") for n, v in values.items()]
    with connect(":memory:") as store:
        for name in ("base", "head"):
            store.commit(run({"edge": made}, name=name, overlays=[overlay("acc", rows)]))
        assert "relu" not in [row[2] for row in store.worst("cosine").fetchall()]
        check = store.check("base", "head", ["cosine >= 0.99"])
        tripped = {row["name"] for row in check.rows() if row["state"] == "tripped"}
    assert tripped >= {"gelu", "conv", "add"}
    assert not tripped & {"mul", "cat"}
