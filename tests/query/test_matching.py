"""Which node is which in two runs, against edit scripts that know it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query.edited import Model, Op, branches, drawn, matched, stacked, truth

MODELS = st.one_of(
    st.builds(drawn, st.integers(0, 10**6)),
    st.builds(stacked, st.integers(2, 8)),
    st.builds(branches, st.integers(2, 4), st.integers(1, 4)),
)
OPTIONS = settings(max_examples=30, deadline=None)


def inner(model: Model) -> list[str]:
    return [op.key for op in model.ops if not op.leaf and op.op_type != "output"]


@OPTIONS
@given(MODELS, st.integers(0, 10**6), st.booleans())
def test_a_retrace_in_another_order_with_other_names_changes_nothing(model: Model, seed: int, prefixed: bool) -> None:
    head = model.reorder(seed).renumber()
    if prefixed:
        head = head.rename_modules(lambda path: f"wrapped.{path}")
    assert matched(model, head) == truth(model, head)


@OPTIONS
@given(MODELS, st.data())
def test_an_inserted_operator_is_the_one_that_is_new(model: Model, data: st.DataObject) -> None:
    after = data.draw(st.sampled_from(inner(model)))
    head = model.insert_after(after, Op("new", "gelu", module=model[after].module)).renumber()
    assert matched(model, head) == truth(model, head)


@OPTIONS
@given(MODELS, st.data())
def test_a_removed_operator_is_the_one_that_is_gone(model: Model, data: st.DataObject) -> None:
    keys = [key for key in inner(model) if model[key].module]
    if keys:
        key = data.draw(st.sampled_from(keys))
        head = model.remove(key)
        assert matched(model, head) == truth(model, head)
        again = head.reorder(data.draw(st.integers(0, 99)))
        assert matched(model, again) == truth(model, again)


@OPTIONS
@given(MODELS, st.data())
def test_changed_shapes_and_constants_keep_their_node(model: Model, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(inner(model)))
    head = model.edit(key, shape=("2", "8"), attrs='{"1": 3}').renumber()
    assert matched(model, head) == truth(model, head)
    batched = Model(tuple(head.edit(op.key, shape=("7", *op.shape[1:]))[op.key] for op in head.ops))
    assert matched(model, batched) == truth(model, batched)


@OPTIONS
@given(MODELS, st.data())
def test_a_rewired_operator_keeps_its_node(model: Model, data: st.DataObject) -> None:
    keys = [key for key in inner(model) if model[key].op_type in ("add", "mul", "cat")]
    if keys:
        key = data.draw(st.sampled_from(keys))
        head = model.edit(key, inputs=(model.ops[0].key, *model[key].inputs[1:])).renumber()
        assert matched(model, head) == truth(model, head)


@OPTIONS
@given(st.integers(0, 19), st.booleans(), st.booleans())
def test_one_of_twenty_equal_layers_is_removed(layer: int, renumbered: bool, prefixed: bool) -> None:
    model = stacked(20)
    gone = [op.key for op in model.ops if f"layers.{layer}." in f"{op.module or op.name}."]
    head = model.remove(*reversed(gone))
    head = head.renumber() if renumbered else head
    head = head.rename_modules(lambda path: path.replace("model.", "net.")) if prefixed else head
    assert len(gone) == 6
    assert matched(model, head) == truth(model, head)


@OPTIONS
@given(st.integers(1, 18))
def test_without_modules_kept_names_tell_which_layer_is_gone(layer: int) -> None:
    model = stacked(20)
    parts = [op.key for op in model.ops if f"layers.{layer}." in f"{op.module or op.name}."]
    head = model.remove(*reversed(parts)).without_modules()
    model = model.without_modules()
    assert matched(model, head) == truth(model, head)


@OPTIONS
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_without_modules_and_names_structure_is_enough(seed: int, order: int) -> None:
    model = drawn(seed).without_modules()
    head = model.reorder(order).renumber()
    assert matched(model, head) == truth(model, head)


@OPTIONS
@given(MODELS, st.data())
def test_no_node_is_matched_twice_and_none_with_another_operator(model: Model, data: st.DataObject) -> None:
    other = data.draw(MODELS)
    found = matched(model, other)
    assert len(set(found.values())) == len(found)
    assert all(model[b].op_type == other[h].op_type for b, h in found.items())
