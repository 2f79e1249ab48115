"""What is concluded from structure: folds, merges, outputs that moved, copies; and what is not concluded."""

from __future__ import annotations

from tests.link.graphs import Linked, N, graph


def test_a_common_ancestor_alone_makes_no_pairs_of_many() -> None:
    def parts(identity: int, kinds: str, count: int) -> object:
        return graph(identity, [N(f"{kinds}_{i}", kinds, "", [(1, "attention")]) for i in range(count)])

    linked = Linked(parts(2, "sin", 9), parts(3, "cos", 10))
    assert linked.links() == {}
    reason = "comes from attention, as 9 others do: which is which is not recorded"
    assert linked.unmatched()["s1:cos_0", "s0"] == reason
    few = Linked(parts(2, "sin", 2), parts(3, "cos", 3))
    assert len(few.inferred()) == len(few.links()) == 6


def series(identity: int, norms: int) -> object:
    return graph(identity, [
        N("x", "placeholder", key="input:0"),
        N("conv", "conv2d", "x"),
        *(N(f"bn_{i}", "batch_norm", f"bn_{i - 1}" if i else "conv") for i in range(norms)),
        N("relu", "relu", f"bn_{norms - 1}"),
    ])  # fmt: skip


def test_of_batch_norms_in_a_row_the_last_holds_the_value() -> None:
    prepared = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("conv", "conv2d", "x", [(1, "conv", "aten.conv2d.default")]),
        N("relu", "relu", "conv", [(1, "relu")]),
    ])  # fmt: skip
    linked = Linked(series(1, 3), prepared)
    assert linked.inferred() == {(f"s0:bn_{i}", "s1:conv") for i in range(3)}
    assert linked.values("s1:conv") == {"s0:bn_2.0"}
    assert linked.values("s0:x") == {"s1:x.0"}
    assert linked.unmatched()["s0:bn_0", "s1"] == "folded into conv (inferred)"


def test_an_operator_that_was_merged_with_its_equal_holds_its_value() -> None:
    before = graph(1, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x"), N("sin_1", "sin", "x"), N("neg", "neg", "sin"), N("neg_1", "neg", "sin_1"),
        N("add", "add", "neg neg_1"),
    ])  # fmt: skip
    after = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x", [(1, "sin")]), N("neg", "neg", "sin", [(1, "neg")]),
        N("add", "add", "neg neg", [(1, "add")]),
    ])  # fmt: skip
    linked = Linked(before, after)
    assert linked.inferred() == {("s0:sin_1", "s1:sin"), ("s0:neg_1", "s1:neg")}
    assert linked.values("s1:neg") == {"s0:neg.0", "s0:neg_1.0"}
    assert linked.unmatched() == {
        ("s0:sin_1", "s1"): "merged with sin (inferred)", ("s0:neg_1", "s1"): "merged with neg (inferred)",
    }  # fmt: skip
    removed = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x", [(1, "sin")]), N("neg", "neg", "sin", [(1, "neg")]),
        N("add", "add", "neg x", [(1, "add")]),
    ])  # fmt: skip
    edited = graph(1, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x"), N("edit", "add_", "x"), N("sin_1", "sin", "x"), N("add", "add", "sin sin_1"),
    ])  # fmt: skip
    assert Linked(edited, removed).inferred() == set()


def test_the_outputs_of_an_operator_that_was_split_up_are_what_is_read_in_their_place() -> None:
    float_ = graph(1, [
        N("x", "placeholder", key="input:0"),
        N("aminmax", "aminmax", "x", ports=2),
        N("getitem", "getitem", "aminmax.0"), N("getitem_1", "getitem", "aminmax.1"),
        N("sub", "sub", "getitem_1 getitem"),
    ])  # fmt: skip
    origin = [(1, "aminmax")]
    core = graph(2, [
        N("x", "placeholder", key="input:0"),
        N("amin", "amin", "x", origin), N("amax", "amax", "x", origin), N("sub", "sub", "amax amin", [(1, "sub")]),
    ])  # fmt: skip
    linked = Linked(float_, core)
    assert linked.values("s1:amin") == {"s0:getitem.0", "s0:aminmax.0"}
    assert linked.values("s1:amax") == {"s0:getitem_1.0", "s0:aminmax.1"}
    assert linked.inferred() == {("s0:getitem", "s1:amin"), ("s0:getitem_1", "s1:amax")}


def test_a_copy_that_was_removed_is_no_value_of_its_own() -> None:
    x = N("x", "placeholder", key="input:0")
    float_ = graph(1, [x, N("relu", "relu", "x"), N("copy", "clone", "relu"), N("sin", "sin", "copy")])
    edge = graph(2, [x, N("relu", "relu", "x", [(1, "relu")]), N("sin", "sin", "relu", [(1, "sin")])])
    linked = Linked(float_, edge)
    assert linked.values("s0:copy") == {"s0:relu.0", "s1:relu.0"}
    reason = "removed by the pass retrace: it passes the value of relu on unchanged"
    assert linked.unmatched()["s0:copy", "s1"] == reason


def test_a_layout_that_was_inserted_is_no_value_of_its_own_and_a_permutation_is_none_that_is_known() -> None:
    x = N("x", "placeholder", key="input:0")
    float_ = graph(1, [x, N("relu", "relu", "x"), N("sin", "sin", "relu")])
    edge = graph(2, [
        x,
        N("relu", "relu", "x", [(1, "relu")]), N("layout", "_to_dim_order_copy", "relu"),
        N("turned", "permute", "layout"),
        N("sin", "sin", "turned", [(1, "sin")]),
    ])  # fmt: skip
    linked = Linked(float_, edge)
    assert linked.values("s0:relu") == {"s1:relu.0", "s1:layout.0"}
    assert linked.values("s1:turned") == set()
