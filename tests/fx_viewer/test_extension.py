from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.fx_viewer import GraphExtension, NumericColorRule
from fxstore.fx_viewer.models import plain


def test_data_of_one_node_adds_up() -> None:
    extension = GraphExtension(id=" acc ", name="Accuracy")
    extension.add_node_data("conv", {"mse": 1.0, "ok": True})
    extension.add_node_data("conv", {"mse": 2.0})
    assert extension.id == "acc"
    assert extension.build()["nodes"]["conv"]["info"] == {"mse": 2.0, "ok": True}


@pytest.mark.parametrize(("id", "name"), [("", "x"), ("  ", "x"), ("x", ""), ("x", " "), (None, "x"), ("x", 3)])
def test_id_and_name_must_be_there(id: Any, name: Any) -> None:
    with pytest.raises(ValueError, match="must be non-empty"):
        GraphExtension(id, name)


def test_formatters_and_colours_are_applied() -> None:
    extension = GraphExtension(id="a", name="A")
    extension.add_node_data("n", {"mse": 0.5})
    extension.set_label_formatter(lambda data: [f"mse={data['mse']:.2f}"])
    extension.set_tooltip_formatter(lambda data: ["a", "b"])
    extension.set_color_rule(NumericColorRule("mse", "reds"))
    extension.set_sync_key("mse")
    extension.set_sync_key("mse")
    built = extension.build()
    assert built["nodes"]["n"] == {
        "info": {"mse": 0.5},
        "tooltip": ["a", "b"],
        "label_append": ["mse=0.50"],
        "fill_color": "#a81016",
    }
    assert built["legend"] == [{"label": "0.50", "color": "#a81016"}]
    assert (built["sync_keys"], built["has_label_formatter"]) == (["mse"], True)


@pytest.mark.parametrize("formatter", [lambda data: 1 / 0, lambda data: "text", lambda data: [1], lambda data: None])
def test_a_formatter_that_fails_costs_its_lines_only(formatter: Any) -> None:
    extension = GraphExtension(id="a", name="A")
    extension.add_node_data("n", {"mse": 0.5})
    extension.set_label_formatter(formatter)
    with pytest.warns(RuntimeWarning, match="label formatter of extension 'a' for node 'n'"):
        built = extension.build()
    assert built["nodes"]["n"]["label_append"] == []
    assert built["nodes"]["n"]["info"] == {"mse": 0.5}


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_any_value_becomes_json() -> None:
    given: dict[Any, Any] = {
        "nan": math.nan,
        "inf": [np.float64("inf"), -math.inf],
        "scalar": np.int32(4),
        "big": 2**60,
        "bool": np.bool_(True),
        3: (1, {2}),
        "hostile": Hostile(),
    }
    assert plain(given) == {
        "nan": "NaN",
        "inf": ["Infinity", "-Infinity"],
        "scalar": 4,
        "big": "1152921504606846976",
        "bool": True,
        "3": [1, [2]],
        "hostile": "<Hostile>",
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(values)
def test_what_is_plain_survives_json_and_stays_as_it_is(value: object) -> None:
    once = plain(value)
    assert json.loads(json.dumps(once, allow_nan=False)) == once == plain(once)


def test_what_holds_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    json.dumps(plain(loop))
