"""Rows of metrics from two runs: the right number on every pair, and a reason where there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fxstore import tables
from fxstore.ingest.measure.comparison import ROWS, Comparison, Pair
from fxstore.metrics import DEFAULT, QParams

Rows = dict[tuple[int, str], dict[str, Any]]


def pairs(*names: str) -> list[Pair[str]]:
    """Pairs of equal name; node i is at ordinal 100 + i, its reference at i."""
    return [Pair(name, name, i, 100 + i, 0) for i, name in enumerate(names)]


def measured(comparison: Comparison[str], values: dict[str, Any], missing: dict[str, str] | None = None) -> Rows:
    for key, value in values.items():
        comparison.take(key, value)
    table = comparison.rows(missing)
    assert table.schema == ROWS
    return {(row["ordinal"], row["metric"]): row for row in table.to_pylist()}


def test_rows_fit_the_store() -> None:
    assert [f for f in tables.METRICS if f.name != "overlay"] == list(ROWS)
    row = measured(Comparison(pairs("a"), {"a": np.ones(2)}, sample=3), {"a": np.zeros(2)})[100, "mse"]
    assert row == {
        "ordinal": 100, "port": 0, "metric": "mse", "value": 1.0, "text": None, "status": "ok", "reason": "zero value",
        "scope": "cumulative", "ref": 0, "sample": 3, "unit": "value²", "better": "lower", "threshold": None,
        "verdict": None,
    }  # fmt: skip


def test_one_incomparable_pair_leaves_the_others_their_numbers() -> None:
    reference = {"a": np.ones((2, 4, 8)), "b": np.ones(3), "c": np.ones(2), "d": np.ones(2)}
    values = {"a": np.ones((2, 4, 4)), "b": np.ones(3)}
    rows = measured(Comparison(pairs(*"abcde"), reference), values, {"c": "c failed: no kernel"})
    assert len(rows) == 5 * len(DEFAULT)
    got = {i: rows[100 + i, "mse"] for i in range(5)}
    assert [got[i]["status"] for i in range(5)] == [
        "not_measured",
        "ok",
        "not_measured",
        "not_measured",
        "not_measured",
    ]
    assert [got[i]["reason"] for i in range(5)] == [
        "shape (2,4,8) vs (2,4,4)", "identical", "c failed: no kernel", "not executed", "not executed",
    ]  # fmt: skip
    assert [got[i]["value"] for i in range(5)] == [None, 0.0, None, None, None]


def test_nan_is_a_number_and_missing_is_none() -> None:
    reference = dict.fromkeys("abc", np.zeros(4))
    rows = measured(Comparison(pairs(*"abc"), reference), {"a": np.full(4, np.nan), "b": np.zeros(4)})
    broken, same, absent = (rows[100 + i, "cosine"] for i in range(3))
    assert math.isnan(broken["value"])
    assert broken["status"] == "non_finite"
    assert (same["value"], same["status"]) == (1.0, "ok")
    assert absent["value"] is None
    infinite = rows[101, "sqnr"]
    assert (infinite["value"], infinite["status"], infinite["reason"]) == (math.inf, "non_finite", "identical")


def test_without_a_reference_there_is_a_reason() -> None:
    given = [
        Pair(None, "a", None, 1, 0),
        Pair("r", "b", 0, 2, 0),
        Pair("s", "c", 0, 3, 0),
        Pair("t", "d", 0, 4, 0, "constant"),
    ]
    comparison: Comparison[str] = Comparison(given, {"t": np.ones(1)}, reference_missing={"r": "r failed"})
    rows = measured(comparison, dict.fromkeys("abcd", np.ones(1)))
    assert [rows[i, "mse"]["reason"] for i in (1, 2, 3, 4)] == [
        "no reference value", "r failed", "no reference value", "constant",
    ]  # fmt: skip


def test_codes_are_dequantised_with_their_own_parameters() -> None:
    real = np.array([0.5, 1.0, -1.5])
    codes = np.array([11, 12, 7], np.int8)
    plain = measured(Comparison(pairs("a"), {"a": real}), {"a": codes})[100, "mse"]
    assert plain["reason"] == "dtype int8 vs float64, no scale"
    exact = measured(Comparison(pairs("a"), {"a": real}, qparams={"a": QParams(0.5, 10)}), {"a": codes})[100, "mse"]
    assert exact["value"] == 0.0
    both: Comparison[str] = Comparison(
        pairs("a"), {"a": codes}, qparams={"a": QParams(0.5, 10)}, reference_qparams={"a": QParams(1.0, 10)}
    )
    assert measured(both, {"a": codes})[100, "max_abs"]["value"] == 1.5


def test_a_value_may_be_in_several_pairs_and_only_pairs_are_wanted() -> None:
    given = [Pair("a", "v", 0, 1, 0), Pair("b", "v", 1, 1, 1)]
    comparison = Comparison(given, {"a": np.ones(2), "b": np.zeros(2)}, ["mse"])
    assert comparison.wants("v")
    assert not comparison.wants("a")
    comparison.take("other", np.ones(2))
    comparison.take("v", np.ones(2))
    assert [row["value"] for row in comparison.rows().to_pylist()] == [0.0, 1.0]


def test_a_reason_given_after_the_run_takes_the_number_back() -> None:
    rows = measured(Comparison(pairs("a"), {"a": np.ones(2)}), {"a": np.ones(2)}, {"a": "executed 2 times"})
    assert rows[100, "mse"]["value"] is None
    assert rows[100, "mse"]["reason"] == "executed 2 times"


def test_a_value_that_is_its_reference_says_so_and_any_difference_does_not() -> None:
    """What is known of the reference holds for it, too."""
    reference = {"a": np.array([0.0, 1.0, np.inf], np.float32), "b": np.array([1, 2], np.int8)}
    given = [Pair("a", "a", 0, 1, 0), Pair("b", "b", 2, 3, 0)]
    plain: Comparison[str] = Comparison(given, reference)
    assert plain.take("a", reference["a"].copy()) == "a"
    assert plain.take("b", reference["b"].copy()) == "b"
    assert plain.take("c", reference["a"]) is None
    assert plain.take("a", reference["a"].astype(np.float64)) is None
    assert plain.take("a", np.array([-0.0, 1.0, np.inf], np.float32)) is None
    assert plain.take("a", np.array([0.0, 1.0, 2.0], np.float32)) is None
    assert plain.take("a", np.array([0.0, np.nan, np.inf], np.float32)) is None
    assert plain.take("a", reference["a"].reshape(1, 3)) is None
    codes: Comparison[str] = Comparison(given, reference, qparams={"b": QParams(0.5)})
    assert codes.take("b", reference["b"].copy()) is None
    alone: Comparison[str] = Comparison([Pair(None, "a", None, 1, 0)], reference)
    assert alone.take("a", reference["a"]) is None


class TestLive:
    """Faults put into live graphs are found where they are."""

    torch = pytest.importorskip("torch")

    def cosines(self, reference: Any, faulty: Any, x: Any, metric: str = "cosine") -> dict[str, float]:
        from fxstore.ingest.measure.values import capture_values, stream_values

        kept = capture_values(reference, (x,))
        keys = [
            key for key in kept.values if key[1] in {n.name for n in reference.graph.nodes if n.op == "call_function"}
        ]
        comparison = Comparison([Pair(key, key, i, i, key[2]) for i, key in enumerate(keys)], kept.values, [metric])
        missing = stream_values(
            faulty, (x,), None, lambda key, copy, size: comparison.take(key, copy()), comparison.wants
        )
        return {key[1]: row["value"] for key, row in zip(keys, comparison.rows(missing).to_pylist(), strict=True)}

    def model(self) -> tuple[Any, Any]:
        torch = self.torch

        class Tower(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.c, self.g = torch.nn.Conv2d(3, 8, 3), torch.nn.GroupNorm(2, 8)

            def forward(self, x: Any) -> Any:
                y = self.g(self.c(x))
                return torch.relu(y) * 0.25, y - y.mean((0, 1), keepdim=True), torch.sin(x)

        torch.manual_seed(0)
        x = torch.randn(2, 3, 8, 8)
        return torch.export.export(Tower().eval(), (x,)), x

    def test_equal_graphs_are_exactly_equal(self) -> None:
        program, x = self.model()
        assert set(self.cosines(program.module(), program.module(), x).values()) == {1.0}
        assert set(self.cosines(program.module(), program.module(), x, "mse").values()) == {0.0}

    def test_a_wrong_node_is_bad_while_its_inputs_are_good(self) -> None:
        program, x = self.model()
        good, faulty = program.module(), program.module()
        node = next(n for n in faulty.graph.nodes if n.name == "group_norm")
        with faulty.graph.inserting_after(node):
            wrong = faulty.graph.call_function(self.torch.add, (node, 0.45))
        node.replace_all_uses_with(wrong, delete_user_cb=lambda user: user is not wrong)
        node.name, wrong.name = "group_norm_inner", "group_norm"
        faulty.recompile()
        cosine = self.cosines(good, faulty, x)
        bad = {
            name for name, value in cosine.items()
            if value < 0.99 and all(cosine.get(a.name, 1.0) >= 0.99 for a in _node(good, name).all_input_nodes)
        }  # fmt: skip
        assert bad == {"group_norm"}
        assert min(cosine, key=lambda name: cosine[name]) == "mean"
        assert cosine["conv2d"] == cosine["sin"] == 1.0
        assert cosine["sub"] > 0.9999

    def test_the_stage_that_made_the_error_is_the_one_that_differs_from_the_stage_before(self) -> None:
        program, x = self.model()
        exported, broken = program.module(), program.module()
        node = _node(broken, "mul")
        node.args = (node.args[0], -4.0)
        broken.recompile()
        adjacent = [self.cosines(a, b, x) for a, b in ((exported, exported), (exported, broken), (broken, broken))]
        assert [min(cosines.values()) for cosines in adjacent] == [1.0, pytest.approx(-1.0), 1.0]
        assert [name for name, value in adjacent[1].items() if value < 0.99] == ["mul"]


def _node(module: Any, name: str) -> Any:
    return next(n for n in module.graph.nodes if n.name == name)
