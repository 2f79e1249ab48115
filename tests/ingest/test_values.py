"""Capturing what the nodes of live graphs give."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import fx, nn  # noqa: E402

from fxstore.errors import SourceError, UsageError  # noqa: E402
from fxstore.ingest.measure.values import capture_values, stream_values, to_array  # noqa: E402
from fxstore.metrics import compare  # noqa: E402


def export(model: Any, *args: Any, **kwargs: Any) -> Any:
    return torch.export.export(model.eval(), args, kwargs or None)


class Stateful(nn.Module):
    """Parameters, a buffer that changes, a constant, an operator with two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(1))
        self.k = torch.tensor([1.0, 2.0])

    def forward(self, x: Any) -> Any:
        self.seen.add_(1)
        low, high = torch.aminmax(self.l(x), dim=1)
        return low * self.k + self.seen, high


def test_a_program_is_run_on_its_own_state_and_names() -> None:
    model, x = Stateful(), torch.randn(2, 4)
    program = export(model, x)
    got = capture_values(program, (x,))
    assert {key[1] for key in got.values} == {n.name for n in program.graph.nodes if n.op != "output"}
    assert set(got.missing.values()) <= {"gives no tensor"}
    assert np.array_equal(got.values["", "p_l_weight", 0], model.l.weight.detach())
    with torch.no_grad():
        linear = model.l(x)
    assert np.allclose(got.values["", "linear", 0], linear)
    assert np.array_equal(got.values["", "aminmax", 0], got.values["", "getitem", 0])
    assert np.array_equal(got.values["", "aminmax", 1], got.values["", "getitem_1", 0])


def test_runs_do_not_change_the_state() -> None:
    program = export(Stateful(), x := torch.randn(2, 4))
    first, second = capture_values(program, (x,)), capture_values(program, (x,))
    assert float(program.state_dict["seen"]) == 0.0
    assert all(np.array_equal(first.values[key], second.values[key]) for key in first.values)
    module = program.module()
    capture_values(module, (x,))
    assert float(module.seen) == 0.0
    assert module.seen is module._buffers["seen"]


def test_inputs_and_the_random_generator_do_not_change() -> None:
    class Noisy(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.add_(1) + torch.rand_like(x)

    module = fx.symbolic_trace(Noisy())
    x, state = torch.zeros(3), torch.get_rng_state()
    one, two = capture_values(module, (x,)), capture_values(module, (x,))
    assert torch.equal(x, torch.zeros(3))
    assert torch.equal(state, torch.get_rng_state())
    assert np.array_equal(one.values["", "rand_like", 0], two.values["", "rand_like", 0])


def test_values_are_as_they_were_when_given() -> None:
    class InPlace(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + 1
            y.mul_(10)
            return y

    got = capture_values(fx.symbolic_trace(InPlace()), (torch.zeros(2),)).values
    assert got["", "x", 0].tolist() == [0, 0]
    assert got["", "add", 0].tolist() == [1, 1]
    assert got["", "mul_", 0].tolist() == [10, 10]


def test_keyword_inputs_go_where_they_belong() -> None:
    class Named(nn.Module):
        def forward(self, x: Any, *, scale: Any, shift: Any) -> Any:
            return x * scale + shift

    x, scale, shift = torch.ones(2), torch.tensor(3.0), torch.tensor(5.0)
    program = export(Named(), x, scale=scale, shift=shift)
    for source in (program, program.module(), fx.symbolic_trace(Named())):
        got = capture_values(source, (x,), {"shift": shift, "scale": scale})
        assert got.values["", "mul", 0].tolist() == [3, 3]
        assert got.values["", "add", 0].tolist() == [8, 8]
    with pytest.raises(UsageError, match="keyword"):
        capture_values(program, (x,), {"scale": scale})
    with pytest.raises(UsageError, match="no input 'size'"):
        capture_values(fx.symbolic_trace(Named()), (x,), {"size": scale})
    with pytest.raises(UsageError, match="inputs are given"):
        capture_values(program, (x, x), {"shift": shift, "scale": scale})


def test_nested_inputs_and_outputs() -> None:
    class Tree(nn.Module):
        def forward(self, pair: Any, more: Any) -> Any:
            return {"sum": pair[0] + pair[1], "more": more["a"] * 2}

    args = ((torch.ones(1), torch.ones(1)), {"a": torch.ones(1)})
    program = export(Tree(), *args)
    assert capture_values(program, args).values["", "mul", 0].tolist() == [2.0]
    assert capture_values(program.module(), args).values["", "add", 0].tolist() == [2.0]


def test_branches_are_captured_inside_and_loops_have_no_single_value() -> None:
    class Flow(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))

    x = torch.ones(2)
    program = export(Flow(), x)
    got = capture_values(program, (x,))
    inside = {key[1]: value for key, value in got.values.items() if key[0] == "true_graph_0"}
    assert np.allclose(inside["sin"], np.sin(1.0))
    assert np.allclose(inside["add"], np.sin(1.0) + 1)
    assert not [key for key in got.values if key[0] == "false_graph_0"]

    from functorch.experimental.control_flow import map as loop

    class Loop(nn.Module):
        def forward(self, xs: Any) -> Any:
            return loop(lambda x: x.relu(), xs)

    got = capture_values(export(Loop(), torch.randn(3, 2)), (torch.randn(3, 2),))
    body = {key: reason for key, reason in got.missing.items() if key[0]}
    assert body
    assert set(body.values()) == {"executed 3 times"}
    assert not [key for key in got.values if key[0]]


def test_a_failing_node_takes_only_its_descendants_with_it() -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("no kernel\nand a long story")

    graph = fx.Graph()
    x = graph.placeholder("x")
    bad = graph.call_function(broken, (x,))
    graph.output((graph.call_function(torch.neg, (bad,)), graph.call_function(torch.sin, (x,))))
    got = capture_values(fx.GraphModule(nn.Module(), graph), (torch.ones(1),))
    assert set(got.values) == {("", "x", 0), ("", "sin", 0)}
    assert got.missing == dict.fromkeys((("", "broken", 0), ("", "neg", 0)), "broken failed: RuntimeError: no kernel")


def test_what_is_not_asked_for_or_over_the_budget_is_not_kept() -> None:
    program = export(Stateful(), x := torch.randn(2, 4))
    assert set(capture_values(program, (x,), keep=lambda key: key[1] == "linear").values) == {("", "linear", 0)}
    got = capture_values(program, (x,), keep=lambda key: key[1] in ("p_l_weight", "linear"), budget_bytes=70)
    assert set(got.values) == {("", "p_l_weight", 0)}
    assert got.missing == {("", "linear", 0): "over the capture budget"}


def test_streaming_hands_over_each_value_while_it_runs() -> None:
    seen: list[tuple[str, int]] = []
    program = export(Stateful(), x := torch.randn(2, 4))
    missing = stream_values(program, (x,), None, lambda key, copy, size: seen.append((key[1], size)))
    assert not missing
    assert ("linear", 32) in seen
    assert dict(seen).keys() == {key[1] for key in capture_values(program, (x,)).values}


def test_an_input_is_gone_once_nothing_needs_it() -> None:
    """Of a large input there is one copy less while the rest runs."""
    from fxstore.ingest.measure.interpreter import Recorder, run_module

    class Chain(nn.Module):
        def forward(self, x: Any) -> Any:
            return ((x + 1) * 2).sin()

    alive: dict[str, bool] = {}
    inputs = [torch.ones(3)]
    held = weakref.ref(inputs[0])
    recorder = Recorder(lambda key, give, size: alive.update({key[1]: held() is not None}))
    run_module(recorder, fx.symbolic_trace(Chain()), inputs)
    assert not inputs
    assert alive == {"x": True, "add": True, "mul": False, "sin": False}


def test_a_value_that_is_not_copied_is_in_c_order() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert np.shares_memory(to_array(x, copy=False), x.numpy())
    assert not np.shares_memory(to_array(x), x.numpy())
    for turned in (x.t(), x[:1].expand(4, 3), x.to(torch.complex64).conj(), torch.ones(2, dtype=torch.bfloat16)):
        array = to_array(turned, copy=False)
        assert array.flags.c_contiguous
        assert array.tolist() == turned.tolist()


def test_dtypes_are_widened_where_numpy_has_none() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn):
        assert to_array(torch.ones(2).to(dtype)).dtype == np.float32
    assert to_array(torch.ones(2, dtype=torch.int8)).dtype == np.int8
    assert to_array(torch.ones(2, 3).t()).flags["C_CONTIGUOUS"]
    with pytest.warns(UserWarning, match="deprecated"):
        codes = torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8)
    assert to_array(codes).tolist() == [1.0, 1.0]


def test_other_sources_are_refused() -> None:
    with pytest.raises(SourceError, match="cannot run a Linear"):
        capture_values(nn.Linear(1, 1), ())


@pytest.fixture(scope="module")
def stages() -> dict[str, Any]:
    """A quantised network at every point of its way."""
    pytest.importorskip("executorch.exir")
    from tests.ingest.lowering import lower, quantised

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4)).eval()
    x = (torch.randn(4, 8),)
    program = torch.export.export(model, x)
    prepared, converted = quantised(program, x)
    lowered = lower(model, x, quantise=True)
    stages = {"float": program, "prepared": prepared, "converted": converted, "edge": lowered.edge}
    return {**stages, "lowered": lowered.lowered, "runtime": lowered.runtime, "inputs": x}


@pytest.mark.parametrize("stage", ["float", "prepared", "converted", "edge", "lowered", "runtime"])
def test_every_stage_gives_its_result(stages: dict[str, Any], stage: str) -> None:
    inputs = stages["inputs"]
    got = capture_values(stages[stage], inputs)
    assert set(got.missing.values()) <= {"gives no tensor"}
    with torch.no_grad():
        wanted = stages["float"].module()(*inputs)
    (result,) = (a for a in next(n for n in stages[stage].graph.nodes if n.op == "output").args[0])
    quality = compare(wanted, got.values["", result.name, 0], ["sqnr"])["sqnr"]
    assert quality.value is not None
    assert quality.value > 25


def test_observers_keep_their_statistics(stages: dict[str, Any]) -> None:
    prepared = stages["prepared"]
    before = copy.deepcopy(prepared.state_dict())
    got = capture_values(prepared, tuple(100 * x for x in stages["inputs"]))
    assert [key for key in got.values if key[1].startswith("activation_post_process")]
    assert all(torch.equal(before[name], value) for name, value in prepared.state_dict().items())


def test_delegates_are_captured_inside(stages: dict[str, Any]) -> None:
    edge, lowered = (capture_values(stages[name], stages["inputs"]).values for name in ("edge", "lowered"))
    inside = {key[1]: value for key, value in lowered.items() if key[0].startswith("lowered_module_")}
    assert {"aten_linear_default", "aten_linear_default_1"} <= set(inside)
    for name in ("aten_linear_default", "aten_linear_default_1", "aten_relu_default"):
        assert np.array_equal(inside[name], edge["", name, 0])


def test_room_for_a_result_is_no_value(stages: dict[str, Any]) -> None:
    got = capture_values(stages["runtime"], stages["inputs"])
    assert not [key for key in {*got.values, *got.missing} if key[1].startswith("alloc")]
