"""Measuring real stages: samples, scopes, state, steps, budgets."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


@pytest.fixture
def store() -> Any:
    with fxstore.connect(":memory:") as store:
        yield store


def export(model: Any, *inputs: Any, **options: Any) -> Any:
    return torch.export.export(model.eval(), inputs, **options)


class Cached(nn.Module):
    """A decoder's cache: each step writes its place and reads them all."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))
        self.project = nn.Linear(3, 3)

    def forward(self, x: Any, place: Any) -> Any:
        self.cache.index_copy_(0, place, self.project(x))
        return self.cache.sum(0) * 2


def steps() -> list[tuple[Any, ...]]:
    return [(torch.randn(1, 3), torch.tensor([i])) for i in range(3)]


def values(store: Any, stage: str, metric: str = "max") -> list[float]:
    """The maximum of the stage's result, by sample."""
    query = (
        "SELECT m.value FROM metrics AS m JOIN nodes AS n USING (nid) JOIN overlays AS o USING (overlay_id) "
        "WHERE o.kind = 'statistics' AND n.stage = ? AND m.metric = ? AND n.op_type = 'mul' ORDER BY m.sample"
    )
    return [row[0] for row in store.sql(query, [stage, metric]).fetchall()]


def test_calibration_writes_buffers_and_measuring_begins_with_the_recorded_ones(store: Any) -> None:
    torch.manual_seed(0)
    program = export(model := Cached(), *steps()[0])
    module = program.module()
    with store.record("decoder", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        for step in steps():
            module(*step)
        assert program.state_dict["cache"].any()
        rec.measure([steps()[0]] * 2)
    first, second = values(store, "core")
    assert first == second
    assert first == values(store, "float")[0]
    assert not math.isnan(first)
    assert model is not None


def test_steps_carry_the_cache_and_samples_do_not(store: Any) -> None:
    torch.manual_seed(0)
    given = steps()
    program = export(model := Cached(), *given[0])
    wanted = []
    with torch.no_grad():
        model.cache.zero_()
        wanted = [float(model(*step).max()) for step in given]
        model.cache.zero_()
    with store.record("decoder", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure(given, carry_state=True)
    assert values(store, "float") == values(store, "core") == pytest.approx(wanted)
    assert {row["value"] for row in store.worst("max_abs").arrow().to_pylist()} == {0.0}
    with store.record("samples", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure(given)
    apart = values(store, "float")
    assert apart[0] == pytest.approx(wanted[0])
    assert apart[1] != pytest.approx(wanted[1])


def test_each_prompt_begins_with_the_recorded_cache_and_steps_have_names(store: Any) -> None:
    torch.manual_seed(0)
    given = steps()
    program = export(model := Cached(), *given[0])
    with store.record("prompts", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure({"long": given, "again": given, "lone": given[1]}, carry_state=True)
    found = values(store, "core")
    assert found[:3] == found[3:6], "the second prompt does not see the first one's cache"
    assert found[6] != found[1], "nor does a prompt of one step"
    assert [row[0] for row in store.sql("SELECT DISTINCT name FROM samples ORDER BY sample").fetchall()] == [
        "long step 0", "long step 1", "long step 2", "again step 0", "again step 1", "again step 2", "lone",
    ]  # fmt: skip
    ((sample, name),) = store.sql(
        "SELECT DISTINCT sample, sample_name FROM worst('max_abs', sample := 'again step 1')"
    ).fetchall()
    assert (sample, name) == (4, "again step 1")
    assert model is not None


@pytest.mark.parametrize("wrong", [{}, {"a": torch.ones(1)}, {"a": [(1,)], "b": 3}])
def test_a_dict_that_names_no_inputs_is_refused(store: Any, wrong: Any) -> None:
    rec = store.record("wrong")
    rec.stage("float", export(nn.ReLU(), torch.ones(2)))
    with pytest.raises(fxstore.UsageError, match="a dict of inputs gives each a name") as error:
        rec.measure(wrong)
    assert "first prompt" in (error.value.hint or "")


def test_further_inputs_add_samples_with_their_names(store: Any) -> None:
    program = export(nn.ReLU(), torch.ones(2))
    with store.record("twice", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure({"a": (torch.ones(2),)})
        rec.measure((torch.ones(2),))
        rec.measure({"b": (torch.ones(2),), "c": (torch.ones(2),)})
    query = "SELECT DISTINCT m.sample, s.name FROM metrics AS m LEFT JOIN samples AS s USING (overlay_id, sample) "
    found = store.sql(query + "WHERE m.metric = 'cosine' ORDER BY ALL").fetchall()
    assert found == [(0, "a"), (1, None), (2, "b"), (3, "c")]


def test_local_errors_name_the_coarse_layer_and_cumulative_ones_follow_it(store: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(5)])
    x = torch.randn(16, 32)
    program = export(model, x)
    coarse = copy.deepcopy(program)
    for bits, (name, weight) in zip((8, 8, 3, 8, 8), list(coarse.named_parameters())[::2], strict=True):
        assert name.endswith("weight")
        scale = weight.data.abs().max() / (2 ** (bits - 1) - 1)
        weight.data.copy_(torch.round(weight.data / scale) * scale)
    with store.record("scopes", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("coarse", coarse)
        rec.measure((x,), metrics=["sqnr"], scope="both", statistics=False)
    local = store.worst("sqnr", scope="local").arrow().to_pylist()
    cumulative = store.worst("sqnr").arrow().to_pylist()
    assert local[0]["name"] == "linear_2"
    assert {row["scope"] for row in cumulative} == {"cumulative"}
    assert cumulative[0]["name"] in ("linear_2", "linear_3", "linear_4")
    by_name = [{row["name"]: row["value"] for row in rows} for rows in (local, cumulative)]
    assert by_name[1]["linear_4"] < by_name[0]["linear_4"] - 5
    rows = store.sql("SELECT scope, count(*) FROM metrics WHERE metric = 'sqnr' GROUP BY ALL ORDER BY ALL").fetchall()
    assert [scope for scope, _ in rows] == ["cumulative", "local"]


def test_each_stage_against_the_one_before_tells_which_made_the_error(store: Any) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.l(x) * 0.25) + x.sigmoid()

    torch.manual_seed(0)
    x = torch.randn(8, 16) * 4
    program = export(Scaled(), x)
    exported = program.module()
    passed = copy.deepcopy(exported)
    mul = next(node for node in passed.graph.nodes if node.name == "mul")
    mul.args = (mul.args[0], -4.0)
    passed.recompile()
    with store.record("stages", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("export", exported)
        rec.stage("passes", passed)
        rec.stage("device", copy.deepcopy(passed))
        rec.measure((x,), reference="previous", metrics=["cosine"], statistics=False)
    worst = dict(
        store.sql(
            "SELECT o.name, min(m.value) FROM metrics AS m JOIN overlays AS o USING (overlay_id) GROUP BY 1"
        ).fetchall()
    )
    assert worst["export vs float"] > 0.9999
    assert worst["passes vs export"] < 0.9
    assert worst["device vs passes"] > 0.9999
    (first,) = store.first_bad("cosine", 0.99, overlay="passes vs export").arrow().to_pylist(maps_as_pydicts="strict")
    assert (first["name"], first["counterparts"]["export"]) == ("mul", "mul")
    assert blamed(store) == [("export", "float", False), ("passes", "export", True), ("device", "passes", False)]
    answer = store.stage_errors("cosine", 0.99).arrow().to_pylist(maps_as_pydicts="strict")
    assert [row["output"] > 0.9999 for row in answer] == [True, False, True]
    assert (answer[1]["name"], answer[1]["counterparts"]["export"], answer[1]["output"] < 0.9) == ("mul", "mul", True)
    assert answer[1]["source_line"] is not None
    assert {row["bad"] for row in answer[::2]} == {0}


def blamed(store: Any) -> list[tuple[Any, ...]]:
    query = "SELECT stage, reference, introduced FROM stage_errors('cosine', 0.99)"
    return list(store.sql(query).fetchall())


def test_values_beyond_the_budget_wait_in_files(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fxstore.ingest.measure import reference_cache

    spilled: list[int] = []
    end = reference_cache.Held.__exit__
    monkeypatch.setattr(
        reference_cache.Held, "__exit__", lambda self, *rest: (spilled.append(self.spilled_bytes), end(self, *rest))[1]
    )
    x = torch.randn(64, 64)
    program = export(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid()), x)
    with store.record("budget", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure((x,), budget_bytes=64 * 64 * 4)
    assert spilled == [3 * 64 * 64 * 4]
    assert {row["value"] for row in store.worst("max_abs").arrow().to_pylist()} == {0.0}


def test_a_full_disk_is_a_reason(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fxstore.ingest.measure.reference_cache import Held

    def full(self: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Held, "_path", full)
    x = torch.randn(8, 8)
    program = export(nn.ReLU(), x)
    with store.record("full", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure((x,), budget_bytes=0)
    reasons = {row[0] for row in store.sql("SELECT DISTINCT reason FROM metrics WHERE metric = 'mse'").fetchall()}
    assert reasons == {"over the capture budget, and No space left on device"}


def test_dynamic_shapes_and_control_flow_and_several_outputs(store: Any) -> None:
    class Branching(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.cond(x.sum() > 0, lambda t: t.sin() + 1, lambda t: t.cos(), (x,))
            low, high = torch.split(y, 2, dim=1)
            return low * 2, high

    program = export(Branching(), torch.ones(3, 4), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=16)},))
    with store.record("branching", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        rec.measure([(torch.ones(5, 4),), (-torch.ones(9, 4),)], metrics=["mse"])
    rows = store.sql(
        "SELECT n.path, m.sample, m.value, m.reason FROM metrics AS m JOIN nodes AS n USING (nid) "
        "WHERE m.metric = 'mse' AND n.op LIKE 'call%' AND n.path <> ''"
    ).fetchall()
    got: dict[Any, set[Any]] = {}
    for path, sample, value, _ in rows:
        got.setdefault((path, sample), set()).add(value)
    yes, no = "true_graph_0", "false_graph_0"
    assert got == {(yes, 0): {0.0}, (yes, 1): {None}, (no, 0): {None}, (no, 1): {0.0}}
    assert {reason for *_, value, reason in rows if value is None} == {"not executed"}


def test_a_buffer_that_is_not_saved_is_no_change(store: Any) -> None:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("places", torch.arange(4), persistent=False)

        def forward(self, x: Any) -> Any:
            return x + self.places

    module = export(Positions(), torch.ones(4)).module()
    with store.record("places", strict=True) as rec:
        rec.stage("float", module)
        rec.stage("same", copy.deepcopy(module))
        rec.measure((torch.ones(4),))
    assert {row["value"] for row in store.worst("mse").arrow().to_pylist()} == {0.0}
    with store.record("changed") as rec:
        rec.stage("float", module)
        rec.stage("same", copy.deepcopy(module))
        module.places.add_(1)
        with pytest.raises(fxstore.UsageError, match="places"):
            rec.measure((torch.ones(4),))


def test_unknown_scopes_and_samples_are_usage_errors(store: Any) -> None:
    x = torch.ones(2)
    program = export(nn.ReLU(), x)
    rec = store.record("wrong")
    rec.stage("float", program)
    rec.stage("core", program.run_decompositions({}))
    for wrong in ({"scope": "both ways"}, {"kwargs": [{}, {}]}, {"metrics": "cosine<=1"}):
        with pytest.raises(fxstore.UsageError):
            rec.measure((x,), **wrong)  # type: ignore[arg-type]


class QuantisedLine(nn.Module):
    """As a quantiser leaves it: the result of an operator as codes, and these read again."""

    def __init__(self, quantise: bool) -> None:
        super().__init__()
        self.line, self.quantise = nn.Linear(4, 4), quantise

    def forward(self, x: Any) -> Any:
        y = self.line(x).relu()
        if self.quantise:
            y = torch.ops.quantized_decomposed.quantize_per_tensor(y, 0.01, 0, -128, 127, torch.int8)
            y = torch.ops.quantized_decomposed.dequantize_per_tensor(y, 0.01, 0, -128, 127, torch.int8)
        return y.exp()


def test_a_dequantize_is_measured_against_what_was_quantised(store: Any) -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    x = torch.rand(2, 4)
    plain, quantised = QuantisedLine(False).eval(), QuantisedLine(True).eval()
    quantised.load_state_dict(plain.state_dict())
    with store.record("codes", strict=True) as rec:
        rec.stage("float", torch.export.export(plain, (x,)))
        rec.stage("quantized", torch.export.export(quantised, (x,)))
        rec.measure((x,), metrics=["max_abs"])
    found = store.sql(
        "SELECT m.value, r.name FROM metrics AS m JOIN nodes AS n USING (nid) JOIN nodes AS r ON r.nid = m.ref_nid "
        "WHERE n.op_type = 'dequantize_per_tensor' AND m.metric = 'max_abs'"
    ).fetchall()
    ((error, reference),) = found
    assert reference == "relu"
    assert 0 < error <= 0.0051
