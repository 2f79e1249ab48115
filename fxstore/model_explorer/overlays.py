"""What is laid over graphs: node data (a value and a colour per node), and sync files (which node is which).

Node data says of each graph how many nodes have a value, and counts those without one by reason. A sync set is a
connected component of the pairs given, since the app knows a node in one set only.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fxstore.model_explorer.collection import Collection

_GOOD: Final = "#f5f9ff"
_BAD: Final = "#d9480f"
_MUCH: Final = "#1c6dd0"
_ONE_VALUE: Final = "#9ec5fe"
_PALETTE: Final = (
    "#9fd8a4", "#a9cdf3", "#f7c98b", "#d9b3e6", "#f2a8a0", "#f3e38b", "#9edbd3", "#c9c4f0", "#d6c3a5", "#bcd0a0",
    "#f0b8d2", "#b9c6cf",
)  # fmt: skip
NOT_FINITE: Final = "not finite"
NO_DATA: Final = "no data"

Coverage = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Values:
    """One metric of one overlay.

    Attributes:
        values: nid to number.
        texts: nid to category, for what is no number.
        missing: nid to the reason why there is none.
        better: ``higher``, ``lower`` or None.
    """

    overlay: str
    metric: str
    kind: str
    values: Mapping[int, float] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    missing: Mapping[int, str] = field(default_factory=dict)
    unit: str | None = None
    better: str | None = None

    @property
    def name(self) -> str:
        """What it is called in the app."""
        unit = f" ({self.unit})" if self.unit else ""
        return self.metric + unit if self.metric == self.overlay else f"{self.overlay}: {self.metric}{unit}"


def node_data(given: Values, collections: Sequence[Collection]) -> tuple[dict[str, Any], Coverage]:
    """Returns node data by graph, and for each graph how many nodes it has, how many a value, and why others have none.

    Numbers that JSON cannot hold are left out, and counted. A node that stands for several shows the worst of them.
    """
    document: dict[str, Any] = {}
    coverage: Coverage = {}
    for one in collections:
        for graph, nodes in one.nodes.items():
            if graph in coverage:
                continue
            results, reasons = _results(given, nodes)
            made = [node for node, nids in nodes if nids]
            coverage[graph] = {"nodes": len(made), "measured": len(results), "left_out": dict(sorted(reasons.items()))}
            if results:
                document[graph] = {"name": given.name, "results": results, **_colours(results, given.better)}
    return document, coverage


def _results(
    given: Values, nodes: Iterable[tuple[str, tuple[int, ...]]]
) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    results: dict[str, dict[str, Any]] = {}
    reasons: Counter[str] = Counter()
    for node, nids in nodes:
        numbers = [given.values[nid] for nid in nids if nid in given.values]
        texts = [given.texts[nid] for nid in nids if nid in given.texts]
        finite = [number for number in numbers if math.isfinite(number)]
        if finite and len(finite) == len(numbers):
            results[node] = {"value": worst(finite, given.better)}
        elif numbers:
            reasons[NOT_FINITE] += 1
        elif texts:
            results[node] = {"value": ", ".join(dict.fromkeys(texts))}
        elif nids:
            reasons[next((given.missing[nid] for nid in nids if nid in given.missing), NO_DATA)] += 1
    return results, reasons


def worst(numbers: Sequence[float], better: str | None) -> float:
    """Returns the worst of some numbers: the least where higher is better, else the greatest."""
    return min(numbers) if better == "higher" else max(numbers)


def _colours(results: dict[str, dict[str, Any]], better: str | None) -> dict[str, Any]:
    """Returns the gradient of numbers; gives each category, and numbers that are all equal, a colour of their own.

    The app places a number between the least and the greatest one, and so has no colour for those that are equal.
    """
    texts = sorted({result["value"] for result in results.values() if isinstance(result["value"], str)})
    if texts:
        colours = {text: _PALETTE[i % len(_PALETTE)] for i, text in enumerate(texts)}
        for result in results.values():
            if isinstance(result["value"], str):
                result["bgColor"] = colours[result["value"]]
    numbers = [result["value"] for result in results.values() if not isinstance(result["value"], str)]
    if not numbers:
        return {}
    if not math.isfinite(max(numbers) - min(numbers)) or min(numbers) == max(numbers):
        for result in results.values():
            result.setdefault("bgColor", _ONE_VALUE)
        return {}
    low, high = (_BAD, _GOOD) if better == "higher" else (_GOOD, _BAD if better == "lower" else _MUCH)
    return {"gradient": [{"stop": 0, "bgColor": low}, {"stop": 1, "bgColor": high}]}


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
