"""Values inside delegates: each is lowered again with added outputs, and what is not to be had says why."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
from torch import nn  # noqa: E402

from fxstore.ingest.demo.pipeline import compile_network  # noqa: E402
from fxstore.ingest.measure import added_outputs  # noqa: E402

ADDED = added_outputs.ADDED


class Net(nn.Module):
    """A folded batch-norm, a fused activation, an output in the middle, a kernel between two delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 4)
        self.norm.running_mean.normal_()

    def forward(self, x: Any) -> Any:
        middle = self.norm(self.conv(x)).relu()
        return middle, self.last(torch.cumsum(middle.mean((2, 3)), 0)).sigmoid() * 2


def rows(store: fxstore.Store) -> list[dict[str, Any]]:
    return store.sql(
        "SELECT n.name, n.path, n.op_type, n.role, m.value, m.reason FROM metrics AS m JOIN nodes AS n USING (nid) "
        "JOIN overlays AS o USING (overlay_id) WHERE o.name LIKE 'runtime vs %' AND m.metric = 'max_abs'"
    ).arrow().to_pylist()  # fmt: skip


def compiled(quantise: bool) -> tuple[dict[str, Any], tuple[Any, ...]]:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 6, 6),)
    live: dict[str, Any] = {}

    def keep(stage: str, source: Any) -> None:
        live[stage] = copy.deepcopy(source.exported_program()) if stage == "lowered" else source

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile_network(Net().eval(), inputs, keep, quantise=quantise)
    return live, inputs


@pytest.fixture(scope="module")
def floats() -> Any:
    return compiled(quantise=False)


@pytest.fixture(scope="module")
def codes() -> Any:
    return compiled(quantise=True)


def recorded(store: fxstore.Store, live: dict[str, Any], inputs: Any, **options: Any) -> list[dict[str, Any]]:
    with store.record("inside", strict=True) as rec:
        rec.stage("lowered", live["lowered"])
        rec.stage("runtime", live["runtime"])
        rec.device(inputs, reference="lowered", metrics=["max_abs"], **options)
    return rows(store)


@pytest.mark.parametrize("form", ["floats", "codes"])
def test_inner_values_equal_the_same_delegate_run_eagerly(form: str, request: pytest.FixtureRequest) -> None:
    live, inputs = request.getfixturevalue(form)
    with fxstore.connect(":memory:") as store:
        found = recorded(store, live, inputs)
        (source,) = store.sql("SELECT source FROM overlays WHERE name = 'runtime vs lowered'").fetchall()[0]
    assert source.endswith("added outputs")
    inside = [row for row in found if row["path"] and row["role"] == "op"]
    added = [row for row in inside if row["value"] is not None and ADDED in (row["reason"] or "")]
    assert len(added) >= 3
    assert all(row["value"] < (1e-5 if form == "floats" else 0.05) for row in inside if row["value"] is not None)
    reasons = Counter(row["reason"] for row in inside if row["value"] is None)
    assert "inside a delegate: measured at its outputs" not in reasons
    assert all(row["reason"] for row in inside if row["value"] is None)


def test_a_folded_convolution_has_no_value_of_its_own(floats: Any) -> None:
    with fxstore.connect(":memory:") as store:
        found = recorded(store, *floats)
    (conv,) = [row for row in found if row["path"] and row["op_type"] == "convolution"]
    assert (conv["value"], conv["reason"]) == (None, "folded into its batch-norm: measured there")


def test_without_added_outputs_ports_have_their_inner_nodes_numbers(floats: Any) -> None:
    with fxstore.connect(":memory:") as store:
        found = recorded(store, *floats, inside=False)
    assert not any(ADDED in (row["reason"] or "") for row in found)
    ports = [row for row in found if row["path"] and row["value"] is not None]
    assert ports
    assert any(row["reason"] == "inside a delegate: measured at its outputs" for row in found)


def test_what_a_backend_does_not_give_costs_no_other_value(floats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = "aten_sigmoid_default"
    lowered = added_outputs._lowered

    def refusing(job: Any) -> Any:
        return "no such output" if refused in job.names else lowered(job)

    monkeypatch.setattr(added_outputs, "_lowered", refusing)
    with fxstore.connect(":memory:") as store:
        found = recorded(store, *floats)
    reasons = {row["name"]: row["reason"] for row in found if row["path"] and row["value"] is None}
    assert reasons[refused] == "XnnpackBackend does not give it: no such output"
    assert any(ADDED in (row["reason"] or "") for row in found)


def test_a_delegate_that_gives_something_else_is_not_believed(floats: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = added_outputs.run_delegates

    def spoilt(programs: Any) -> Any:
        return [[[one * 3 for one in outputs] for outputs in ran] for ran in run(programs)]

    monkeypatch.setattr(added_outputs, "run_delegates", spoilt)
    with fxstore.connect(":memory:") as store:
        found = recorded(store, *floats)
    assert not any(ADDED in (row["reason"] or "") for row in found)
    assert any("the delegate gives something else" in (row["reason"] or "") for row in found)
