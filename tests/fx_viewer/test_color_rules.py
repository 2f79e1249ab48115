from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.fx_viewer import CategoricalColorRule, ColorRule, GraphExtension, NumericColorRule
from fxstore.fx_viewer.color_rules import COLOR_MAPS, NON_FINITE


def colors(rule: ColorRule, *values: Any) -> list[str | None]:
    found, _ = rule.apply({str(i): {"m": value} for i, value in enumerate(values)})
    return [found.get(str(i)) for i in range(len(values))]


@pytest.mark.parametrize("cmap", COLOR_MAPS)
def test_a_scale_goes_from_the_maps_first_colour_to_its_last(cmap: str) -> None:
    first, *_, last = COLOR_MAPS[cmap]
    assert colors(NumericColorRule("m", cmap), 1, 2, 3)[::2] == [first, last]
    assert colors(NumericColorRule("m", cmap.upper()), 1, 2, 3)[::2] == [first, last]


def test_the_ends_of_a_scale_can_be_set() -> None:
    first, *_, last = COLOR_MAPS["reds"]
    rule = NumericColorRule(attribute="m", cmap="reds", vmin=0, vmax=10)
    assert colors(rule, -5, 0, 10, 25) == [first, first, last, last]
    _, legend = rule.apply({"a": {"m": 3}})
    assert [entry["label"] for entry in legend] == ["0", "2.50", "5", "7.50", "10"]


def test_outliers_do_not_flatten_a_scale_unless_asked() -> None:
    values = [*range(40), 10**9]
    first, *_, last = COLOR_MAPS["reds"]
    assert colors(NumericColorRule("m", "reds"), *values)[20] not in (first, last)
    assert colors(NumericColorRule("m", "reds", handle_outliers=False), *values)[20] == first


def test_numbers_of_any_library_are_numbers_and_texts_are_not() -> None:
    first, *_, last = COLOR_MAPS["viridis"]
    found = colors(NumericColorRule("m"), np.float32(1), np.int64(3), "3", None, [3], np.array(2.0))
    assert found[:2] == [first, last]
    assert found[2:5] == [None, None, None]
    assert found[5] == COLOR_MAPS["viridis"][2]


def test_broken_numbers_have_colours_of_their_own() -> None:
    rule = NumericColorRule("m")
    found, legend = rule.apply({"a": {"m": math.nan}, "b": {"m": math.inf}, "c": {"m": -math.inf}, "d": {"m": 1.0}})
    assert [found[node] for node in "abc"] == list(NON_FINITE.values())
    assert [entry["label"] for entry in legend] == ["1", "NaN", "Infinity", "-Infinity"]


def test_equal_values_still_have_a_colour() -> None:
    assert colors(NumericColorRule("m", "greens"), 7, 7) == [COLOR_MAPS["greens"][-1]] * 2


def test_an_unknown_map_is_said_and_replaced() -> None:
    with pytest.warns(RuntimeWarning, match="no colour map 'jet', viridis is used; known: viridis, reds"):
        rule = NumericColorRule("m", "jet")
    assert colors(rule, 0, 1) == [COLOR_MAPS["viridis"][0], COLOR_MAPS["viridis"][-1]]


@given(st.lists(st.floats() | st.integers() | st.none() | st.text(), max_size=30))
def test_every_number_has_a_colour_and_nothing_else(values: list[Any]) -> None:
    found = colors(NumericColorRule("m"), *values)
    numbers = [isinstance(value, (int, float)) for value in values]
    assert [color is not None for color in found] == numbers
    assert all(color is None or (len(color) == 7 and int(color[1:], 16) >= 0) for color in found)


@given(st.lists(st.text(max_size=4), min_size=1, max_size=20))
def test_a_text_has_one_colour_whatever_stands_beside_it(texts: list[str]) -> None:
    together = colors(CategoricalColorRule("m"), *texts)
    assert together == [colors(CategoricalColorRule("m"), text)[0] for text in texts]


def test_categories_may_have_given_colours() -> None:
    rule = CategoricalColorRule("m", color_map={"cpu": "#111111", "unused": "#222222"})
    found, legend = rule.apply({"a": {"m": "npu"}, "b": {"m": "cpu"}, "c": {"m": None}, "d": {}})
    assert found["b"] == "#111111"
    assert set(found) == {"a", "b"}
    assert legend == [{"label": "cpu", "color": "#111111"}, {"label": "npu", "color": found["a"]}]


@pytest.mark.parametrize(("vmin", "vmax"), [(math.nan, None), (None, math.inf), (-math.inf, math.nan)])
def test_ends_that_are_not_finite_are_the_values_own(vmin: float | None, vmax: float | None) -> None:
    assert colors(NumericColorRule("m", "reds", vmin, vmax), 0.0, 1.0) == colors(
        NumericColorRule("m", "reds"), 0.0, 1.0
    )


def test_numbers_beyond_all_others() -> None:
    low, high = colors(NumericColorRule("m", "reds"), -1e308, 1e308)
    assert (low, high) == (COLOR_MAPS["reds"][0], COLOR_MAPS["reds"][-1])
    assert colors(NumericColorRule("m"), 10**400, -(10**400)) == [NON_FINITE["Infinity"], NON_FINITE["-Infinity"]]


def test_a_rule_of_ones_own_that_fails_costs_its_colours_only() -> None:
    class Failing(ColorRule):
        def apply(self, nodes_data: Any) -> Any:
            return nodes_data["nowhere"]

    class Odd(ColorRule):
        def apply(self, nodes_data: Any) -> Any:
            return {"a": 3, "b": None}, [{"label": 1.5, "color": "#ffffff", "more": object()}]

    layer = GraphExtension(id="x", name="X")
    layer.add_node_data("a", {"m": 1})
    layer.set_color_rule(Failing("m"))
    with pytest.warns(RuntimeWarning, match="color rule of extension 'x' failed: KeyError"):
        built = layer.build()
    assert (built["nodes"]["a"]["fill_color"], built["legend"]) == (None, [])
    layer.set_color_rule(Odd("m"))
    built = layer.build()
    assert (built["nodes"]["a"]["fill_color"], built["legend"]) == ("3", [{"label": "1.5", "color": "#ffffff"}])
    with pytest.raises(TypeError, match="a color rule is a ColorRule, such as"):
        layer.set_color_rule("reds")  # type: ignore[arg-type]


def test_a_rule_of_ones_own_is_taken() -> None:
    class Longest(ColorRule):
        def apply(self, nodes_data: Any) -> Any:
            longest = max(nodes_data, key=lambda node: len(nodes_data[node][self.attribute]))
            return {longest: "#ff0000"}, [{"label": "longest", "color": "#ff0000"}]

    assert colors(Longest("m"), "a", "abc", "ab") == [None, "#ff0000", None]
