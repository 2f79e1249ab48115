"""What a backend packs without a name or a handle: constants, layouts; and what is said of what nothing records."""

from __future__ import annotations

import pyarrow as pa

from fxstore.records import Graph, Stage
from tests.link.graphs import Linked, N, graph

NCHW, NHWC = ("1", "4", "8", "8"), ("1", "8", "8", "4")


def on(backend: str, made: Graph) -> Graph:
    """Puts the operators and calls of a graph on a backend."""
    nodes = made.nodes
    owners = [backend if role in ("op", "delegate") else None for role in nodes["role"].to_pylist()]
    at = nodes.column_names.index("backend")
    nodes = nodes.set_column(at, nodes.schema.field("backend"), pa.array(owners, nodes.schema.field("backend").type))
    return Graph(**{**vars_of(made), "tables": {**made.tables, "nodes": nodes}})


def with_role(made: Graph, old: str, new: str) -> None:
    nodes = made.nodes
    roles = [new if role == old else role for role in nodes["role"].to_pylist()]
    at = nodes.column_names.index("role")
    made.tables["nodes"] = nodes.set_column(at, nodes.schema.field("role"), pa.array(roles, pa.string()))


def vars_of(made: Graph) -> dict[str, object]:
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


def record_and_payload(shape: tuple[str, ...] = NCHW, laid: tuple[str, ...] = NHWC) -> Linked:
    """A convolution, a relu and a sum with a bias in a record; the payload has them with their channels last."""
    edge = graph(1, [
        N("x", "placeholder", key="input:0", shape=shape),
        N("weight", "get_attr", key="parameter:weight", shape=("4", "4", "3", "3")),
        N("bias", "get_attr", key="parameter:bias", shape=("4",)),
        N("scale", "get_attr", key="parameter:scale", shape=shape),
        N("conv", "convolution", "x weight bias", handles=(1,), shape=shape),
        N("relu", "relu", "conv", handles=(2,), shape=shape),
        N("mul", "mul", "relu scale", handles=(3,), shape=shape),
        N("output", "output", "mul"),
    ])  # fmt: skip
    top = graph(2, [
        N("x", "placeholder", key="input:0", shape=shape),
        N("c0", "get_attr", shape=shape),
        N("call", "executorch_call_delegate", "x", shape=shape),
        N("call_1", "executorch_call_delegate", "call c0", shape=shape),
        N("output", "output", "call_1"),
    ])  # fmt: skip
    conv = graph(3, [
        N("in_0", "placeholder", shape=shape),
        N("t0", "static_transpose", "in_0", target="xnnpack.static_transpose", shape=laid),
        N("filter", "get_attr", shape=("4", "3", "3", "4")),
        N("offset", "get_attr", shape=("4",)),
        N("op", "conv2d", "t0 filter offset", handles=(1,), target="xnnpack.conv2d", shape=laid),
        N("act", "clamp", "op", handles=(2,), target="xnnpack.clamp", shape=laid),
        N("t1", "static_transpose", "act", target="xnnpack.static_transpose", shape=shape),
        N("output", "output", "t1"),
    ], path="d0", parent=("", 2))  # fmt: skip
    mul = graph(4, [
        N("in_0", "placeholder", shape=shape),
        N("in_1", "placeholder", shape=shape),
        N("op", "multiply", "in_0 in_1", handles=(3,), target="xnnpack.multiply", shape=shape),
        N("output", "output", "op"),
    ], path="d1", parent=("", 3))  # fmt: skip
    program = tuple(on("XnnpackBackend", made) for made in (top, conv, mul))
    for made in program:
        with_role(made, "parameter", "constant")
    return Linked.of([Stage("edge", (edge,), "edge"), Stage("program", program, "runtime")])


def test_an_unnamed_constant_is_what_the_counterpart_of_its_reader_reads() -> None:
    linked = record_and_payload()
    links = linked.links()
    assert links["edge:bias", "program:d0/offset"] == links["edge:scale", "program:c0"] == "structure"
    assert {("edge:bias", "program:d0/offset"), ("edge:scale", "program:c0")} <= linked.inferred()
    assert not linked.values("edge:bias")  # a batch-norm may have been folded into it
    assert not [pair for pair in links if pair[1] == "program:d0/filter"]  # its shape tells nothing


def test_a_layout_that_was_taken_back_holds_the_value_and_what_is_laid_out_otherwise_does_not() -> None:
    for linked in (record_and_payload(), record_and_payload(("1", "8", "8", "8"), ("1", "8", "8", "8"))):
        assert "edge:relu.0" in linked.values("program:d0/t1")
        assert "edge:relu.0" in linked.values("program:call")
        assert linked.values("program:d0/act") == linked.values("program:d0/op") == set()
        assert linked.links()["edge:relu", "program:d0/t1"] == "structure"
        assert linked.links()["edge:relu", "program:d1/in_0"] == "structure"
        assert {("edge:relu", "program:d0/t1"), ("edge:relu", "program:d1/in_0")} <= linked.inferred()


def test_what_a_backend_made_is_said_to_be_made_by_it() -> None:
    reasons = record_and_payload().unmatched()
    assert reasons["program:d0/filter", "edge"] == (
        "constant packed by XnnpackBackend, which keeps no name of it: op reads it"
    )
    assert reasons["program:d0/t0", "edge"] == (
        "inserted by XnnpackBackend: lays the value of in_0 out with its channels last, or back"
    )
    assert reasons["edge:weight", "program"] == "packed into call by XnnpackBackend"
    assert "no provenance recorded" not in reasons.values()


def test_nothing_is_said_of_a_maker_that_is_not_known() -> None:
    bare = graph(1, [N("x", "placeholder", key="input:0"), N("relu", "relu", "x")])
    more = graph(2, [N("x", "placeholder", key="input:0"), N("k", "get_attr"), N("mul", "mul", "x k")])
    reasons = Linked(bare, more).unmatched()
    assert reasons["s1:k", "s0"] == reasons["s1:mul", "s0"] == "no provenance recorded"


def test_what_a_fold_and_a_number_became_is_said() -> None:
    before = graph(1, [
        N("x", "placeholder", key="input:0"), N("conv", "convolution", "x"), N("norm", "batch_norm", "conv"),
        N("relu", "relu", "norm"), N("output", "output", "relu", key="output:0"),
    ])  # fmt: skip
    after = graph(2, [
        N("x", "placeholder", key="input:0"), N("bias", "get_attr"),
        N("conv", "convolution", "x bias", [(1, "conv", "aten.convolution.default")]),
        N("relu", "relu", "conv", [(1, "relu")]), N("seen", "MinMaxObserver", "bias"),
        N("output", "output", "relu", key="output:0"),
    ])  # fmt: skip
    reasons = Linked(before, after).unmatched()
    assert reasons["s1:bias", "s0"] == "constant made by folding norm into conv"
    assert reasons["s1:seen", "s0"] == "observes bias"


def test_a_buffer_that_is_written_back_is_said_to_be() -> None:
    nodes = [
        N("x", "placeholder", key="input:0"),
        N("cache", "get_attr", key="buffer:cache"),
        N("add", "add", "x cache"),
    ]
    emitted = graph(2, [*nodes, N("copy_", "copy_", "cache add", [(1, "copy_")])])
    with_role(emitted, "parameter", "buffer")
    stages = [Stage("lowered", (graph(1, nodes),), "lowered"), Stage("runtime", (emitted,), "runtime")]
    reason = Linked.of(stages).unmatched()["runtime:copy_", "lowered"]
    assert reason == "inserted by to_executorch: writes the buffer cache back"


def test_a_decompositions_own_outputs_are_not_those_of_the_operator() -> None:
    """An operator of two outputs whose decomposition has a split in two, of other shapes."""
    before = graph(1, [
        N("x", "placeholder", key="input:0"), N("rnn", "rnn", "x", ports=2, shape=("4",)),
        N("y", "getitem", "rnn.0", shape=("4",)), N("h", "getitem", "rnn.1", shape=("4",)),
    ])  # fmt: skip
    cited = [(1, "rnn", "aten.rnn.default")]
    after = graph(2, [
        N("x", "placeholder", key="input:0"), N("gates", "mm", "x", cited),
        N("parts", "split", "gates", cited, ports=2), N("part", "getitem", "parts.0", cited),
        N("other", "getitem", "parts.1", cited), N("out", "mul", "part other", cited, shape=("4",)),
    ])  # fmt: skip
    links = Linked(before, after).links()
    assert {a for a, b in links if b in ("s1:part", "s1:other", "s1:out")} == {"s0:rnn"}
