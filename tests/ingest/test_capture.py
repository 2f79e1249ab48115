from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from torch import fx, nn  # noqa: E402

from fxstore.ingest import adapters  # noqa: E402
from fxstore.ingest.export.capture import capture_module, capture_program  # noqa: E402
from fxstore.records import Graph  # noqa: E402


def edges(graph: Graph) -> list[tuple[str, int, str, str]]:
    names = graph.nodes["name"].to_pylist()
    return [(names[e["src"]], e["src_port"], names[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()]


def column(graph: Graph, name: str) -> dict[str, Any]:
    return dict(zip(graph.nodes["name"].to_pylist(), graph.nodes[name].to_pylist(), strict=True))


def test_every_use_with_its_port_and_path() -> None:
    class Zoo(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            both = torch.cat([x.sin(), x.cos(), x.sin()])
            first, second = torch.split(both + both, 3)
            return torch.add(first[:, i], second[:, i], alpha=2)

    (graph,) = capture_program(torch.export.export(Zoo(), (torch.randn(2, 4), torch.tensor([0, 2]))))
    found = edges(graph)
    assert [(s, a) for s, _, d, a in found if d == "cat"] == [("sin", "0[0]"), ("cos", "0[1]"), ("sin_1", "0[2]")]
    assert [(s, a) for s, _, d, a in found if d == "add"] == [("cat", "0"), ("cat", "1")]
    assert [(s, p) for s, p, d, _ in found if d.startswith("getitem")] == [("split", 0), ("split", 1)]
    assert ("i", 0, "index", "1[1]") in found
    assert '"alpha": 2' in column(graph, "attrs")["add_1"]


def test_roles_and_signature_of_a_program() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("offset", torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) + self.offset

    (graph,) = capture_program(torch.export.export(Stateful(), (torch.randn(2, 4),)))
    roles = column(graph, "role")
    assert {name: roles[name] for name in ("p_linear_weight", "b_offset", "x", "linear", "output")} == {
        "p_linear_weight": "parameter",
        "b_offset": "buffer",
        "x": "input",
        "linear": "op",
        "output": "output",
    }
    assert graph.signature["p_linear_weight"] == "state:linear.weight"
    assert column(graph, "module_path")["linear"] == "linear"
    assert column(graph, "shape")["linear"] == ["2", "4"]
    assert column(graph, "source_line")["linear"] > 0


def test_a_module_called_twice_has_one_path_and_two_calls() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.l(self.l(x))

    (graph,) = capture_program(torch.export.export(Twice(), (torch.randn(2, 4),)))
    assert column(graph, "module_path")["linear"] == column(graph, "module_path")["linear_1"] == "l"
    assert (column(graph, "module_call")["linear"], column(graph, "module_call")["linear_1"]) == (1, 2)


def test_branches_of_cond_are_graphs_of_their_own() -> None:
    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x.sin().relu(), lambda x: x.cos().relu(), (x,)) + 1

    graphs = capture_program(torch.export.export(Branch(), (torch.ones(3),)))
    assert [graph.path for graph in graphs] == ["", "true_graph_0", "false_graph_0"]
    kinds = [
        [k for k, r in zip(g.nodes["op_type"].to_pylist(), g.nodes["role"].to_pylist(), strict=True) if r == "op"]
        for g in graphs[1:]
    ]
    assert kinds == [["sin", "relu"], ["cos", "relu"]]
    caller = graphs[0].nodes["name"].to_pylist()[graphs[1].parent_position]
    assert caller == "cond"


def test_symbolic_shapes_are_text() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * x.shape[0]

    program = torch.export.export(Net(), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch", max=64)},))
    (graph,) = capture_program(program)
    shape = column(graph, "shape")["mul"]
    assert shape[1] == "3"
    assert not shape[0].isdigit()
    assert "symint" in graph.nodes["role"].to_pylist()


def test_a_snapshot_does_not_follow_later_edits() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Sigmoid()))
    (before,) = capture_module(module)
    fingerprint = before.fingerprint()
    node = next(n for n in module.graph.nodes if n.target == "0")
    node.replace_all_uses_with(next(iter(module.graph.nodes)))
    module.graph.erase_node(node)
    module.recompile()
    (after,) = capture_module(module)
    assert before.fingerprint() == fingerprint != after.fingerprint()


def test_equal_graphs_have_equal_fingerprints_whatever_their_address() -> None:
    def program() -> Any:
        return torch.export.export(nn.Linear(3, 3), (torch.ones(1, 3),)).run_decompositions({})

    keep = program(), program()
    (one,), (two,) = (capture_program(p) for p in keep)
    assert one.identities != two.identities
    assert one.fingerprint() == two.fingerprint()


LEAF = st.sampled_from(["node", 1, 2.5, None, True, "text"])
ARGUMENT = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_stored_edges_are_the_graphs_own_arguments(data: st.DataObject) -> None:
    graph = fx.Graph()
    nodes = [graph.placeholder(f"p{i}") for i in range(data.draw(st.integers(1, 3)))]

    def fill(argument: object) -> object:
        if isinstance(argument, list | tuple):
            return type(argument)(fill(a) for a in argument)
        if isinstance(argument, dict):
            return {k: fill(a) for k, a in argument.items()}
        return nodes[data.draw(st.integers(0, len(nodes) - 1))] if argument == "node" else argument

    for _ in range(data.draw(st.integers(0, 8))):
        args = tuple(fill(a) for a in data.draw(st.lists(ARGUMENT, max_size=3)))
        kwargs = {
            k: fill(a) for k, a in data.draw(st.dictionaries(st.sampled_from(["x", "y"]), ARGUMENT, max_size=2)).items()
        }
        nodes.append(graph.call_function(torch.add, args, kwargs))
    graph.output(nodes[-1])

    expected: list[tuple[str, str]] = []
    for node in graph.nodes:
        fx.node.map_arg((node.args, node.kwargs), lambda used, node=node: expected.append((used.name, node.name)))
    (captured,) = capture_module(fx.GraphModule(nn.Module(), graph))
    found = [(src, dst) for src, _, dst, _ in edges(captured)]
    assert sorted(found) == sorted(expected)
    paths = [(dst, arg) for _, _, dst, arg in edges(captured)]
    assert len(set(paths)) == len(paths)


def test_an_object_that_nothing_reads_is_refused() -> None:
    from fxstore.errors import SourceError

    with pytest.raises(SourceError, match="object of type builtins"):
        adapters.read({})
