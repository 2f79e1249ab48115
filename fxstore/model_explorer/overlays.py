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

from fxstore.colors.palettes import ink_on, mixed, palette
from fxstore.colors.scales import Measure, anchored, badness, is_perfect, scale_of
from fxstore.model_explorer.collection import Collection

_PALETTE: Final = (
    "#9fd8a4", "#a9cdf3", "#f7c98b", "#d9b3e6", "#f2a8a0", "#f3e38b", "#9edbd3", "#c9c4f0", "#d6c3a5", "#bcd0a0",
    "#f0b8d2", "#b9c6cf",
)  # fmt: skip
NOT_FINITE: Final = "not finite"
NO_DATA: Final = "no data"
IDENTICAL: Final = "∞: identical"

Coverage = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Values:
    """One metric of one overlay.

    Attributes:
        values: nid to number.
        texts: nid to category, for what is no number.
        missing: nid to the reason why there is none.
        better: ``higher``, ``lower`` or None.
        threshold: Worst number that still passes the gate, or None.
        signed: Whether the numbers are differences of two.
    """

    overlay: str
    metric: str
    kind: str
    values: Mapping[int, float] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    missing: Mapping[int, str] = field(default_factory=dict)
    unit: str | None = None
    better: str | None = None
    threshold: float | None = None
    signed: bool = False

    @property
    def measure(self) -> Measure:
        """What its scale depends on, beside the values."""
        return Measure(self.metric, self.unit, self.better, threshold=self.threshold, signed=self.signed)

    @property
    def name(self) -> str:
        """What it is called in the app."""
        unit = f" ({self.unit})" if self.unit else ""
        return self.metric + unit if self.metric == self.overlay else f"{self.overlay}: {self.metric}{unit}"


def node_data(given: Values, collections: Sequence[Collection]) -> tuple[dict[str, Any], Coverage]:
    """Returns node data by graph, and for each graph how many nodes it has, how many a value, and why others have none.

    Numbers that JSON cannot hold are left out, and counted, but for the infinite ones of equal tensors, which are
    told. A node that stands for several shows the worst of them.
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
                document[graph] = {"name": given.name, "results": results, **_colours(results, given.measure)}
    return document, coverage


def _results(
    given: Values, nodes: Iterable[tuple[str, tuple[int, ...]]]
) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    results: dict[str, dict[str, Any]] = {}
    reasons: Counter[str] = Counter()
    for node, nids in nodes:
        numbers = [given.values[nid] for nid in nids if nid in given.values]
        texts = [given.texts[nid] for nid in nids if nid in given.texts]
        shown = worst(numbers, given.better) if numbers and not any(map(math.isnan, numbers)) else math.nan
        if math.isfinite(shown) and (given.better or all(map(math.isfinite, numbers))):
            results[node] = {"value": shown}
        elif is_perfect(shown, scale_of(given.measure)):
            results[node] = {"value": IDENTICAL, "bgColor": _stops(given.better)[0]}
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


def _colours(results: dict[str, dict[str, Any]], measure: Measure) -> dict[str, Any]:
    """Gives each category a colour, and each number that of the metric's scale; else returns a gradient of the numbers.

    The app places a number between the least and the greatest one of a graph, which says nothing of what it means: so
    only numbers of which nothing else is known have a gradient, and not where all are equal.
    """
    uncoloured = {node: result for node, result in results.items() if "bgColor" not in result}
    texts = sorted({result["value"] for result in uncoloured.values() if isinstance(result["value"], str)})
    colours = {text: _PALETTE[i % len(_PALETTE)] for i, text in enumerate(texts)}
    numbers = [result["value"] for result in uncoloured.values() if not isinstance(result["value"], str)]
    stops, domain, scale = _stops(measure.better), anchored(measure), scale_of(measure)
    equal = bool(numbers) and (min(numbers) == max(numbers) or not math.isfinite(max(numbers) - min(numbers)))
    for result in uncoloured.values():
        value = result["value"]
        if isinstance(value, str):
            result["bgColor"] = colours[value]
        elif is_perfect(value, scale):
            result["bgColor"] = stops[0]
        elif domain is not None:
            result["bgColor"] = mixed(stops, badness(value, domain, measure.better))
        elif equal:
            result["bgColor"] = mixed(stops, 0.5)
    for result in uncoloured.values():
        if "bgColor" in result and not isinstance(result["value"], str):
            result["textColor"] = ink_on(result["bgColor"])
    if not numbers or domain is not None or equal:
        return {}
    low, high = (stops[-1], stops[0]) if measure.better == "higher" else (stops[0], stops[-1])
    return {"gradient": [{"stop": 0, "bgColor": low}, {"stop": 1, "bgColor": high}]}


def _stops(better: str | None) -> Sequence[str]:
    """Returns the colours of numbers, those of the page: good to bad, or low to high where neither is good."""
    light = palette("light")
    return light.scale if better else light.neutral


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
