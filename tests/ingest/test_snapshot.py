"""A stage is measured as it was recorded, whatever was done to its graph afterwards."""

from __future__ import annotations

from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu() + self.offset)


class Branching(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))


def exported(model: Any, x: Any) -> Any:
    torch.manual_seed(0)
    return torch.export.export(model.eval(), (x,))


def relu_to_neg(module: Any) -> None:
    """Edits every graph in place, nested ones too."""
    for graph_module in (m for m in module.modules() if isinstance(m, torch.fx.GraphModule)):
        for node in graph_module.graph.nodes:
            if node.target in (torch.ops.aten.relu.default, torch.ops.aten.sin.default):
                node.target = torch.ops.aten.neg.default
        graph_module.recompile()


def worst(store: fxstore.Store, overlay: str) -> float:
    (row,) = store.sql(
        "SELECT max(m.value) FROM metrics AS m JOIN overlays AS o USING (overlay_id) WHERE o.name = ?", [overlay]
    ).fetchall()
    return float(row[0])


@pytest.mark.parametrize("as_program", [True, False], ids=["program", "module"])
@pytest.mark.parametrize("model", [Net, Branching])
def test_edits_after_recording_do_not_reach_a_stage(model: Any, as_program: bool) -> None:
    x = torch.ones(2, 4)
    program = exported(model(), x)
    source = program if as_program else program.module()
    with fxstore.connect(":memory:") as store:
        with store.record("edited", strict=True) as rec:
            rec.stage("float", source)
            rec.stage("same", source)
            relu_to_neg(source.graph_module if as_program else source)
            rec.stage("edited", source)
            rec.measure((x,), metrics=["max_abs"])
        assert worst(store, "same vs float") == 0.0
        assert worst(store, "edited vs float") > 0.1


def test_each_pass_that_edits_in_place_is_measured() -> None:
    def spoil(module: Any) -> None:
        relu_to_neg(module)

    def fold(module: Any) -> None:
        """Puts another weight in place of one; the old one stays as it is."""
        module.first.weight = nn.Parameter(module.first.weight.detach() * 3)

    x = torch.ones(2, 4)
    module = exported(Net(), x).module()
    with fxstore.connect(":memory:") as store:
        with store.record("passes", strict=True) as rec:
            rec.stage("float", module)
            for one in rec.passes([spoil, fold]):
                one(module)
            rec.measure((x,), metrics=["max_abs"], reference="previous")
        assert worst(store, "spoil vs float") > 0.1
        assert worst(store, "fold vs spoil") > 0.1


def test_a_weight_that_was_written_into_is_said_so() -> None:
    x = torch.ones(2, 4)
    program = exported(Net(), x)
    with fxstore.connect(":memory:") as store:
        rec = store.record("written")
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        with torch.no_grad():
            program.state_dict["first.bias"].add_(1)
        with pytest.raises(fxstore.UsageError, match=r"weights of stage 'float' were changed in place.*first\.bias"):
            rec.measure((x,))


def test_lowering_edits_what_was_recorded_and_does_not_matter() -> None:
    pytest.importorskip("executorch.exir")
    from executorch.exir import to_edge

    x = torch.ones(2, 4)
    program = exported(Net(), x)
    edge = to_edge(program)
    with fxstore.connect(":memory:") as store:
        with store.record("emitted", strict=True) as rec:
            rec.stage("float", program)
            rec.stage("lowered", edge)
            edge.to_executorch()
            rec.measure((x,), metrics=["max_abs"])
        assert worst(store, "lowered vs float") < 1e-6
