"""Links by debug handle, on graphs without any provenance unless a test says so."""

from __future__ import annotations

from tests.link.graphs import Linked, N, graph

ATTENTION = ("view", "permute", "bmm", "softmax", "bmm", "view")


def decomposed(identity: int, handle: int = 3) -> object:
    return graph(identity, [
        N("x", "placeholder", key="input:0"),
        N("relu", "relu", "x", handles=(1,)),
        *(N(f"{kind}_{i}", kind, "relu", handles=(handle,)) for i, kind in enumerate(ATTENTION)),
        N("gelu", "gelu", f"view_{len(ATTENTION) - 1}", handles=(4,)),
        N("tanh", "tanh", "gelu", handles=(5,)),
    ])  # fmt: skip


def whole() -> object:
    return graph(1, [
        N("x", "placeholder", key="input:0"),
        N("a", "relu", "x", handles=(1,)),
        N("b", "attention", "a", handles=(3,)),
        N("c", "gelu", "b", handles=(4,)),
        N("d", "tanh", "c", handles=(5,)),
    ])  # fmt: skip


def by_handle(linked: Linked) -> set[tuple[str, str]]:
    return {
        (a.partition(":")[2], b.partition(":")[2])
        for (a, b), evidence in linked.links().items()
        if evidence == "handle"
    }


def test_a_handle_that_many_nodes_share_gives_one_set_not_pairs_between_them() -> None:
    linked = Linked(whole(), decomposed(2), decomposed(3))
    members = {f"{kind}_{i}" for i, kind in enumerate(ATTENTION)}
    assert {b for a, b in by_handle(linked) if a == "b"} == members
    assert set(linked.set_of("s0:b")) == {"s0:b"} | {f"s{s}:{name}" for s in (1, 2) for name in members}
    assert set(linked.set_of("s1:softmax_3")) == {"s0:b", "s1:softmax_3", "s2:softmax_3"}
    assert set(linked.set_of("s1:view_0")) == {"s0:b", "s1:view_0", "s2:view_0"}


def test_two_groups_of_one_handle_without_a_common_order_are_left_alone() -> None:
    one = graph(1, [N(f"a{i}", kind, handles=(1,)) for i, kind in enumerate(("sin", "sin", "cos"))])
    other = graph(2, [N(f"b{i}", kind, handles=(1,)) for i, kind in enumerate(("sin", "sin", "sin", "tanh"))])
    linked = Linked(one, other)
    assert by_handle(linked) == set()
    assert linked.unmatched()["s1:b3", "s0"] == "shares handle 1 with 3 others: which is which is not recorded"


def test_programs_that_both_count_from_one_are_not_one_program() -> None:
    float_ = graph(1, [N(f"f{i}", kind, handles=(i + 1,)) for i, kind in enumerate(("conv", "relu", "linear", "add"))])
    kinds = ("quantize_per_tensor", "dequantize_per_tensor", "conv", "quantize_per_tensor")
    quantised = graph(2, [N(f"q{i}", kind, handles=(i + 1,)) for i, kind in enumerate(kinds)])
    assert Linked(float_, quantised).links() == {}


def test_recorded_counterparts_with_other_handles_show_another_numbering() -> None:
    names = ("relu", "sin", "cos", "add")
    before = graph(1, [N(name, name, handles=(i + 1,)) for i, name in enumerate(names)])
    after = graph(
        2,
        [N(f"n_{name}", name, "", [(1, name)], handles=(i + 2,)) for i, name in enumerate(names[:3])]
        + [N("late", "relu", handles=(1,))],
    )
    assert "handle" not in Linked(before, after).links().values()
    same = graph(
        2,
        [N(f"n_{name}", name, "", [(1, name)], handles=(i + 1,)) for i, name in enumerate(names[:3])]
        + [N("late", "sum", handles=(4,))],
    )
    assert by_handle(Linked(before, same)) == {("add", "late")}


def test_methods_that_share_a_numbering_never_mix() -> None:
    def stage(first: int) -> list[object]:
        return [
            graph(first, [N("aten_sin_default", "sin", handles=(1,))], method="prefill"),
            graph(first + 1, [N("aten_cos_default", "cos", handles=(1,))], method="decode"),
        ]

    linked = Linked(stage(1), stage(11))
    assert by_handle(linked) == {("aten_sin_default",) * 2, ("aten_cos_default",) * 2}


def test_only_equal_namespaces_are_compared() -> None:
    edge = graph(1, [N("sin", "sin", handles=(0,)), N("cos", "cos", handles=(1,))])
    emitted = graph(
        2, [N("a", "sin", handles=(0,), space="instruction"), N("b", "cos", handles=(1,), space="instruction")]
    )
    assert Linked(edge, emitted).links() == {}
    again = graph(
        3, [N("c", "sin", handles=(0,), space="instruction"), N("d", "cos", handles=(1,), space="instruction")]
    )
    assert by_handle(Linked(edge, emitted, again)) == {("a", "c"), ("b", "d")}


def test_overlapping_handles_stay_apart_and_say_what_they_cover() -> None:
    reference = graph(1, [N(f"n{i}", kind, handles=(i,)) for i, kind in enumerate(("a", "b", "c"), 1)])
    fused = graph(2, [
        N("first", "ab", handles=(1, 2)), N("second", "bc", handles=(2, 3)),
        N("ka", "a", handles=(1,)), N("kb", "b", handles=(2,)), N("kc", "c", handles=(3,)),
    ])  # fmt: skip
    linked = Linked(reference, fused)
    ends = {b: {a for a, other in by_handle(linked) if other == b} for b in ("first", "second")}
    assert ends == {"first": {"n1", "n2"}, "second": {"n2", "n3"}}


def test_the_value_of_a_fused_operator_is_that_of_its_last_handle() -> None:
    shape = ("2", "8")
    others = [N(f"relu_{i}", "relu", handles=(i,)) for i in range(10, 20)]
    fused = N("fused", "int4_linear", handles=(4, 5, 6, 7, 8), shape=shape)
    linear = N("linear", "linear", handles=(8,), shape=shape)
    linked = Linked(graph(1, [*others, fused]), graph(2, [*others, linear]))
    notes = {r["note"] for r in linked.tables["links"].to_pylist() if linked.label(r["dst"]) == "s1:linear"}
    assert notes == {"1 of 5 handles: 8"}
    assert linked.values("s0:fused") == {"s1:linear.0"}


def test_a_backends_own_names_of_operators_are_known() -> None:
    edge = graph(1, [
        N("x", "placeholder"), N("conv", "convolution", "x", handles=(1,)), N("relu", "relu", "conv", handles=(2,)),
        N("linear", "linear", "relu", handles=(3,)),
    ])  # fmt: skip
    top = graph(
        2, [N("x", "placeholder"), N("call", "executorch_call_delegate", "x", handles=(0,), space="instruction")]
    )
    inner = graph(3, [
        N("x", "placeholder"),
        N("op_0", "conv2d", "x", handles=(1,), target="xnnpack.conv2d"),
        N("op_1", "clamp", "op_0", handles=(2,), target="xnnpack.clamp"),
        N("op_2", "fully_connected", "op_1", handles=(3,), target="xnnpack.fully_connected"),
    ], path="delegate_0", parent=("", 1))  # fmt: skip
    linked = Linked(edge, [top, inner])
    assert by_handle(linked) == {
        ("conv", "delegate_0/op_0"),
        ("relu", "delegate_0/op_1"),
        ("linear", "delegate_0/op_2"),
    }
    assert set(linked.set_of("s0:relu")) == {"s0:relu", "s1:delegate_0/op_1", "s1:call"}


def record_and_program() -> Linked:
    """A record knows handles and instructions; a program's file instructions outside and handles inside of a call."""
    edge = graph(1, [
        N("x", "placeholder", key="input:0"),
        N("conv", "convolution", "x", handles=(1,), runs=(0,)),
        N("norm", "batch_norm", "conv", handles=(2,), runs=(0,)),
        N("first", "mul", "norm", handles=(3,), runs=(1, 2, 3)),
        N("second", "mul", "x", handles=(3,), runs=(1, 2, 3)),
        N("tall", "view", "first", handles=(3,), runs=(1, 2, 3)),
        N("wide", "view", "second", handles=(3,), runs=(1, 2, 3)),
        N("product", "bmm", "tall wide", handles=(3,), runs=(1, 2, 3)),
        N("split", "split", "product", handles=(4,), runs=(4,), ports=2),
        N("low", "getitem", "split.0", handles=(4,), runs=(4,)),
        N("high", "getitem", "split.1", handles=(4,), runs=(4,)),
    ])  # fmt: skip
    top = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("call", "executorch_call_delegate", "x", handles=(0,), space="instruction"),
        N("mul_0", "mul", "x", handles=(1,), space="instruction"),
        N("mul_1", "mul", "call", handles=(2,), space="instruction"),
        N("call_1", "executorch_call_delegate", "mul_0 mul_1", handles=(3,), space="instruction"),
        N("parts", "split", "call_1", handles=(4,), space="instruction", ports=2),
    ])  # fmt: skip
    conv = graph(3, [
        N("x", "placeholder"), N("op", "conv2d", "x", handles=(1,), target="xnnpack.conv2d"),
        N("output", "output", "op"),
    ], path="d0", parent=("", 1))  # fmt: skip
    product = graph(4, [
        N("a", "placeholder"), N("b", "placeholder"),
        N("r0", "static_reshape", "a", handles=(3,), target="xnnpack.static_reshape"),
        N("r1", "static_reshape", "b", handles=(3,), target="xnnpack.static_reshape"),
        N("mm", "batch_matrix_multiply", "r1 r0", handles=(3,), target="xnnpack.batch_matrix_multiply"),
        N("output", "output", "mm"),
    ], path="d1", parent=("", 4))  # fmt: skip
    return Linked(edge, [top, conv, product])


def test_a_handle_of_many_instructions_is_told_apart_by_what_its_nodes_read() -> None:
    assert by_handle(record_and_program()) == {
        ("conv", "d0/op"), ("second", "mul_0"), ("first", "mul_1"), ("tall", "d1/r1"), ("wide", "d1/r0"),
        ("product", "d1/mm"), ("split", "parts"), ("low", "parts"), ("high", "parts"),
    }  # fmt: skip


def test_what_a_backend_fused_away_is_run_by_its_call_and_holds_no_value_there() -> None:
    linked = record_and_program()
    assert linked.links()["s0:norm", "s1:call"] == "delegate"
    assert set(linked.set_of("s0:norm")) == {"s0:norm", "s1:call"}
    assert not [label for label in linked.values("s0:norm") if label.startswith("s1:")]
    assert not [reason for (label, _), reason in linked.unmatched().items() if label == "s0:norm"]


def test_nodes_that_read_ports_do_not_take_the_place_of_the_first_port() -> None:
    linked = record_and_program()
    assert [linked.values(f"s0:{name}") for name in ("low", "high")] == [
        {"s0:split.0", "s1:parts.0"},
        {"s0:split.1", "s1:parts.1"},
    ]
