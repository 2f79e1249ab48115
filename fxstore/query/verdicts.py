"""What a debugger says of the nodes of a run: whether the accuracy that was measured at each passes its threshold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from fxstore.query.session import Store
from fxstore.render.model import ColorBy

VERDICT: Final = "verdict"
FILLS: Final[dict[str, tuple[str, str]]] = {
    "pass": ("#9fd8a4", "#2f6b3a"),
    "fail": ("#f08a80", "#a8362c"),
    "not finite": ("#c46bd0", "#8a3d96"),
    "measured": ("#a9cdf3", "#2d5580"),
    "not measured": ("#e4e7ec", "#2b3646"),
}
"""What a node is, in the order of a legend, and its fill on a light and on a dark ground."""


@dataclass
class Found:
    """What was measured at one node.

    Attributes:
        values: Number by metric; NaN and infinite ones too.
        reasons: Why there is none, by metric, or what is said about one.
    """

    overlay: str = ""
    scope: str | None = None
    samples: int = 0
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    verdicts: set[str] = field(default_factory=set)
    broken: bool = False

    @property
    def verdict(self) -> str | None:
        """``fail`` where any metric fails; None where no metric had a threshold."""
        return max(self.verdicts, key="fail".__eq__, default=None)

    @property
    def kind(self) -> str:
        """What colours the node."""
        if self.verdict is not None:
            return self.verdict
        return "not finite" if self.broken else "measured" if self.values else "not measured"


def verdict_colors(store: Store, run_ids: Iterable[str]) -> list[ColorBy]:
    """Returns the verdicts on the nodes of some runs as colours; a node without a number is ``not measured``."""
    texts = {nid: one.kind for run_id in run_ids for nid, one in measured(store, run_id).items()}
    return [ColorBy(VERDICT, VERDICT, {}, texts=texts, fills=FILLS)] if texts else []


def measured(store: Store, run_id: str) -> dict[int, Found]:
    """Returns what was measured at each node that has a number, or a reason why not."""
    found: dict[int, Found] = defaultdict(Found)
    for row in store.rows_of("_debugger_numbers", run_id).to_pylist():
        one = found[row["nid"]]
        one.overlay, one.scope, one.samples = row["overlay"], row["scope"], row["samples"]
        if row["value"] is not None:
            one.values[row["metric"]] = row["value"]
            one.broken |= math.isnan(row["value"]) or (
                row["status"] == "non_finite" and not (row["reason"] or "").startswith("identical")
            )
        if row["reason"] is not None or row["value"] is None:
            one.reasons[row["metric"]] = row["reason"] or "no data"
        if row["verdict"] is not None:
            one.verdicts.add(row["verdict"])
    return found
