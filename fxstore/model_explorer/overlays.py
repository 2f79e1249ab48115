"""Overlays as node data: a value and its colour for each node that has one, and a count of those that have none."""

from __future__ import annotations

import math
from collections import Counter
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


Coverage = dict[str, dict[str, Any]]


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
            results[node] = {"value": _worst(finite, given.better)}
        elif numbers:
            reasons[NOT_FINITE] += 1
        elif texts:
            results[node] = {"value": ", ".join(dict.fromkeys(texts))}
        elif nids:
            reasons[next((given.missing[nid] for nid in nids if nid in given.missing), NO_DATA)] += 1
    return results, reasons


def _worst(numbers: Sequence[float], better: str | None) -> float:
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
