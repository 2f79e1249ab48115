"""Costs of operators, from shapes alone."""

from __future__ import annotations

from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.up = nn.ConvTranspose2d(8, 6, 2, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.up(self.conv(x).relu())).mean((2, 3))
        y = self.head(y)
        low, high = torch.split(y, [2, 3], dim=1)
        return torch.matmul(low.t(), high), torch.linalg.vector_norm(y)


def costs(program: Any, stage: str = "float") -> dict[str, dict[str, Any]]:
    with fxstore.connect(":memory:") as store:
        with store.record("costs", strict=True) as rec:
            rec.stage(stage, program)
        found: dict[str, dict[str, Any]] = {}
        rows = store.sql(
            "SELECT n.op_type, m.metric, m.value, m.reason FROM metrics AS m JOIN nodes AS n USING (nid) "
            "JOIN overlays AS o USING (overlay_id) WHERE o.kind = 'static' ORDER BY n.position DESC"
        )
        for op, metric, value, reason in rows.fetchall():
            found.setdefault(op, {})[metric] = value if reason is None else reason
        return found


def test_known_operators_have_textbook_costs() -> None:
    found = costs(torch.export.export(Net().eval(), (torch.randn(2, 4, 10, 10),)))
    conv, up = found["conv2d"], found["conv_transpose2d"]
    assert conv == {"flops": 2 * 1600 * 18 + 1600, "activation_bytes": 6400, "parameters": 8 * 2 * 9 + 8}
    assert up == {"flops": 2 * 1600 * 24, "activation_bytes": 4 * 2 * 6 * 400, "parameters": 8 * 6 * 4}
    assert found["relu"] == {"flops": 1600, "activation_bytes": 6400, "parameters": 0}
    assert found["batch_norm"]["parameters"] == 12
    assert found["mean"]["flops"] == 2 * 6 * 400
    assert found["linear"] == {"flops": 2 * 10 * 6 + 10, "activation_bytes": 40, "parameters": 35}
    assert found["matmul"]["flops"] == 2 * 2 * 3 * 2
    assert found["split_with_sizes"]["activation_bytes"] == 2 * 5 * 4
    assert found["linalg_vector_norm"]["flops"] == "no formula for linalg_vector_norm"
    assert found["linalg_vector_norm"]["activation_bytes"] == 4


def test_a_symbolic_size_is_a_reason() -> None:
    dynamic = ({0: torch.export.Dim("n", min=2, max=9)},)
    found = costs(torch.export.export(nn.Linear(3, 4), (torch.randn(2, 3),), dynamic_shapes=dynamic))
    assert found["linear"] == {"flops": "symbolic shape", "activation_bytes": "symbolic shape", "parameters": 16}


def test_a_weight_without_a_recorded_shape_has_that_of_its_tensor() -> None:
    module = torch.export.export(nn.Linear(3, 4).eval(), (torch.randn(2, 3),)).module()
    for node in module.graph.nodes:
        if node.op == "get_attr":
            node.meta.pop("val", None)
    assert costs(module)["linear"] == {"flops": 56, "activation_bytes": 32, "parameters": 16}


def test_quantisers_leave_no_shapes_and_all_operators_have_costs() -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    class Quantised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("codes", torch.ones(4, 3, dtype=torch.int8))

        def forward(self, x: Any) -> Any:
            q = torch.ops.quantized_decomposed
            x = q.dequantize_per_tensor(
                q.quantize_per_tensor(x, 0.1, 0, -8, 7, torch.int16), 0.1, 0, -8, 7, torch.int16
            )
            scales, zeros = torch.ones(4), torch.zeros(4, dtype=torch.int64)
            weight = q.dequantize_per_channel(self.codes, scales, zeros, 0, -8, 7, torch.int8)
            return nn.functional.linear(x, weight)

    module = torch.export.export(Quantised(), (torch.randn(2, 3),)).module()
    for node in module.graph.nodes:
        if "quantize" in node.name or node.op == "get_attr":
            node.meta.pop("val", None)
    found = costs(module)
    assert found["quantize_per_tensor"] == {"flops": 6, "activation_bytes": 12, "parameters": 0}
    assert found["dequantize_per_tensor"] == {"flops": 6, "activation_bytes": 24, "parameters": 0}
    assert found["dequantize_per_channel"] == {"flops": 12, "activation_bytes": 48, "parameters": 0}
    assert found["linear"] == {"flops": 2 * 2 * 4 * 3, "activation_bytes": 32, "parameters": 12}


def test_a_circle_of_transposes_ends() -> None:
    from fxstore.ingest import Ingested, Node, Stage, Value, graph_of

    tensor = [Value("float32", ("2", "2"))]
    nodes = [
        Node("a", "transpose", ["b"], tensor),
        Node("b", "transpose", ["a"], tensor),
        Node("c", "add", ["a", "b"], tensor, attrs={"outputs": 5}),
    ]
    graph, notes = graph_of(nodes)
    with fxstore.connect(":memory:") as store:
        store.ingest(Ingested((Stage("odd", (graph,), note="; ".join(notes)),)), strict=True)
        rows = store.sql("SELECT name, value FROM metrics JOIN nodes USING (nid) WHERE metric = 'flops' ORDER BY name")
        assert [row[:2] for row in rows.fetchall()] == [("a", 0.0), ("b", 0.0), ("c", 4.0)]
