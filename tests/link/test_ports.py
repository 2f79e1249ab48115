"""Outputs of operators and delegates: each port follows what it reads."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from fxstore.records import Graph
from tests.link.graphs import Linked, N, delegated, graph


def test_a_delegates_ports_are_its_inner_values_not_an_order_of_handles() -> None:
    edge = graph(3, [
        N("x", "placeholder", key="input:0"),
        N("relu", "relu", "x", [(1, "relu")]),
        N("linear", "linear", "relu", [(1, "linear")]),
        N("softmax", "softmax", "linear", [(1, "softmax")]),
        N("output", "output", "relu softmax"),
    ])  # fmt: skip
    linked = Linked(edge, delegated(20))
    assert linked.values("s1:call", 0) == {"s0:relu.0", "s1:lowered_module_0/relu.0", "s1:out_a.0"}
    assert linked.values("s1:call", 1) == {"s0:softmax.0", "s1:lowered_module_0/softmax.0", "s1:out_b.0"}
    links = linked.links()
    assert links["s0:softmax", "s1:out_b"] == "from_node"
    assert links["s1:lowered_module_0/linear", "s1:call"] == "delegate"
    members = linked.set_of("s0:linear")
    assert members == {"s0:linear": True, "s1:lowered_module_0/linear": True, "s1:call": False}
    assert {"s0:relu", "s0:linear", "s0:softmax"} <= set(linked.set_of("s1:call"))
    assert not any(label.startswith("s0:") for label, _ in linked.unmatched())


def split(identity: int, kind: str, came_from: bool, order: tuple[int, ...] = (0, 1, 2)) -> object:
    origin = [(1, "chunk", "aten.chunk.default")] if came_from else ()
    return graph(identity, [
        N("x", "placeholder", key="input:0"),
        N(kind, kind, "x", origin, ports=3),
        *(
            N(f"getitem_{place}", "getitem", f"{kind}.{port}", origin, target="_operator.getitem")
            for place, port in enumerate(order)
        ),
    ])  # fmt: skip


def test_the_outputs_of_one_operator_are_told_apart_by_their_port() -> None:
    linked = Linked(split(1, "chunk", False), split(2, "split_with_sizes", True, (2, 0, 1)))
    links = {pair: e for pair, e in linked.links().items() if "getitem" in pair[1]}
    assert links == {
        ("s0:getitem_2", "s1:getitem_0"): "from_node",
        ("s0:getitem_0", "s1:getitem_1"): "from_node",
        ("s0:getitem_1", "s1:getitem_2"): "from_node",
    }
    for port in range(3):
        assert f"s1:split_with_sizes.{port}" in linked.values("s0:chunk", port)
        assert not {f"s1:split_with_sizes.{other}" for other in {0, 1, 2} - {port}} & linked.values("s0:chunk", port)


def test_renumbered_getitems_of_a_copy_are_told_apart_by_their_port() -> None:
    linked = Linked(split(2, "split", True), split(3, "split", True, (1, 2, 0)))
    links = {pair for pair in linked.links() if "getitem" in pair[1]}
    assert links == {
        ("s0:getitem_1", "s1:getitem_0"),
        ("s0:getitem_2", "s1:getitem_1"),
        ("s0:getitem_0", "s1:getitem_2"),
    }


def test_no_value_is_claimed_where_the_compiler_does_not_say_which_output_it_was() -> None:
    float_ = graph(1, [N("x", "placeholder", key="input:0"), N("aminmax", "aminmax", "x", ports=2),
                       N("getitem", "getitem", "aminmax.0"), N("getitem_1", "getitem", "aminmax.1")])  # fmt: skip
    edge = graph(2, [N("x", "placeholder", key="input:0"), N("amin", "amin", "x", [(1, "aminmax")]),
                     N("amax", "amax", "x", [(1, "aminmax")])])  # fmt: skip
    linked = Linked(float_, edge)
    assert linked.values("s1:amax") == linked.values("s1:amin") == set()
    assert set(linked.set_of("s0:aminmax")) == {"s0:aminmax", "s1:amin", "s1:amax"}


def test_what_reads_a_delegates_port_follows_what_read_it_before() -> None:
    linked = Linked(delegated(20), delegated(30))
    links = linked.links()
    assert links["s0:out_a", "s1:out_a"] == "identity"
    renumbered = delegated(30)
    top = renumbered[0]
    names = ["getitem_7" if name == "out_b" else name for name in top.nodes["name"].to_pylist()]
    column = top.nodes.schema.get_field_index("name")
    tables = top.tables | {"nodes": top.nodes.set_column(column, top.nodes.schema.field("name"), pa.array(names))}
    linked = Linked(delegated(20), [replace(top, tables=tables), renumbered[1]])
    ends = {src for src, dst in linked.links() if dst == "s1:getitem_7"}
    assert ends == {"s0:out_b"}


def _composite(identity: int, first: str, second: str, outputs: tuple[str, str]) -> Graph:
    """Two taken apart values of one ancestor, in the order of their names or not; their parts have unequal shapes."""
    came = [(9, "lstm")]
    one, other = outputs
    names = iter([f"{one}", f"{other}"])
    return graph(
        identity,
        [
            N("x", "placeholder", key="input:0"),
            N("w", "placeholder", key="state:w", shape=("7",)),
            *(
                node
                for source, name, shape in (("x", first, ("2",)), ("w", second, ("7",)))
                for node in (
                    N(name, "split", source, came, shape=shape, ports=2),
                    N(next(names), "getitem", f"{name}.1", came, shape=shape),
                )
            ),
            N("cat", "cat", f"{one} {other}", came, shape=("9",)),
        ],
    )


def test_what_reads_an_output_follows_the_operator_where_names_are_given_anew() -> None:
    before = _composite(1, "split_1", "split", ("getitem_1", "getitem"))
    linked = Linked(before, _composite(2, "split", "split_1", ("getitem", "getitem_1")))
    recorded = {ends for ends in linked.links() if ends not in linked.inferred()}
    assert {ends for ends in recorded if "getitem" in ends[0] or "split" in ends[0]} == {
        ("s0:split_1", "s1:split"),
        ("s0:split", "s1:split_1"),
        ("s0:getitem_1", "s1:getitem"),
        ("s0:getitem", "s1:getitem_1"),
    }
    assert linked.values("s0:split_1", 1) == {"s0:getitem_1.0", "s1:split.1", "s1:getitem.0"}
    assert linked.contradictions() == []


def test_of_a_functional_form_what_the_operator_returns_comes_first() -> None:
    plain = graph(1, [
        N("cache", "placeholder", key="state:cache"), N("x", "placeholder", key="input:0"),
        N("step", "step", "cache x"), N("add", "add", "step"),
    ])  # fmt: skip
    came = [(1, "step")]
    for kind in ("auto_functionalized_v2", "step_functional"):
        form = graph(2, [
            N("cache", "placeholder", key="state:cache"), N("x", "placeholder", key="input:0"),
            N("form", kind, "cache x", came, ports=2), N("getitem", "getitem", "form.0", came),
            N("getitem_1", "getitem", "form.1", came), N("add", "add", "getitem", [(1, "add")]),
            N("copy", "copy", "cache getitem_1"),
        ])  # fmt: skip
        linked = Linked(plain, form)
        assert linked.values("s0:step") == {"s1:form.0", "s1:getitem.0"}
        assert linked.values("s1:form", 1) == {"s1:getitem_1.0"}


def test_an_output_that_is_read_in_its_place_has_the_number_that_is_read() -> None:
    came = [(9, "c")]
    with_readers = graph(1, [
        N("x", "placeholder", key="input:0"), N("call", "topk", "x", came, ports=2),
        N("getitem", "getitem", "call.0"), N("getitem_1", "getitem", "call.1"),
        N("relu", "relu", "getitem", [(9, "r")]), N("abs", "abs", "getitem_1", [(9, "a")]),
    ])  # fmt: skip
    without = graph(2, [
        N("x", "placeholder", key="input:0"), N("call", "topk", "x", came, ports=2),
        N("relu", "relu", "call.0", [(9, "r")]), N("abs", "abs", "call.1", [(9, "a")]),
    ])  # fmt: skip
    linked = Linked(with_readers, without)
    assert linked.values("s0:getitem_1") == {"s0:call.1", "s1:call.1"}


def test_what_reads_the_only_output_of_a_list_follows_the_operator() -> None:
    before = graph(1, [
        N("x", "placeholder", key="input:0"), N("cond", "cond", "x"), N("getitem", "getitem", "cond.0"),
    ])  # fmt: skip
    after = graph(2, [
        N("x", "placeholder", key="input:0"), N("cond", "cond", "x", [(1, "cond")]),
        N("getitem", "getitem", "cond.0", [(1, "cond")]),
    ])  # fmt: skip
    links = Linked(before, after).links()
    assert ("s0:getitem", "s1:getitem") in links
    assert ("s0:cond", "s1:getitem") not in links
