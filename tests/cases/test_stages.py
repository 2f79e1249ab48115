"""Where an error starts: the node, the stage, and whether a layer made it or inherited it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def names(store: fxstore.Store, query: str) -> list[str]:
    return [row[0] for row in store.sql(query).fetchall()]


def test_37_where_an_error_starts_is_not_where_it_is_largest(store: fxstore.Store) -> None:
    """The device forgets a part of a group norm; a mean behind it suffers more, and a difference recovers."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c, self.g = nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8)

        def forward(self, x: Any) -> Any:
            y = self.g(self.c(x))
            side = torch.sin(x)
            return torch.relu(y), (y - y.mean((0, 1), keepdim=True)), side

    torch.manual_seed(0)
    right = torch.export.export(Net().eval(), (torch.randn(2, 3, 8, 8),)).module()
    wrong = copy.deepcopy(right)
    norm = next(node for node in wrong.graph.nodes if node.name == "group_norm")
    users = list(norm.users)
    with wrong.graph.inserting_after(norm):
        less = wrong.graph.call_function(torch.ops.aten.mul.Tensor, (norm, 0.75))
    with wrong.graph.inserting_after(less):
        off = wrong.graph.call_function(torch.ops.aten.add.Tensor, (less, 0.45))
    for user in users:
        user.replace_input_with(norm, off)
    wrong.recompile()
    cosines: dict[str, float] = {}
    x = torch.randn(2, 3, 8, 8)
    values = [_run(module, x) for module in (right, wrong)]
    values[1]["group_norm"] = values[1][off.name]  # the device's operator is what the edit makes of it
    for node in right.graph.nodes:
        if node.op == "call_function":
            pair = (values[0][node.name], values[1][node.name])
            cosines[node.name] = float(torch.nn.functional.cosine_similarity(*(v.flatten().double() for v in pair), 0))
    with store.record("device", strict=True) as rec:
        rec.stage("device", right)
        rec.overlay("accuracy", {name: {"cosine": value} for name, value in cosines.items()})
    assert names(store, "SELECT name FROM first_bad('cosine', 0.99)") == ["group_norm"]
    assert names(store, "SELECT name FROM worst('cosine', n := 1)") == ["mean"]
    clean = names(
        store, "SELECT n.name FROM metrics JOIN nodes AS n USING (nid) WHERE metric = 'cosine' AND value > 0.9999"
    )
    assert set(clean) == {"conv2d", "sin", "sub"}


def _run(module: Any, x: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}

    class Kept(torch.fx.Interpreter):
        def run_node(self, node: Any) -> Any:
            values[node.name] = super().run_node(node)
            return values[node.name]

    with torch.no_grad():
        Kept(module).run(x)
    return values


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        return torch.tanh(self.l(x) * 0.25) + x.sigmoid()


def test_64_the_stage_that_made_an_error_is_named_and_not_the_device(store: fxstore.Store) -> None:
    """A pass drops a scale; the device agrees with what the pass made."""
    torch.manual_seed(0)
    x = torch.randn(8, 16) * 4
    exported = torch.export.export(Scaled().eval(), (x,)).module()
    passes = copy.deepcopy(exported)
    mul = next(node for node in passes.graph.nodes if node.name == "mul")
    mul.args = (mul.args[0], -4.0)
    passes.recompile()
    stages = {
        "float": torch.export.export(Scaled().eval(), (x,)).module(), "export": exported, "passes": passes,
        "device": copy.deepcopy(passes),
    }  # fmt: skip
    stages["float"].load_state_dict(exported.state_dict())
    with store.record("net", strict=True) as rec:
        for name, module in stages.items():
            rec.stage(name, module)
        rec.measure((x,), reference="previous", metrics=["cosine"])
    query = "SELECT name FROM first_bad('cosine', 0.99, overlay := '{}')"
    assert names(store, query.format("export vs float")) == []
    assert names(store, query.format("passes vs export")) == ["mul"]
    assert names(store, query.format("device vs passes")) == []
    least = {
        stage: store.sql(f"SELECT min(value) FROM worst('cosine', n := 99, overlay := '{stage}')").fetchall()[0][0]
        for stage in ("export vs float", "passes vs export", "device vs passes")
    }
    assert least["export vs float"] == least["device vs passes"] == pytest.approx(1.0, abs=1e-12)
    assert least["passes vs export"] < 0.9
    partner = store.sql(
        "SELECT a.name FROM value_pairs AS v JOIN nodes AS a ON a.nid = v.ref_nid JOIN nodes AS b ON b.nid = v.nid "
        "WHERE a.stage = 'export' AND b.stage = 'passes' AND b.name = 'mul'"
    )
    assert partner.fetchall() == [("mul",)]


def test_65_a_layers_own_error_is_told_from_what_it_inherits(store: fxstore.Store) -> None:
    """Five layers, of which the third has three bits."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.s = nn.Sequential(*[nn.Linear(32, 32) for _ in range(5)])

        def forward(self, x: Any) -> Any:
            return self.s(x)

    torch.manual_seed(0)
    x = torch.randn(16, 32)
    program = torch.export.export(Net().eval(), (x,))
    coarse = copy.deepcopy(program)
    weights = [value for name, value in coarse.named_parameters() if name.endswith("weight")]
    for bits, weight in zip((8, 8, 3, 8, 8), weights, strict=True):
        step = weight.data.abs().max() / (2 ** (bits - 1) - 1)
        weight.data.copy_(torch.round(weight.data / step) * step)
    with store.record("scopes", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("coarse", coarse)
        rec.measure((x,), metrics=["sqnr"], scope="both", statistics=False)
    assert names(store, "SELECT name FROM worst('sqnr', n := 1, scope := 'local')") == ["linear_2"]
    (worst,) = names(store, "SELECT name FROM worst('sqnr', n := 1, scope := 'cumulative')")
    assert worst in ("linear_2", "linear_3", "linear_4")
    scopes = store.sql(
        "SELECT scope, count(DISTINCT nid) FROM metrics WHERE metric = 'sqnr' AND value IS NOT NULL GROUP BY ALL"
    )
    assert {scope for scope, _ in scopes.fetchall()} == {"local", "cumulative"}
