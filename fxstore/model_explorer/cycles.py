"""Edges that lead back: the app lays out what has no cycle, and draws nothing that only a cycle leads to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from fxstore.model_explorer.source import Edge

_MOST: Final = 2000
"""So many edges against the order are looked at one by one; of more, all lead back."""


def feedback(edges: Sequence[Edge]) -> set[Edge]:
    """Returns edges without which a graph has no cycle, those that go against the order of its nodes alone."""
    against = [edge for edge in edges if edge.src >= edge.dst]
    if len(against) > _MOST:
        return set(against)
    after: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        if edge.src < edge.dst:
            after[edge.src].add(edge.dst)
    found = set()
    for edge in against:
        if _reaches(after, edge.dst, edge.src):
            found.add(edge)
        else:
            after[edge.src].add(edge.dst)
    return found


def _reaches(after: dict[int, set[int]], start: int, end: int) -> bool:
    seen, stack = {start}, [start]
    while stack:
        one = stack.pop()
        if one == end:
            return True
        new = after[one] - seen if one in after else set()
        seen |= new
        stack += new
    return False
