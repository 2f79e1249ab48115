"""Layers with more children than the app lays out at once come in parts, and lose nothing."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.model_explorer import validate
from fxstore.model_explorer.graph import graph_of
from fxstore.model_explorer.names import MOST, in_parts, is_part
from fxstore.model_explorer.source import Source
from tests.model_explorer.judge import Judge
from tests.model_explorer.sources import row, source


def chain(length: int) -> Source:
    return source([row(f"n{i}") for i in range(length)], [(i, i + 1) for i in range(length - 1)])


IN_A_CIRCLE = source(
    [*(row(f"n{i}", module_path="L") for i in range(1001)),
     row("a1", module_path="L.A", module_type="A"), row("b1", module_path="L.B"), row("a2", module_path="L.A")],
    [(1001, 1002), (1002, 1003)],
)  # fmt: skip
NAMED = source([*(row(f"n{i}") for i in range(1001)), row("s", module_path="section_1_of_2")], [(0, 1)])


@pytest.mark.parametrize("given_source", [chain(1001), IN_A_CIRCLE, NAMED], ids=["chain", "circle", "section"])
def test_what_the_apps_own_sections_lose_is_kept(app: Judge, given_source: Source) -> None:
    made = graph_of(given_source)
    assert app.losses([made.payload]) == []
    assert validate([made.payload], strict=True) == []
    assert any("shown in parts" in note for note in made.notes)


@pytest.mark.slow
def test_a_long_chain_is_laid_out(app: Judge) -> None:
    assert app.losses([graph_of(chain(6000)).payload]) == []


def test_a_module_in_a_part_keeps_its_row() -> None:
    rows = graph_of(IN_A_CIRCLE).payload["groupNodeAttributes"]
    assert rows["L"]["nodes"] == "1004"
    assert rows["L/children:1001-1003/A"] == {"nodes": "2", "module": "L.A", "type": "A"}
    assert rows["L/children:1001-1003"] == {"part of": "L", "nodes": "4"}
    assert validate([graph_of(chain(6000)).payload], strict=True) == []


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["", "a", "a/b", "c"]), max_size=20), st.integers(0, 3))
def test_parts_only_add_layers_and_no_layer_is_large(places: list[str], times: int) -> None:
    many = places * (700 * times or 1)
    shown, rows, notes = in_parts(many)
    without = ["/".join(part for part in place.split("/") if not is_part(part)) for place in shown]
    assert without == many
    children: dict[str, set[str]] = defaultdict(set)
    for i, place in enumerate(shown):
        parts = [*place.split("/"), f"/{i}"] if place else [f"/{i}"]
        for depth, part in enumerate(parts):
            children["/".join(parts[:depth])].add(part)
    assert all(len(found) <= MOST for found in children.values())
    assert {layer for layer in children if is_part(layer.rpartition("/")[2])} == set(rows)
    assert bool(rows) == bool(notes)
