"""Small real situations in which provenance is lost or misleads, each with its right answer."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import fx, nn  # noqa: E402

import fxstore  # noqa: E402
from fxstore.ingest import adapters  # noqa: E402
from fxstore.records import Stage  # noqa: E402
from tests.link.graphs import Linked  # noqa: E402


def linked(**sources: Any) -> Linked:
    return Linked.of([Stage(name, adapters.read(source).stages[0].graphs) for name, source in sources.items()])


def of(found: Linked, stage: str) -> dict[str, set[str]]:
    """Returns, for each node of a stage, the names of what it became, by recorded links."""
    pairs: dict[str, set[str]] = {}
    for (src, dst), evidence in found.links().items():
        if src.startswith(f"{stage}:") and evidence not in ("structure", "name"):
            pairs.setdefault(src.partition(":")[2], set()).add(dst.partition(":")[2])
    return pairs


class Affine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.l(x))


@pytest.fixture
def affine() -> Any:
    return torch.export.export(Affine(), (torch.randn(2, 4),))


def test_a_fresh_export_is_its_own_origin(affine: Any) -> None:
    exir = pytest.importorskip("executorch.exir")
    found = of(linked(exported=affine, edge=exir.to_edge(affine).exported_program()), "exported")
    assert found["linear"] == {"aten_permute_copy_default", "aten_addmm_default"}
    assert found["relu"] == {"aten_relu_default"}


def test_unlifted_parameters_are_found_although_they_cite_a_copy(affine: Any) -> None:
    found = linked(exported=affine, module=affine.module())
    pairs = of(found, "exported")
    assert pairs["p_l_weight"] == {"l_weight"}
    assert pairs["p_l_bias"] == {"l_bias"}
    assert pairs["linear"] == {"linear"}
    assert ("module:_guards_fn", "exported") in found.unmatched()


def test_what_replace_pattern_put_in_is_added_and_its_origin_only_inferred() -> None:
    from torch.fx import subgraph_rewriter

    aten = torch.ops.aten

    class Sum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.sin(x) + torch.cos(x)

    before = torch.export.export(Sum(), (torch.randn(3),)).module()
    after = copy.deepcopy(before)
    subgraph_rewriter.replace_pattern(
        after,
        fx.symbolic_trace(lambda x: aten.add.Tensor(aten.sin.default(x), aten.cos.default(x))),
        fx.symbolic_trace(lambda x: aten.mul.Tensor(x, 2.0)),
    )
    found = linked(before=before, after=after)
    assert of(found, "before")["x"] == {"x"}
    assert not {"sin", "cos", "add"} & of(found, "before").keys()
    replaced = {pair for pair in found.inferred() if found.links()[pair] == "structure"}
    assert replaced == {(f"before:{name}", "after:mul_tensor") for name in ("sin", "cos", "add")}
    missing = found.unmatched()
    assert {label for label, _ in missing} == {"before:sin", "before:cos", "before:add", "after:mul_tensor"}
    assert missing["after:mul_tensor", "before"] == "sin, cos, add became mul_tensor (inferred)"


def test_chains_that_grow_with_every_pass_are_stored_once() -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ls = nn.ModuleList(nn.Linear(8, 8) for _ in range(50))

        def forward(self, x: Any) -> Any:
            for layer in self.ls:
                x = torch.relu(layer(x))
            return x

    program = torch.export.export(Deep(), (torch.randn(2, 8),))
    first = program
    for _ in range(6):
        program = program.run_decompositions({})
    (graph,) = adapters.read(program).stages[0].graphs
    assert len(graph.nodes) == 202
    assert graph.tables["sources"].num_rows <= 13 * 202
    found = linked(first=first, last=program)
    assert of(found, "first")["relu_49"] == {"relu_49"}
    lineage = found.run.lineage
    depth = max(len(list(lineage.chain(node))) for node in range(len(found.run)))
    assert depth == 12


def test_attention_is_one_set_of_its_edge_nodes_and_its_value_the_last_of_its_shape() -> None:
    exir = pytest.importorskip("executorch.exir")

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n, self.q = nn.LayerNorm(8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            y = self.n(x)
            q = self.q(y)
            return nn.functional.gelu(nn.functional.scaled_dot_product_attention(q, q, y))

    program = torch.export.export(Block().eval(), (torch.randn(2, 4, 8),))
    edge = exir.to_edge(program).exported_program()
    found = linked(exported=program, edge=edge)
    attention = {n.name for n in edge.graph.nodes if n.op == "call_function" and n.meta["debug_handle"] == 3}
    assert len(attention) == 22
    assert of(found, "exported")["scaled_dot_product_attention"] == attention
    (value,) = found.values("exported:scaled_dot_product_attention")
    node = next(n for n in edge.graph.nodes if f"edge:{n.name}.0" == value)
    assert tuple(node.meta["val"].shape) == (2, 4, 8)
    assert {user.name for user in node.users} == {"aten_gelu_default"}


def test_branches_of_cond_never_match_each_other() -> None:
    class Branch(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda x: x.sin().relu(), lambda x: x.cos().relu(), (x,)) + 1

    program = torch.export.export(Branch(), (torch.ones(3),))
    for (src, dst), _ in linked(exported=program, core=program.run_decompositions({})).links().items():
        assert (
            src.partition("/")[0].partition(":")[2] == dst.partition("/")[0].partition(":")[2] or "/" not in src + dst
        )


def test_the_body_of_a_map_is_linked_node_by_node() -> None:
    from torch._higher_order_ops.map import map as mapped

    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return mapped(lambda row: self.linear(row).sin() + 1, x).cos()

    exported = torch.export.export(Rows(), (torch.randn(3, 2, 4),))
    stages = {"float": exported, "core": exported.run_decompositions()}
    found = Linked.of([Stage(name, adapters.read(program).stages[0].graphs) for name, program in stages.items()])
    links = found.links()
    body = "body_graph_0/"
    assert {dst.partition(body)[2] for src, dst in links if src == f"float:{body}linear"} >= {"addmm"}
    for name in ("sin", "add"):
        assert links[f"float:{body}{name}", f"core:{body}{name}"] == "from_node"
    assert links["float:map_impl", "core:map_impl"] == links["float:cos", "core:cos"] == "from_node"
    assert found.values("float:cos") == {"core:cos.0"}
    crossing = [ends for ends in links if len({body in label for label in ends}) > 1]
    assert crossing == []
    assert found.unmatched()[f"float:{body}output", "core"] == "lists the values that a nested graph returns"


def test_the_inputs_of_branches_are_linked_by_place() -> None:
    class Branch(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda a, b: a - b, lambda a, b: b * a, (x, y)) + 1

    program = torch.export.export(Branch(), (torch.ones(3), torch.ones(3)))
    found = linked(exported=program, core=program.run_decompositions({}))
    links = {ends: evidence for ends, evidence in found.links().items() if evidence == "signature"}
    for graph in ("true_graph_0", "false_graph_0"):
        inner = [ends for ends in links if f":{graph}/" in ends[0]]
        assert {(a.partition(":")[2], b.partition(":")[2]) for a, b in inner} == {
            (f"{graph}/x", f"{graph}/x"),
            (f"{graph}/y", f"{graph}/y"),
        }
    assert not [label for label, _ in found.unmatched() if label.endswith(("/x", "/y"))]


def test_two_exports_of_one_network_have_equal_values_node_by_node() -> None:
    """Neither records the other; equal name, operator and module are evidence enough for a comparison of values."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval()
    inputs = (torch.randn(1, 3, 8, 8),)
    with fxstore.connect(":memory:") as store:
        with store.record("twice") as rec:
            for name in ("first", "second"):
                rec.stage(name, torch.export.export(network, inputs))
            rec.measure(inputs, reference="first")
        rows = store.sql("SELECT name, value FROM worst('cosine', stage := 'second') ORDER BY name").fetchall()
        assert [(name, pytest.approx(1.0)) for name in ("batch_norm", "conv2d", "input", "relu")] == rows
        said = store.sql("SELECT DISTINCT evidence FROM links JOIN nodes ON nid = dst_nid WHERE role = 'op'").fetchall()
        assert said == [("name",)]
