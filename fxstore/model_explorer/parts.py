"""Layers with more children than the app lays out at once, in parts of their own.

The app splits such a layer itself, by a walk that does not reach every child and fails on long chains, and into layers
whose names may be taken.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

MOST: Final = 1000
"""Children that the app lays out in one layer."""
_PART: Final = 100
"""Children of a part, as long as there are no more than MOST parts: the app lays out small layers much faster."""
_NAME: Final = re.compile(r"children:\d+-\d+")


def in_parts(places: Sequence[str]) -> tuple[list[str], dict[str, dict[str, str]], list[str]]:
    """Puts the children of each large layer in parts, in their order.

    A part is called by the places of its first and last child in the layer, ``children:1-100``; no module is, since a
    colon stands in a module's name before its call alone.

    Args:
        places: The namespace of each node, in order.

    Returns:
        The namespaces with the parts in them, a row for each part, and a line for each layer that has some.
    """
    children: dict[str, dict[str, int]] = defaultdict(dict)
    for i, place in enumerate(places):
        parts = place.split("/") if place else []
        for depth in range(len(parts) + 1):
            layer, child = "/".join(parts[:depth]), parts[depth] if depth < len(parts) else f"/{i}"
            children[layer].setdefault(child, len(children[layer]))
    large = {layer: numbers for layer, numbers in children.items() if len(numbers) > MOST}
    if not large:
        return list(places), {}, []
    rows: dict[str, dict[str, str]] = {}
    notes = [f"{layer or 'the graph'} has {len(numbers)} children, shown in parts" for layer, numbers in large.items()]
    return [_placed(place, i, large, rows) for i, place in enumerate(places)], rows, notes


def is_part(name: str) -> bool:
    """Tells whether a layer of that name is a part of the one around it."""
    return _NAME.fullmatch(name) is not None


def _placed(place: str, node: int, large: dict[str, dict[str, int]], rows: dict[str, dict[str, str]]) -> str:
    parts = place.split("/") if place else []
    found: list[str] = []
    for depth in range(len(parts) + 1):
        layer, child = "/".join(parts[:depth]), parts[depth] if depth < len(parts) else f"/{node}"
        if layer in large:
            size = max(_PART, -(-len(large[layer]) // MOST))
            first = large[layer][child] // size * size
            found.append(f"children:{first + 1}-{min(first + size, len(large[layer]))}")
            row = rows.setdefault("/".join(found), {"part of": layer or "the graph", "nodes": "0"})
            row["nodes"] = str(int(row["nodes"]) + 1)
        found += parts[depth : depth + 1]
    return "/".join(found)
