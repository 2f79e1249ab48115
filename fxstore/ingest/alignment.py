"""Tells which operator of a delegate's payload each event inside the delegate is, by order and kind.

A backend runs its payload in order, but it may fuse operators, leave some out, and names events after its kernels. So
the longest alignment in which kinds agree decides, and an event is assigned only where every such alignment agrees.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_WORD = re.compile(r"[a-z]+")
_SYNONYMS = {
    "conv": ("convolution",), "depthwise": ("convolution",), "concatenate": ("copy", "concatenate"),
    "avg": ("average", "mean"), "global": ("mean", "average", "reduce"), "div": ("divide",),
    "static": (), "d": (), "nc": (), "nd": (), "x": (),
}  # fmt: skip
_FEWEST = 3
_UNARY = frozenset({
    "gelu", "elu", "leaky_relu", "sigmoid", "tanh", "exp", "log", "sin", "cos", "abs", "floor", "ceiling", "negate",
    "square", "square_root", "reciprocal_square_root", "hardswish", "clamp",
})  # fmt: skip


def align(kinds: Sequence[str], events: Sequence[str]) -> list[int | None]:
    """Returns, for each event, the operator that it is, or None where that cannot be told.

    Args:
        kinds: Kinds of the operators in order, as :mod:`fxstore.ingest.xnnpack` names them.
        events: Names of the events in order, as XNNPACK names its kernels.
    """
    if len(kinds) == len(events) and all(map(agrees, kinds, events)):
        return list(range(len(events)))
    return list(_aligned(tuple(kinds), tuple(events)))


@cache
def _aligned(kinds: tuple[str, ...], events: tuple[str, ...]) -> tuple[int | None, ...]:
    fits = [[agrees(kind, event) for event in events] for kind in kinds]
    before = _longest(fits, len(events))
    after = [row[::-1] for row in _longest([row[::-1] for row in fits[::-1]], len(events))[::-1]]
    best = before[len(kinds)][len(events)]
    return tuple(_operator(j, fits, before, after, best) for j in range(len(events)))


def _longest(fits: list[list[bool]], width: int) -> list[list[int]]:
    """Returns the length of the longest alignment of the first i operators with the first j events."""
    table = [[0] * (width + 1)]
    for row in fits:
        last, current = table[-1], [0]
        for j in range(width):
            current.append(max(last[j] + 1 if row[j] else 0, last[j + 1], current[j]))
        table.append(current)
    return table


def _operator(j: int, fits: list[list[bool]], before: list[list[int]], after: list[list[int]], best: int) -> int | None:
    could = [i for i, row in enumerate(fits) if row[j] and before[i][j] + 1 + after[i + 1][j + 1] == best]
    needless = any(before[i][j] + after[i][j + 1] == best for i in range(len(fits) + 1))
    return could[0] if len(could) == 1 and not needless else None


@cache
def agrees(kind: str, event: str) -> bool:
    """Tells whether an event could be an operator of that kind: a word of the one begins as a word of the other."""
    name = event.lower().partition("(")[0]
    if name.startswith("invalid unary"):  # what XNNPACK 2026 calls a quantised lookup table
        return kind in _UNARY
    said = _WORD.findall(name)
    own = [word for part in _WORD.findall(kind) for word in _SYNONYMS.get(part, (part,))]
    return any(mine[:length] == theirs[:length] for mine in own for theirs in said if (length := _common(mine, theirs)))


def _common(one: str, other: str) -> int:
    """Returns how many first letters must agree: all of the shorter, at least three."""
    shorter = min(len(one), len(other))
    return shorter if shorter >= _FEWEST else 0
