"""What is compared with what, and why the rest is not: codes that leave graphs, weights, steps of decompositions."""

from __future__ import annotations

from typing import Any

import pytest

import fxstore

pytest.importorskip("executorch")


@pytest.fixture(scope="module")
def store(demo_compile: Any) -> Any:
    """Measured without the prepared stage, so that no observer tells what was quantised."""
    with fxstore.connect(":memory:") as store:
        with store.record("mixed", strict=True) as rec:
            for stage in ("float", "quantized", "runtime"):
                rec.stage(stage, demo_compile.sources[stage])
            rec.measure(demo_compile.inputs, stages=["quantized"], metrics=["cosine"], statistics=False)
            rec.device(demo_compile.inputs, reference="float", metrics=["cosine"])
        yield store


def rows(store: Any, overlay: str) -> list[tuple[Any, ...]]:
    return list(
        store.sql(
            "SELECT n.name, n.op_type, n.role, n.path, m.value, m.reason, r.name FROM metrics AS m "
            "JOIN overlays AS o USING (overlay_id) JOIN nodes AS n USING (nid) "
            "LEFT JOIN nodes AS r ON r.nid = m.ref_nid "
            "WHERE o.name = ? AND m.metric = 'cosine' ORDER BY n.path, n.position",
            [overlay],
        ).fetchall()
    )


def test_every_value_has_a_number_or_a_reason_of_its_own(store: Any) -> None:
    for overlay in ("quantized vs float", "runtime vs float"):
        untold = [
            row
            for row in rows(store, overlay)
            if row[4] is None and (row[5] or "no value in").startswith("no value in")
        ]
        assert untold == []


def test_what_a_delegate_returns_dequantised_is_measured_at_its_port_too(store: Any) -> None:
    found = rows(store, "runtime vs float")
    inner = {ref for _, op, _, path, value, _, ref in found if path and op == "dequantize_per_tensor" and value}
    ports = {ref for _, op, _, path, value, _, ref in found if not path and op == "getitem" and value}
    assert ports & inner
    assert min(value for *_, value, _, _ in found if value is not None) > 0.99


def test_a_step_names_its_operator_and_where_that_one_is_measured(store: Any) -> None:
    found = rows(store, "runtime vs float")
    measured = {name for name, _, _, _, value, _, _ in found if value is not None}
    (softmax,) = [reason for _, op, _, _, _, reason, _ in found if op == "_softmax"]
    told, _, where = softmax.partition(", at ")
    assert told == "part of an operator that is measured as a whole: `scaled_dot_product_attention`"
    assert where.strip("`") in measured


def test_weights_name_what_reads_them(store: Any) -> None:
    found = rows(store, "quantized vs float")
    told = [reason for _, op, _, _, _, reason, _ in found if op == "dequantize_per_channel"]
    readers = [reason.removeprefix("computed from weights alone: for ").strip("`") for reason in told]
    assert {op for name, op, *_ in found if name in readers} == {"conv2d", "linear"}
    assert len(set(readers)) == len(told) > 3


def test_coverage_counts_reasons_without_the_names_in_them(store: Any) -> None:
    ((reasons,),) = store.sql(
        "SELECT c.reasons FROM coverage AS c JOIN overlays AS o USING (overlay_id) WHERE o.name = 'quantized vs float'"
    ).fetchall()
    assert reasons["computed from weights alone"] >= 2
    assert not [reason for reason in reasons if "`" in reason]
