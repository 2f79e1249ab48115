"""Categories of a training step: one word and one colour for each node, by all its roles."""

from __future__ import annotations

from itertools import combinations

import pytest

from fxstore.render.training import TRAINING_ROLES, category, category_fills


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["parameter"], "parameter"),
        (["saved", "parameter"], "parameter, saved"),
        (["input", "saved", "forward_output"], "input, saved"),
        (["tangent"], "tangent"),
        (["saved", "forward"], "saved"),
        (["recomputed", "forward", "backward"], "recomputed"),
        (["saved", "forward_output", "forward"], "forward output, saved"),
        (["backward_output", "backward"], "backward output"),
        (["forward_output", "output"], "output"),
        (["op"], "op"),
    ],
)
def test_a_node_is_of_one_category_whatever_the_order_of_its_roles(roles: list[str], expected: str) -> None:
    assert category(roles) == category(roles[::-1]) == expected


def test_every_category_has_a_colour() -> None:
    known = [*TRAINING_ROLES, "input", "parameter", "buffer", "constant", "output", "op"]
    mixes = [mix for count in (1, 2, 3) for mix in combinations(known, count)]
    taken = {"tangent", "backward_output"}  # neither is ever saved for backward
    possible = {category(mix) for mix in mixes if not ("saved" in mix and taken & set(mix))}
    assert possible == set(category_fills())
