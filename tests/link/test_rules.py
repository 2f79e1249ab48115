from __future__ import annotations

import time

import pyarrow as pa

from tests.link.graphs import Linked, N, delegated, graph


def test_names_that_shift_at_a_retrace_are_not_evidence() -> None:
    before = graph(
        1,
        [
            N("x", "placeholder", key="input:0"),
            N("mul", "mul", "x"),
            N("mul_1", "mul", "mul"),
            N("mul_2", "mul", "mul_1"),
            N("relu", "relu", "mul_2"),
        ],
    )
    after = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("mul", "mul", "x", [(1, "mul_1")]),
        N("mul_1", "mul", "mul", [(1, "mul_2")]),
        N("relu", "relu", "mul_1", [(1, "relu")]),
    ])  # fmt: skip
    linked = Linked(before, after)
    assert linked.links() == {
        ("s0:x", "s1:x"): "signature",
        ("s0:mul_1", "s1:mul"): "from_node",
        ("s0:mul_2", "s1:mul_1"): "from_node",
        ("s0:relu", "s1:relu"): "from_node",
    }
    assert linked.unmatched() == {("s0:mul", "s1"): "removed by the pass retrace: nothing in s1 names it"}


def test_a_decomposition_is_one_set_whose_primary_computes_the_value() -> None:
    float_ = graph(
        1, [N("x", "placeholder", key="input:0"), N("w", "get_attr", key="state:w"), N("linear", "linear", "x w")]
    )
    edge = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("p_w", "placeholder", key="state:w"),
        N("view", "view_copy", "x", [(1, "linear")], shape=("1", "2")),
        N("permute", "permute_copy", "p_w", [(1, "linear")], shape=("2", "9")),
        N("addmm", "addmm", "view permute", [(1, "linear")], shape=("1", "2")),
        N("view_1", "view_copy", "addmm", [(1, "linear")]),
    ])  # fmt: skip
    linked = Linked(float_, edge)
    assert linked.set_of("s0:linear") == {
        "s0:linear": True, "s1:view": False, "s1:permute": False, "s1:addmm": True, "s1:view_1": False,
    }  # fmt: skip
    assert linked.set_of("s1:permute") == {"s0:linear": True, "s1:permute": True}
    assert linked.values("s0:linear") == {"s1:view_1.0"}
    assert linked.links()["s0:w", "s1:p_w"] == "signature"


def test_a_copy_is_recognised_although_no_chain_names_it() -> None:
    edge = graph(7, [N("conv", "convolution", "", [(1, "c")]), N("q", "quantize_per_tensor", "conv", [(1, "c_q")])])
    lowered = graph(8, [N("conv", "convolution", "", [(1, "c")]), N("q", "quantize_per_tensor", "conv", [(1, "c_q")])])
    assert set(Linked(edge, lowered).links().values()) == {"identity"}


def test_a_graph_identity_that_is_used_again_links_nothing_by_itself() -> None:
    one = graph(5, [N("a", "sin"), N("b", "cos", "a")])
    other = graph(5, [N("a", "tanh", "", [(9, "z")]), N("b", "relu", "a", [(5, "b")])])
    assert Linked(one, other).links() == {}


def test_a_folded_batch_norm_holds_the_value_of_the_folded_convolution() -> None:
    float_ = graph(
        1,
        [
            N("x", "placeholder", key="input:0"),
            N("conv", "conv2d", "x"),
            N("bn_w", "get_attr"),
            N("bn", "batch_norm", "conv bn_w"),
            N("relu", "relu", "bn"),
        ],
    )
    prepared = graph(
        2,
        [
            N("x", "placeholder", key="input:0"),
            N("conv", "conv2d", "x", [(1, "conv", "aten.conv2d.default")]),
            N("relu", "relu", "conv", [(1, "relu")]),
        ],
    )
    linked = Linked(float_, prepared)
    assert linked.values("s1:conv") == {"s0:bn.0"}
    assert linked.values("s0:conv") == set()
    assert linked.inferred() == {("s0:bn", "s1:conv")}
    assert linked.set_of("s1:conv") == {"s0:conv": False, "s0:bn": True, "s1:conv": True}
    assert linked.unmatched() == {
        ("s0:bn_w", "s1"): "folded into conv",
        ("s0:bn", "s1"): "folded into conv (inferred)",
    }


def test_observers_and_quantisers_belong_to_the_value_they_observe() -> None:
    float_ = graph(
        1, [N("x", "placeholder", key="input:0"), N("w", "get_attr", key="state:w"), N("linear", "linear", "x w")]
    )
    prepared = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("observe_x", "MinMaxObserver", "x", target="observe_x"),
        N("w", "get_attr", key="state:w"),
        N("observe_w", "MinMaxObserver", "w", target="observe_w"),
        N("linear", "linear", "observe_x observe_w", [(1, "linear")]),
    ])  # fmt: skip
    quantized = graph(3, [
        N("x", "placeholder", key="input:0"),
        N("q", "quantize_per_tensor", "x", [(2, "observe_x", "observe_x")]),
        N("dq", "dequantize_per_tensor", "q", [(2, "observe_x", "observe_x")]),
        N("codes", "get_attr"),
        N("dq_w", "dequantize_per_channel", "codes", [(2, "observe_w", "observe_w")]),
        N("linear", "linear", "dq dq_w", [(2, "linear")]),
    ])  # fmt: skip
    linked = Linked(float_, prepared, quantized)
    links = linked.links()
    assert links["s0:x", "s1:observe_x"] == links["s0:w", "s1:observe_w"] == "observer"
    assert links["s1:observe_x", "s2:dq"] == links["s1:observe_w", "s2:dq_w"] == "from_node"
    assert links["s1:w", "s2:codes"] == "observer"
    assert {"s0:w", "s1:w", "s1:observe_w", "s2:dq_w"} <= set(linked.set_of("s2:dq_w")) | {"s1:w"}
    assert linked.values("s2:dq") == {
        "s0:x.0",
        "s1:x.0",
        "s1:observe_x.0",
    }  # and not the unquantised x of its own stage
    assert linked.values("s2:x") == {"s0:x.0", "s1:x.0"}


def test_methods_never_mix() -> None:
    stage = [
        graph(i, [N("x", "placeholder", key="input:0"), N("op", kind, "x")], method=method)
        for i, (method, kind) in enumerate([("prefill", "sin"), ("decode", "sin")])
    ]
    later = [
        graph(
            i + 5,
            [N("x", "placeholder", key="input:0"), N("op", "sin", "x", [(i, "op", "aten.sin.default")])],
            method=m,
        )
        for i, m in enumerate(["prefill", "decode"])
    ]
    linked = Linked(stage, later)
    pairs = {(r["src"], r["dst"]) for r in linked.tables["links"].to_pylist()}
    assert pairs == {(0, 4), (1, 5), (2, 6), (3, 7)}


def test_a_name_counts_only_where_nothing_else_exists() -> None:
    before = graph(1, [N("sym", "sym_size"), N("gone", "sin")])
    after = graph(2, [N("sym", "sym_size"), N("gone", "cos")])
    linked = Linked(before, after)
    assert linked.links() == {("s0:sym", "s1:sym"): "name"}
    assert linked.inferred() == {("s0:sym", "s1:sym")}


def test_every_node_is_the_focus_of_exactly_one_set_and_a_member_of_it() -> None:
    edge = graph(
        3,
        [
            N("x", "placeholder", key="input:0"),
            N("relu", "relu", "x", [(1, "relu")]),
            N("softmax", "softmax", "relu", [(1, "softmax")]),
        ],
    )
    linked = Linked(edge, delegated(20), delegated(30))
    focused = [r["ordinal"] for r in linked.tables["sync_sets"].to_pylist() if r["focus"]]
    assert sorted(focused) == list(range(len(linked.run)))


def test_sync_sets_follow_the_links_forward_and_backward_never_sideways() -> None:
    edge = graph(
        3,
        [
            N("x", "placeholder", key="input:0"),
            N("relu", "relu", "x", [(1, "relu")]),
            N("softmax", "softmax", "relu", [(1, "softmax")]),
        ],
    )
    linked = Linked(edge, delegated(20), delegated(30))
    links = set(linked.links())

    def reach(label: str, end: int) -> set[str]:
        found = {label}
        while True:
            more = {pair[1 - end] for pair in links if pair[end] in found} - found
            if not more:
                return found
            found |= more

    for ordinal in range(len(linked.run)):
        label = linked.label(ordinal)
        assert set(linked.set_of(label)) == reach(label, 0) | reach(label, 1)


def test_linking_grows_linearly() -> None:
    def chain(identity: int, size: int, ancestor: int | None) -> object:
        return graph(
            identity,
            [
                N(f"n{i}", "relu", f"n{i - 1}" if i else "", [(ancestor, f"n{i}")] if ancestor else ())
                for i in range(size)
            ],
        )

    def seconds(size: int) -> float:
        graphs = [chain(i + 1, size, i or None) for i in range(5)]
        start = time.process_time()
        Linked(*graphs)
        return time.process_time() - start

    seconds(100)
    assert seconds(4000) < 12 * max(seconds(1000), 0.02)


def test_a_deep_copy_is_recognised_by_all_that_is_cited_of_it() -> None:
    nodes = [N("x", "placeholder", key="input:0"), N("sin", "sin", "x"), N("cos", "cos", "sin"), N("add", "add", "cos")]
    later = graph(
        9, [N("a", "sin", "", [(7, "sin")]), N("b", "cos", "a", [(7, "cos")]), N("c", "add", "b", [(7, "add")])]
    )
    assert Linked(graph(1, nodes), later).links() == {
        ("s0:sin", "s1:a"): "from_node",
        ("s0:cos", "s1:b"): "from_node",
        ("s0:add", "s1:c"): "from_node",
    }
    other = graph(
        9, [N("a", "sin", "", [(7, "sin")]), N("b", "cos", "a", [(7, "tanh")]), N("c", "add", "b", [(7, "add")])]
    )
    assert Linked(graph(1, nodes), other).links() == {}
    partly = graph(9, [N("b", "cos", "", [(7, "cos")])])
    assert Linked(graph(1, nodes), partly).links() == {}


def test_a_stage_without_provenance_does_not_cut_the_others_off() -> None:
    nodes = [N("x", "placeholder", key="input:0"), N("sin", "sin", "x"), N("cos", "cos", "sin")]
    rebuilt = graph(2, [N("y", "placeholder"), N("s", "sin", "y"), N("c", "tanh", "s")])
    edge = graph(3, [
        N("x", "placeholder", key="input:0"),
        N("aten_sin", "sin", "x", [(1, "sin")]),
        N("aten_cos", "cos", "aten_sin", [(1, "cos")]),
    ])  # fmt: skip
    linked = Linked(graph(1, nodes), rebuilt, edge)
    links = linked.links()
    assert links["s0:sin", "s2:aten_sin"] == links["s0:cos", "s2:aten_cos"] == "from_node"
    assert links["s0:x", "s2:x"] == "signature"
    assert linked.set_of("s2:aten_cos") == {"s0:cos": True, "s2:aten_cos": True}
    assert ("s2:aten_cos", "s1") in linked.unmatched()


def test_a_view_that_replaces_a_copy_is_the_same_operator() -> None:
    def decomposed(identity: int, view: str) -> object:
        return graph(identity, [
            N("x", "placeholder", key="input:0"),
            N("a", view, "x", [(1, "linear")], target=f"t.{view}"),
            N("permute", "permute_copy", "x", [(1, "linear")]),
            N("addmm", "addmm", "a permute", [(1, "linear")]),
            N("b", view, "addmm", [(1, "linear")], target=f"t.{view}"),
        ])  # fmt: skip

    links = Linked(decomposed(2, "view_copy"), decomposed(3, "view")).links()
    assert {(a.partition(":")[2], b.partition(":")[2]) for a, b in links} == {
        (n, n) for n in ("x", "a", "permute", "addmm", "b")
    }


def test_a_convolution_that_others_read_is_folded_all_the_same() -> None:
    float_ = graph(
        1,
        [
            N("x", "placeholder", key="input:0"),
            N("conv", "conv2d", "x"),
            N("bn", "batch_norm", "conv"),
            N("add", "add", "bn conv"),
        ],
    )
    conv = N("conv", "conv2d", "x", [(1, "conv", "aten.conv2d.default")])
    x = N("x", "placeholder", key="input:0")
    prepared = graph(2, [x, conv, N("add", "add", "conv conv", [(1, "add")])])
    linked = Linked(float_, prepared)
    assert linked.values("s1:conv") == {"s0:bn.0"}
    assert linked.values("s0:conv") == set()


def test_a_batch_norm_that_was_only_removed_is_not_folded() -> None:
    float_ = graph(
        1,
        [
            N("x", "placeholder", key="input:0"),
            N("conv", "conv2d", "x"),
            N("bn", "batch_norm", "conv"),
            N("relu", "relu", "bn"),
        ],
    )
    conv = N("conv", "conv2d", "x", [(1, "conv", "aten.conv2d.default")])
    x = N("x", "placeholder", key="input:0")
    after = graph(2, [x, conv, N("relu", "relu", "x", [(1, "relu")])])
    assert Linked(float_, after).inferred() == set()


def test_twins_keep_their_names_unless_names_were_given_anew() -> None:
    twins = [
        N("x", "placeholder", key="input:0"),
        N("relu_1", "relu", "x", [(9, "c")]),
        N("relu", "relu", "x", [(9, "c")]),
    ]
    linked = Linked(graph(1, twins), graph(2, [twins[0], twins[2], twins[1]]))
    assert linked.links()["s0:relu", "s1:relu"] == linked.links()["s0:relu_1", "s1:relu_1"] == "identity"


def test_a_number_of_a_graph_that_is_used_again_proves_nothing() -> None:
    float_ = graph(1, [N("x", "placeholder", key="input:0"), N("mul", "mul", "x"), N("mul_1", "mul", "mul")])
    reused = [(1, "mul"), (5, "mul_1")]  # the first graph with this number is gone, the second came from another
    later = graph(2, [N("x", "placeholder", key="input:0"), N("mul", "mul", "x", reused)])
    assert "from_node" not in Linked(float_, later).links().values()
    other = graph(1, [N("x", "placeholder", key="input:0"), N("mul", "relu", "x", target="aten.relu.default")])
    assert Linked(float_, other).links() == {("s0:x", "s1:x"): "signature"}


def test_contradictions_are_found() -> None:
    nodes = [
        N("x", "placeholder", key="input:0"),
        N("relu", "relu", "x", [(9, "r")]),
        N("abs", "abs", "relu", [(9, "a")], shape=("3",)),
    ]
    linked = Linked(graph(1, nodes), graph(2, nodes))
    assert linked.contradictions() == []
    at = {linked.label(node): node for node in range(len(linked.run))}
    wrong = {"src": at["s0:relu"], "dst": at["s1:abs"], "evidence": "identity", "inferred": False, "note": None}
    schema = linked.tables["links"].schema
    linked.tables["links"] = pa.Table.from_pylist([*linked.tables["links"].to_pylist(), wrong], schema)
    member = {"value_class": 0, "ordinal": at["s1:abs"], "port": 0, "evidence": "identity"}
    first = linked.tables["value_classes"].to_pylist()[0]
    schema = linked.tables["value_classes"].schema
    linked.tables["value_classes"] = pa.Table.from_pylist(
        [first, {**member, "value_class": first["value_class"]}], schema
    )
    assert linked.contradictions() == ["identity of unequal nodes", "values of unequal size in one class"]
