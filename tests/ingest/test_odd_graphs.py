"""Graphs as users and passes leave them: what is odd costs itself, not the graph, and is said."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import fxstore
from fxstore.ingest import adapters

torch = pytest.importorskip("torch")
from torch import fx, nn  # noqa: E402
from torch.fx.traceback import NodeSource, NodeSourceAction  # noqa: E402


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def exported(function: Callable[..., Any], *args: Any) -> Any:
    return torch.export.export(Call(function), args)


def relu(**meta: Any) -> fx.GraphModule:
    graph = fx.Graph()
    node = graph.call_function(torch.relu, (graph.placeholder("x"),))
    node.meta.update(meta)
    graph.output(node)
    return fx.GraphModule(nn.Module(), graph)


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.int8, "int8"),
        (torch.bfloat16, "bfloat16"),
        (torch.complex64, "complex64"),
        (torch.float8_e4m3fn, "float8_e4m3fn"),
        (torch.uint16, "uint16"),
    ],
)
def test_every_dtype_by_its_name(store: fxstore.Store, dtype: Any, name: str) -> None:
    run = store.ingest(exported(lambda x: x.to(dtype), torch.ones(2)), strict=True)
    assert run.status == "complete"
    assert (name,) in store.sql("SELECT dtype FROM nodes WHERE op = 'call_function'").fetchall()


def test_a_thousand_outputs_are_ports_and_uses(store: fxstore.Store) -> None:
    store.ingest(exported(lambda x: torch.split(x, 1), torch.ones(1000, 1)), strict=True)
    assert store.sql("SELECT ports FROM nodes WHERE op_type = 'split'").fetchall() == [(1000,)]
    rows = store.sql("SELECT count(*), count(DISTINCT src_port), max(dst_arg) FROM edges e "
                     "JOIN nodes n ON n.nid = e.src_nid WHERE n.op_type = 'split'").fetchall()  # fmt: skip
    assert rows == [(1000, 1000, "0")]


def test_an_empty_graph_and_huge_constants(store: fxstore.Store) -> None:
    assert store.ingest(fx.GraphModule(nn.Module(), fx.Graph()), strict=True).status == "complete"
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.add, (x, 10**400), {"alpha": list(range(50_000)), "inf": -float("inf")}))
    run = store.ingest(fx.GraphModule(nn.Module(), graph), strict=True)
    (attrs,) = store.sql(f"SELECT attrs FROM nodes WHERE run_id = '{run.run_id}' AND op_type = 'add'").fetchall()[0][
        -1:
    ]
    assert str(10**400) in attrs
    assert "49999" in attrs
    assert '"-inf"' in attrs


ODD = {
    "debug handle": {"debug_handle": "abc"},
    "module stack or the stack trace": {"nn_module_stack": {"a": nn.ReLU}},
    "provenance": {"from_node": [("relu", 1)]},
}


@pytest.mark.parametrize("what", ODD)
def test_odd_metadata_cost_themselves_only(store: fxstore.Store, what: str) -> None:
    run = store.ingest(relu(**ODD[what]), strict=True)
    assert run.status == "partial"
    assert store.sql("SELECT note FROM stages").fetchall() == [
        (f"cannot read the {what} of 1 nodes, 'relu' the first of them",)
    ]
    assert store.sql("SELECT count(*) FROM nodes").fetchall() == [(3,)]
    assert store.sql("SELECT count(*) FROM edges").fetchall() == [(2,)]


def test_a_circle_in_custom_metadata(store: fxstore.Store) -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert store.ingest(relu(custom=circle), strict=True).status == "partial"


def test_texts_that_are_no_utf8_are_written_with_escapes(store: fxstore.Store) -> None:
    trace = '  File "/home/\udcff/net.py", line 3, in forward\n    y = x.relu()\n'
    assert store.ingest(relu(stack_trace=trace), strict=True).status == "complete"
    assert store.sql("SELECT source_file FROM nodes WHERE name = 'relu'").fetchall()[0][-1] == "/home/\\udcff/net.py"


def test_a_node_that_stands_behind_its_user_keeps_its_edge(store: fxstore.Store) -> None:
    graph = fx.Graph()
    first = graph.call_function(torch.relu, (graph.placeholder("x"),))
    second = graph.call_function(torch.sin, (first,))
    graph.output(second)
    second.append(first)
    store.ingest(fx.GraphModule(nn.Module(), graph), strict=True)
    rows = store.sql("SELECT a.name AS a, b.name AS b FROM edges JOIN nodes a ON a.nid = src_nid "
                     "JOIN nodes b ON b.nid = dst_nid").fetchall()  # fmt: skip
    assert {row[:2] for row in rows} == {("x", "relu"), ("relu", "sin"), ("sin", "output")}


def test_an_argument_of_another_graph_is_said(store: fxstore.Store) -> None:
    module = relu()
    node = next(n for n in module.graph.nodes if n.op == "call_function")
    node.args = (fx.Graph().placeholder("stray"),)
    run = store.ingest(module, strict=True)
    assert run.status == "partial"
    ((note,),) = store.sql("SELECT note FROM stages").fetchall()
    assert note == "some arguments are in another graph: of 1 nodes, 'relu' the first of them"


def source(name: str, *older: NodeSource) -> NodeSource:
    graph = fx.Graph()
    node = graph.placeholder(name)
    if older:
        node.meta["from_node"] = list(older)
    return NodeSource(node, "fuse", NodeSourceAction.CREATE)


def test_a_node_that_was_fused_of_two_has_both_lines_of_ancestors(store: fxstore.Store) -> None:
    fused = source("fused", source("conv", source("root")), source("bn"))
    store.ingest(relu(from_node=[fused]), strict=True)
    rows = store.sql("SELECT branch, hop, ancestor_name FROM provenance ORDER BY ALL").fetchall()
    assert [row[:3] for row in rows] == [(0, 1, "fused"), (0, 2, "conv"), (0, 3, "root"), (1, 1, "fused"), (1, 2, "bn")]


def test_a_shared_record_is_walked_once_and_forgotten_with_its_graph() -> None:
    import gc

    from fxstore.ingest.export import live_nodes

    module = relu(from_node=[source("conv")])
    gc.collect()
    before = len(live_nodes._walked)
    for _ in range(2):
        adapters.read(module)
    assert len(live_nodes._walked) == before + 1
    del module
    gc.collect()
    assert len(live_nodes._walked) <= before


def test_slices_with_nodes(store: fxstore.Store) -> None:
    graph = fx.Graph()
    x, n = graph.placeholder("x"), graph.placeholder("n")
    graph.output(graph.call_function(operator.getitem, (x, (slice(None, n, 2), Ellipsis, None))))
    store.ingest(fx.GraphModule(nn.Module(), graph), strict=True)
    rows = store.sql("SELECT dst_arg FROM edges JOIN nodes ON nid = src_nid WHERE name = 'n'").fetchall()
    assert [row[0] for row in rows] == ["1[0].stop"]
