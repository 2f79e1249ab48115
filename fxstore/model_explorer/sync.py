"""Sync files: which nodes of the left pane are which of the right one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Synced:
    """The nodes of two graphs in sets that share none.

    Attributes:
        entries: Node ids on the left and on the right, in the order of the left graph's nodes.
        pairs: How many pairs were given.
        merged: How many more pairs the sets hold: the app knows a node in one set only, so sets that overlap are one.
    """

    entries: list[tuple[list[str], list[str]]]
    pairs: int
    merged: int

    @property
    def payload(self) -> dict[str, Any]:
        """What the app reads. Without a counterpart, a node is marked, and nothing is selected for it."""
        return {
            "type": "sync_navigation",
            "mappingEntries": [{"leftNodeIds": left, "rightNodeIds": right} for left, right in self.entries],
            "disableMappingFallback": True,
            "showDiffHighlights": True,
        }

    def __str__(self) -> str:
        merged = f"; {self.merged:,} more pairs by merging sets that overlap" if self.merged else ""
        return f"{self.pairs:,} pairs in {len(self.entries):,} sets{merged}"


def synced(pairs: Iterable[tuple[str, str]]) -> Synced:
    """Returns the connected components of pairs of nodes, (left, right)."""
    distinct = list(dict.fromkeys(pairs))
    parent: dict[tuple[int, str], tuple[int, str]] = {}

    def root(node: tuple[int, str]) -> tuple[int, str]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in distinct:
        parent[root((1, right))] = root((0, left))
    sides: dict[tuple[int, str], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for node in parent:
        sides[root(node)][node[0]].append(node[1])
    entries = list(sides.values())
    return Synced(entries, len(distinct), sum(len(left) * len(right) for left, right in entries) - len(distinct))
