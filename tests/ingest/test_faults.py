"""Faults put into one node of a stage, everywhere in turn: the first bad node is always the one that has it."""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from bench.wrong_values import disturbed, faulty_kernel, one_nan, transposed, wrong_scale  # noqa: E402

Fault = Callable[[Any], Any]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.conv(x)).relu() + x
        tokens = y.flatten(2).transpose(1, 2)
        return tokens + self.down(nn.functional.gelu(self.up(tokens)))


class Net(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(blocks)), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x).transpose(1, 2).reshape(2, 4, 4, 4)
        return self.head(x.mean((2, 3)))


def weights(module: Any) -> Iterator[Any]:
    for node in module.graph.nodes:
        if node.op == "get_attr" and node.target.endswith("weight") and "norm" not in node.target:
            yield node


def operators(module: Any) -> Iterator[Any]:
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.op == "call_function" and node.target is not operator.getitem and isinstance(value, torch.Tensor):
            yield node


def with_fault(module: Any, name: str, fault: Fault) -> Any:
    """A copy whose node of that name gives a spoilt value, by way of the operator itself: no node is added."""
    faulty = copy.deepcopy(module)
    node = next(one for one in faulty.graph.nodes if one.name == name)
    node.target = faulty_kernel(node.target, fault)
    return faulty


def first_bad(reference: Any, faulty: Any, x: Any, metric: str, threshold: float) -> list[str]:
    with fxstore.connect(":memory:") as store:
        with store.record("fault", strict=True) as rec:
            rec.stage("float", reference)
            rec.stage("faulty", faulty)
            rec.measure((x,), metrics=[metric], statistics=False)
        rows = store.first_bad(metric, threshold).arrow().to_pylist()
        return [row["name"] for row in rows]


def network(blocks: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 4, 4)
    return torch.export.export(Net(blocks).eval(), (x,)).module(), x


def clean_is_exact(module: Any, x: Any) -> None:
    with fxstore.connect(":memory:") as store:
        with store.record("clean", strict=True) as rec:
            rec.stage("float", module)
            rec.stage("same", copy.deepcopy(module))
            rec.measure((x,), metrics=["cosine", "mse", "max_abs", "l2", "mismatch"], statistics=False)
        rows = store.sql("SELECT DISTINCT metric, value FROM metrics WHERE ref_nid IS NOT NULL AND value IS NOT NULL")
        assert dict(rows.fetchall()) == {"cosine": 1.0, "mse": 0.0, "max_abs": 0.0, "l2": 0.0, "mismatch": 0.0}
        measured, total = store.sql(
            "SELECT c.measured, c.nodes FROM coverage AS c JOIN overlays AS o USING (overlay_id) "
            "WHERE o.kind = 'accuracy'"
        ).fetchall()[0]
        reasons = store.sql(
            "SELECT DISTINCT reason FROM metrics WHERE ref_nid IS NULL AND value IS NULL AND metric = 'mse'"
        ).fetchall()
        assert (total - measured == 0) or reasons


def check_everywhere(blocks: int, kinds: int) -> None:
    """Tries ``kinds`` of the faults on each operator, the next ones on the next operator."""
    module, x = network(blocks)
    clean_is_exact(module, x)
    tried: list[str] = []
    for i, node in enumerate(operators(module)):
        fitting = [one_nan, wrong_scale, *([transposed] if node.meta["val"].dim() > 1 else [])]
        for fault in [fitting[(i + k) % len(fitting)] for k in range(min(kinds, len(fitting)))]:
            found = first_bad(module, with_fault(module, node.name, fault), x, "mismatch(1e-4,1e-3)", 0.0)
            assert found == [node.name], (node.name, fault.__name__, found)
            tried.append(fault.__name__)
    assert set(tried) == {"one_nan", "wrong_scale", "transposed"}


def check_weights(blocks: int) -> None:
    module, x = network(blocks)
    for node in weights(module):
        (user,) = node.users
        faulty = copy.deepcopy(module)
        owner, _, attribute = str(node.target).rpartition(".")
        with torch.no_grad():
            weight = getattr(faulty.get_submodule(owner), attribute)
            weight.copy_(disturbed(weight))
        assert first_bad(module, faulty, x, "max_abs", 1e-4) == [user.name]


def test_a_fault_in_any_operator_is_named_first() -> None:
    check_everywhere(1, 1)


def test_a_disturbed_weight_is_named_by_its_operator() -> None:
    check_weights(1)


class Quantised(nn.Module):
    """What a quantiser leaves: codes of per-tensor and per-channel scales between operators."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Any) -> Any:
        q = torch.ops.quantized_decomposed
        for line in self.lines:
            scales = line.weight.abs().amax(1) / 127
            zeros = torch.zeros(4, dtype=torch.int64)
            weight = q.quantize_per_channel(line.weight, scales, zeros, 0, -127, 127, torch.int8)
            weight = q.dequantize_per_channel(weight, scales, zeros, 0, -127, 127, torch.int8)
            x = q.quantize_per_tensor(x, 0.03, 0, -128, 127, torch.int8)
            x = q.dequantize_per_tensor(x, 0.03, 0, -128, 127, torch.int8)
            x = nn.functional.linear(x, weight, line.bias).relu()
        return x


def scales(module: Any) -> Iterator[Any]:
    """Each operator that reads one scale for a whole tensor; the scale is its second argument."""
    for node in module.graph.nodes:
        if node.op == "call_function" and str(node.target).endswith("quantize_per_tensor.default"):
            yield node


def test_one_wrong_scale_is_named_first_wherever_it_is() -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    torch.manual_seed(0)
    x = torch.rand(2, 4)
    module = torch.export.export(Quantised().eval(), (x,)).module()
    tried = []
    for node in scales(module):
        faulty = copy.deepcopy(module)
        wrong = next(one for one in faulty.graph.nodes if one.name == node.name)
        wrong.update_arg(1, wrong.args[1] * 1.5)
        faulty.recompile()
        assert first_bad(module, faulty, x, "max_abs", 1e-3) == [node.name]
        tried.append(node.name)
    assert len(tried) == 6


@pytest.mark.slow
def test_faults_in_a_deeper_network() -> None:
    check_everywhere(4, 3)
    check_weights(6)


@pytest.mark.slow
@pytest.mark.parametrize("quantise", [False, True])
@pytest.mark.parametrize(("name", "every"), [("decoder", 17), ("bert", 17), ("vit", 17), ("mobilenet", 51)])
def test_faults_in_real_models(name: str, every: int, quantise: bool) -> None:
    """Every fault at every place of the four models takes an hour; ``python -m bench.faults`` does that."""
    pytest.importorskip("executorch")
    pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bench.faults import trial

        tried = trial(name, quantise, every)
    assert tried.missed == []
    assert tried.named.keys() >= {"one_nan", "wrong_scale"}
