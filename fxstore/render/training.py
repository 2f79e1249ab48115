"""What the nodes of a training step are, in one word each, and in what colour: of pages and of still pictures alike."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Final

TRAINING_ROLES: Final = frozenset(
    {"tangent", "forward", "backward", "saved", "recomputed", "forward_output", "backward_output"}
)
"""Roles that only the graphs of a training step have."""
_TAKEN: Final = ("tangent", "input", "parameter", "buffer", "constant")
_GIVEN: Final = ("forward_output", "backward_output")
_MADE: Final = ("saved", "recomputed", "forward", "backward")


def category(roles: Collection[str]) -> str:
    """Returns the category of a node by all its roles: ``recomputed``, or ``parameter, saved`` where it is saved, too.

    What comes in is first of all an input, whatever becomes of it; what goes out an output; then what is saved or
    recomputed is that, before it is forward or backward. The node that says what a graph returns is ``output``.
    """
    if "output" in roles:
        return "output"
    outer = next((role for role in (*_TAKEN, *_GIVEN) if role in roles), None)
    if outer is None:
        return next((role for role in _MADE if role in roles), "op")
    return outer.replace("_", " ") + (", saved" if "saved" in roles else "")


@cache
def category_fills() -> Mapping[str, tuple[str, str]]:
    """Returns the fill of each category on a light and on a dark ground, in the order of a legend."""
    text = (resources.files("fxstore.render") / "training_colors.json").read_text("utf-8")
    return {name: (light, dark) for name, (light, dark) in json.loads(text).items()}
