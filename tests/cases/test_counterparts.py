"""Matches that go wrong by name, by number or by shape, each with its right answer."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

from fxstore.records import Stage
from tests.link.graphs import Linked, N, graph


def linked(**sources: Any) -> Linked:
    from fxstore.ingest import adapters

    return Linked.of([Stage(name, adapters.read(source).stages[0].graphs) for name, source in sources.items()])


def became(found: Linked, stage: str) -> dict[str, set[str]]:
    """Returns, by the name of each node of a stage, what it became, by recorded links."""
    pairs: dict[str, set[str]] = {}
    for (src, dst), evidence in found.links().items():
        if src.startswith(f"{stage}:") and evidence not in ("structure", "name"):
            pairs.setdefault(src.partition(":")[2], set()).add(dst.partition(":")[2])
    return pairs


def network(linear: bool = True) -> Any:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.l(x) if linear else x)

    torch.manual_seed(0)
    return torch.export.export(Net().eval(), (torch.randn(4, 8),))


def test_14_unlifted_parameters_are_found_although_they_cite_a_copy() -> None:
    """``ep.module()``: operators cite the exported graph, parameters a copy of it under another name."""
    exported = network()
    found = linked(exported=exported, module=exported.module())
    pairs = became(found, "exported")
    match = {"x": "x", "p_l_weight": "l_weight", "p_l_bias": "l_bias", "linear": "linear", "relu": "relu"}
    assert {name: pairs[name] for name in match} == {name: {other} for name, other in match.items()}
    assert {label for label, towards in found.unmatched() if towards == "exported"} == {"module:_guards_fn"}


def test_19_what_quantises_inputs_and_weights_belongs_to_them_through_the_observer() -> None:
    """Their oldest ancestor is an observer, which neither the float nor the quantised graph has."""
    exported = network()
    pytest.importorskip("torchao")
    quantizer = pytest.importorskip("executorch.backends.xnnpack.quantizer.xnnpack_quantizer")
    from torchao.quantization.pt2e import MinMaxObserver
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = quantizer.get_symmetric_quantization_config()
        observed = copy.copy(given.input_activation)
        object.__setattr__(observed, "observer_or_fake_quant_ctr", MinMaxObserver.with_args(eps=2**-12))
        config = type(given)(observed, observed, given.weight, given.bias, given.is_qat)
        prepared = prepare_pt2e(exported.module(), quantizer.XNNPACKQuantizer().set_global(config))
        prepared(*exported.example_inputs[0])
        quantised = convert_pt2e(copy.deepcopy(prepared))
    found = linked(float=exported, prepared=prepared, quantized=quantised)  # the copy was converted, not this one

    def shown(name: str) -> set[str]:
        members = found.set_of(f"float:{name}")
        return {label.partition(":")[2] for label in members if label.startswith("quantized:")}

    relu, linear = shown("relu"), shown("linear")
    assert len(relu) == 3
    assert "relu" in relu
    assert {name.startswith(("quantize", "dequantize")) for name in relu - {"relu"}} == {True}
    assert linear == {"linear"}
    x = {name for name in shown("x") if name != "x"}
    assert len(x) == 2
    assert {name.split("_per")[0] for name in x} == {"quantize", "dequantize"}
    assert any(name.startswith("dequantize") for name in shown("p_l_weight"))
    via = {src.partition(":")[2] for (src, _), evidence in found.links().items() if evidence == "observer"}
    assert {"x", "p_l_weight"} <= via


def test_24_names_that_shift_are_no_evidence() -> None:
    """The first of three equal operators is removed and the rest is exported again: names move up by one."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return ((torch.relu(x * 1.0)) * 3.0) * 5.0

    before = torch.export.export(Net(), (torch.ones(3),))
    module = before.module()
    mul = next(node for node in module.graph.nodes if node.name == "mul")
    mul.replace_all_uses_with(mul.args[0])
    module.graph.erase_node(mul)
    module.recompile()
    after = torch.export.export(module, (torch.ones(3),))
    found = linked(before=before, after=after)
    pairs = became(found, "before")
    operators = {name: pairs[name] for name in ("mul_1", "mul_2", "relu")}
    assert operators == {"mul_1": {"mul"}, "mul_2": {"mul_1"}, "relu": {"relu"}}
    assert "mul" not in pairs
    assert ("before:mul", "after") in found.unmatched()


def test_36_outputs_of_one_shape_are_told_apart_by_their_number() -> None:
    """``var_mean``: a match by shape and dtype alone falls back to the last output."""
    torch = pytest.importorskip("torch")

    class Moments(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            variance, mean = torch.var_mean(x, -1)
            return variance * 2 + mean

    program = torch.export.export(Moments(), (torch.randn(4, 16) + 3,))
    found = linked(exported=program, again=program.run_decompositions({}))
    for name, port in {"getitem": 0, "getitem_1": 1}.items():
        assert found.values(f"exported:{name}") == {
            f"exported:var_mean.{port}",
            f"again:var_mean.{port}",
            f"again:{name}.0",
        }


def test_63_overlapping_handles_stay_three_rows_and_say_what_they_cover() -> None:
    """Events of handles (1, 2), (2, 3) and (4 to 8), and a reference that has 1, 2, 3 and 8."""
    reference = graph(1, [N(f"n{i}", kind, handles=(i,)) for i, kind in zip((1, 2, 3, 8), "abch", strict=True)])
    runtime = graph(2, [
        N("first", "ab", handles=(1, 2)), N("second", "bc", handles=(2, 3)), N("third", "h", handles=(4, 5, 6, 7, 8)),
        *(N(f"k{kind}", kind, handles=(i,)) for i, kind in zip((1, 2, 3), "abc", strict=True)),
    ])  # fmt: skip
    found = Linked(reference, runtime)
    ends: dict[str, set[str]] = {}
    notes: dict[str, str | None] = {}
    for row in found.tables["links"].to_pylist():
        name = found.run.name[row["dst"]]
        ends.setdefault(name, set()).add(found.run.name[row["src"]])
        notes[name] = row["note"]
    assert {name: ends[name] for name in ("first", "second", "third")} == {
        "first": {"n1", "n2"}, "second": {"n2", "n3"}, "third": {"n8"},
    }  # fmt: skip
    assert notes["third"] == "1 of 5 handles: 8"
    assert found.values("s1:third") == {"s0:n8.0"}
