"""Values of every kind that a graph can give: a number is what NumPy computes apart, the rest has its reason."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


def measured(reference: Any, other: Any, inputs: Any, **options: Any) -> dict[str, tuple[Any, str | None]]:
    """Returns value and reason of each node of the second stage, nested ones as ``path/name``."""
    with fxstore.connect(":memory:") as store:
        with store.record("odd", strict=True) as rec:
            rec.stage("float", reference)
            rec.stage("other", other)
            rec.measure(inputs, metrics=["mse"], statistics=options.pop("statistics", True), **options)
        rows = store.sql(
            "SELECT n.path, n.name, m.port, m.value, m.reason FROM metrics AS m JOIN nodes AS n USING (nid) "
            "JOIN overlays AS o USING (overlay_id) WHERE o.kind = 'accuracy' AND m.metric = 'mse' "
            "ORDER BY m.scope, m.sample, m.port DESC"
        ).fetchall()
    return {f"{path}/{name}" if path else name: (value, reason) for path, name, _, value, reason in rows}


def export(model: nn.Module, *inputs: Any, **options: Any) -> Any:
    return torch.export.export(model.eval(), inputs, **options)


def as_numpy(tensor: Any) -> Any:
    return tensor.double().numpy() if tensor.is_floating_point() else tensor.numpy().astype(np.float64)


class Scaled(nn.Module):
    """Multiplies by a buffer, which a copy may have otherwise."""

    def __init__(self, factor: Any, kind: Any) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(factor).to(kind))

    def forward(self, x: Any) -> Any:
        return x * self.factor


@pytest.mark.parametrize(
    "kind", ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "bool"]
)
def test_every_dtype_has_the_number_that_numpy_computes(kind: str) -> None:
    dtype = getattr(torch, kind)
    x = (torch.arange(24).reshape(2, 3, 4) % 2 if kind == "bool" else torch.arange(24).reshape(2, 3, 4)).to(dtype)
    right, wrong = Scaled(1, dtype), Scaled(0 if kind == "bool" else 3, dtype)
    want = np.mean((as_numpy(wrong(x)) - as_numpy(right(x))) ** 2)
    assert measured(export(right, x), export(wrong, x), (x,))["mul"] == (want, "zero value" if kind == "bool" else None)


def test_complex_values_count_by_their_magnitude() -> None:
    class Turned(nn.Module):
        def __init__(self, angle: float) -> None:
            super().__init__()
            self.angle = angle

        def forward(self, x: Any) -> Any:
            return torch.view_as_real(torch.polar(x, x * self.angle) * 1.0)

    x = torch.rand(3, 4)
    found = measured(export(Turned(0.0), x), export(Turned(0.5), x), (x,))
    r, v = (torch.polar(x, x * angle).numpy().astype(np.complex128) for angle in (0.0, 0.5))
    assert found["polar"][0] == pytest.approx(np.mean(np.abs(v - r) ** 2), rel=1e-12)
    assert found["view_as_real"][0] == pytest.approx(np.mean(np.abs(v - r) ** 2) / 2, rel=1e-6)


def test_empty_tensors_scalars_and_what_they_are_reduced_to() -> None:
    class Empty(nn.Module):
        def forward(self, x: Any) -> Any:
            none = x[:, :0]
            return none.sum(), none.mean(), none * 2, x.sum() * 2, none.sum(1)

    x = torch.ones(2, 3)
    program = export(Empty(), x)
    found = measured(program, program.run_decompositions({}), (x,))
    by_op = {name.partition("_")[0] if name != "mul_1" else name: found[name] for name in found}
    assert found["mul"] == (None, "empty tensor of shape (2,0)")
    assert found["mul_1"] == (0.0, "identical")
    assert found["sum_1"] == (0.0, "identical")
    assert np.isnan(found["mean"][0])
    assert found["mean"][1] == "1 of 1 values not finite; 1 of 1 reference values not finite"
    assert by_op


def test_infinities_and_nan_are_told_apart() -> None:
    class Log(nn.Module):
        def __init__(self, shift: float) -> None:
            super().__init__()
            self.shift = shift

        def forward(self, x: Any) -> Any:
            return torch.log(x + self.shift)

    x = torch.tensor([0.0, 1.0, 2.0])
    same = measured(export(Log(0.0), x), export(Log(0.0), x), (x,))["log"]
    assert same == (0.0, "identical; 1 equal infinities left out")
    value, reason = measured(export(Log(0.5), x), export(Log(0.0), x), (x,))["log"]
    assert (value, reason) == (np.inf, "1 of 3 values not finite")
    value, reason = measured(export(Log(0.0), x), export(Log(-0.5), x), (x,))["log"]
    assert np.isnan(value)


def test_symbolic_sizes_and_numbers_are_compared_as_numbers() -> None:
    class Sized(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.reshape(x.shape[0] * x.shape[1]), x.shape[0] * 2

    x = torch.ones(3, 4)
    program = export(Sized(), x, dynamic_shapes=({0: torch.export.Dim("n", min=2, max=9)},))
    found = measured(program, copy.deepcopy(program), (torch.ones(5, 4),))
    sizes = [told for name, told in found.items() if "sym_size" in name or name.startswith("mul")]
    assert sizes
    assert set(sizes) == {(0.0, "identical")}
    assert {reason for value, reason in found.values() if value is None} <= {"gives no tensor"}


def test_an_operator_without_a_result_says_so() -> None:
    class Checked(nn.Module):
        def forward(self, x: Any) -> Any:
            torch._check(x.sum().item() > 0)
            return x * 2

    x = torch.ones(3)
    program = export(Checked(), x)
    found = measured(program, copy.deepcopy(program), (x,))
    checks = {reason for name, (_, reason) in found.items() if "assert" in name}
    assert checks <= {"gives no tensor"}
    assert found["item"] == (0.0, "identical")


def test_keyword_inputs_and_nested_outputs() -> None:
    class Named(nn.Module):
        def forward(self, x: Any, *, scale: Any, more: Any) -> Any:
            return {"low": x * scale, "pair": (x + more["a"], [more["b"] - x])}

    x = torch.ones(2, 3)
    given = {"scale": torch.tensor(2.0), "more": {"a": torch.ones(3), "b": torch.zeros(2, 1)}}
    program = torch.export.export(Named().eval(), (x,), given)
    given = {"more": {"b": torch.full((2, 1), 7.0), "a": torch.ones(3)}, "scale": torch.tensor(3.0)}
    found = measured(program, program.run_decompositions({}), (x,), kwargs=given)
    assert {found[name] for name in ("mul", "add", "sub")} == {(0.0, "identical")}


def test_in_place_operators_show_the_value_before_and_after() -> None:
    class Writing(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 1.0
            row = y[0]
            row.add_(1.0)
            return y * 2

    x = torch.ones(2, 3)
    right = export(Writing(), x).module()
    wrong = copy.deepcopy(right)
    next(node for node in wrong.graph.nodes if node.name == "add_").update_arg(1, 3.0)
    found = measured(right, wrong, (x,))
    assert found["mul"] == (0.0, "identical")
    assert found["add_"] == (4.0, None)
    assert found["mul_1"] == (np.mean([16.0, 16.0, 16.0, 0.0, 0.0, 0.0]), None)
    local = measured(right, wrong, (x,), scope="local")
    assert local["add_"] == (4.0, None)
    assert local["mul_1"] == (0.0, "identical")


def test_loops_have_a_reason_and_branches_only_what_ran() -> None:
    from torch._higher_order_ops.map import map as each

    class Mapped(nn.Module):
        def forward(self, xs: Any) -> Any:
            ys = each(lambda x: x.sin() + 1, xs)
            return torch.cond(ys.sum() > 0, lambda t: t * 2, lambda t: t - 1, (ys,))

    xs = torch.ones(3, 2)
    program = export(Mapped(), xs)
    found = measured(program, program.run_decompositions({}), (xs,))
    inner = {name: told for name, told in found.items() if "/" in name}
    assert {told for name, told in inner.items() if name.endswith("sin")} == {(None, "executed 3 times")}
    assert {told for name, told in inner.items() if name.endswith("true_graph_0/mul")} == {(0.0, "identical")}
    assert {told for name, told in inner.items() if name.endswith("false_graph_0/sub")} == {(None, "not executed")}


def test_large_integers_differ_by_exactly_what_they_differ_by() -> None:
    class Counted(nn.Module):
        def __init__(self, more: int) -> None:
            super().__init__()
            self.more = more

        def forward(self, x: Any) -> Any:
            return x + self.more

    x = torch.tensor([2**62, 2**53, -(2**63)])
    found = measured(export(Counted(0), x), export(Counted(1), x), (x,))
    assert found["add"] == (1.0, None)
    x = torch.tensor([2**63 - 1])
    assert measured(export(Counted(0), x), export(Counted(1), x), (x,))["add"][0] == float(2**64 - 1) ** 2


def test_a_dtype_without_elements_in_numpy_costs_only_itself() -> None:
    class Packed(nn.Module):
        def forward(self, x: Any) -> Any:
            packed = x.to(torch.uint8).view(torch.uint4)
            return packed.view(torch.uint8) * 2, x + 1

    x = torch.ones(4)
    program = export(Packed(), x)
    found = measured(program, copy.deepcopy(program), (x,))
    assert found["add"] == (0.0, "identical")
    assert (None, "no tensor data (uint4)") in found.values()


def test_buffers_that_a_run_writes_start_over_in_each_scope() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count.add_(1)
            return x + self.count

    x = torch.ones(2)
    program = export(Counting(), x)
    found = measured(program, program.run_decompositions({}), [(x,), (x,)], scope="both", carry_state=True)
    assert {value for value, reason in found.values() if reason != "constant" and value is not None} == {0.0}
    assert not program.state_dict["count"].any()


def test_a_copied_program_may_call_its_inputs_otherwise() -> None:
    class Named(nn.Module):
        def forward(self, input: Any, input_1: Any, map: Any) -> Any:
            return input * 2 + input_1 * map

    given = tuple(torch.full((2,), float(i)) for i in range(3))
    program = export(Named(), *given)
    twin = copy.deepcopy(program)
    names = [node.name for node in twin.graph.nodes if node.op == "placeholder"]
    assert names != ["input", "input_1", "map"]
    assert set(measured(program, twin, given).values()) == {(0.0, "identical")}


def test_what_calls_a_nested_graph_is_measured_and_the_graph_itself_is_no_value() -> None:
    class Branching(nn.Module):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda t: t * self.factor, lambda t: t - 1, (x,))

    x = torch.ones(3)
    found = measured(export(Branching(2.0), x), export(Branching(3.0), x), (x,))
    assert found["cond"] == (1.0, None)
    assert "true_graph_0" not in found
    assert not [name for name, (_, reason) in found.items() if reason == "not executed" and "/" not in name]


@pytest.mark.filterwarnings("ignore")
def test_weights_that_wrap_others_are_weights() -> None:
    quantization = pytest.importorskip("torchao.quantization")
    state = pytest.importorskip("fxstore.ingest.export.snapshot")
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(32, 8), nn.ReLU()).eval(), torch.randn(3, 32)
    coarse = copy.deepcopy(model)
    given = quantization.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=quantization.PerGroup(32))
    quantization.quantize_(coarse, given)
    with torch.no_grad():
        program = export(coarse, x)
        want = np.mean((as_numpy(coarse(x)) - as_numpy(model(x))) ** 2)
    found = measured(export(model, x), program, (x,))
    assert found["relu"][0] == pytest.approx(want, rel=1e-6)
    assert found["dequantize_affine"] == (None, "computed from weights alone: for `linear`")
    before = state.digest(program)
    assert {"0.weight.qdata", "0.weight.scale", "0.bias"} <= before.keys()
    program.state_dict["0.weight"].scale.mul_(2)
    assert {name for name, one in state.digest(program).items() if one != before[name]} == {"0.weight.scale"}


def test_what_cannot_be_kept_to_be_measured_is_recorded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from fxstore.ingest import adapters

    def broken(source: Any) -> Any:
        raise NotImplementedError("no bytes")

    x = torch.ones(2)
    monkeypatch.setattr(adapters, "state_of", broken)
    with fxstore.connect(":memory:") as store:
        with store.record("odd") as rec:
            rec.stage("float", export(Scaled(2.0, torch.float32), x))
        assert rec.run.status == "partial"
        assert store.sql("SELECT count(*) FROM nodes").fetchall()[0][0] > 2
    sparse = nn.Module()
    sparse.register_buffer("few", torch.eye(3).to_sparse())
    assert pytest.importorskip("fxstore.ingest.export.snapshot").digest(sparse) == {}
