"""Names that the app leaves as they are, and that can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.model_explorer.names import PROTOTYPE, attribute, escaped, modules_of, namespace, node_ids, unescaped
from tests.model_explorer.sources import NAMES

ANY = NAMES | st.text(max_size=8)


@given(ANY)
def test_what_is_escaped_reads_back(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(ANY, ANY)
def test_two_names_are_never_one(one: str, other: str) -> None:
    assert (escaped(one) == escaped(other)) == (one == other)


@given(ANY)
def test_nothing_is_left_that_the_app_reads_otherwise(text: str) -> None:
    safe = escaped(text)
    assert safe
    assert not set(safe) & set("/|;\\")
    assert safe not in PROTOTYPE
    assert "___group___" not in safe
    assert "___escaped_slash___" not in safe
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in safe)


@given(st.lists(st.tuples(ANY, st.none() | st.integers(1, 99)), max_size=4))
def test_a_namespace_reads_back_as_the_modules_that_it_stands_for(modules: list[tuple[str, int | None]]) -> None:
    text = namespace(modules)
    assert modules_of(text) == modules
    assert text not in ("Inputs", "Outputs")
    assert all(text.split("/")) or not modules


@given(st.lists(st.lists(ANY, min_size=1, max_size=3), max_size=12))
def test_ids_are_unique_and_hang_on_the_order_of_equal_keys_only(keys: list[list[str]]) -> None:
    ids = node_ids(keys)
    assert len(set(ids)) == len(keys)
    for key, node_id in zip(keys, ids, strict=True):
        written, _, number = node_id.rpartition("|")
        assert [unescaped(part) for part in written.split("/")] == key
        assert int(number) == 1 + keys[: ids.index(node_id)].count(key)
        assert node_id not in PROTOTYPE


@pytest.mark.parametrize(
    ("text", "safe"),
    [("conv1", "conv1"), ("a/b", "a%2Fb"), ("50%", "50%25"), ("", "%FF"), ("__proto__", "%5F_proto__"), ("é", "é")],
)
def test_names_read_as_they_are_but_for_what_is_reserved(text: str, safe: str) -> None:
    assert escaped(text) == safe


@given(ANY)
def test_an_attribute_reads_back_and_holds_nothing_that_the_app_drops(text: str) -> None:
    safe = attribute(text)
    assert unescaped(safe) == text or safe == "%FF"
    assert '"' not in safe
    assert not safe.startswith("dense<")
