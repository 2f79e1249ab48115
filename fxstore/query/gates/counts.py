"""Rules about how much was measured, and about operators that no backend took."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from fxstore.query.gates.finding import NOT_ENOUGH, PASSED, TRIPPED, Finding, counted
from fxstore.query.gates.rules import Rule
from fxstore.query.gates.sides import Key, Sides

_SHOWN = 5


def coverage(rule: Rule, sides: Sides) -> list[Finding]:
    """Returns for each stage whether as many nodes have a number of accuracy as the rule wants.

    Against the base, numbers of nodes are compared, the median where it is several runs; against a number, the share of
    the nodes that could have one. NaN and infinity are numbers.
    """
    runs = [*sides.base, sides.head[-1]]
    rows = [sides.store.rows_of("_gate_coverage", run.run_id).to_pylist() for run in runs]
    counts = [Counter(row["stage"] for row in found if row["measured"]) for found in rows]
    total = Counter(row["stage"] for row in rows[-1])
    stages = [s for s in dict.fromkeys(s for count in counts for s in count) if rule.stage in (None, s)]
    if not stages:
        return [Finding(rule.text, NOT_ENOUGH, "no accuracy was measured", stage=rule.stage)]
    found = []
    for stage in stages:
        base = float(median(count[stage] for count in counts[:-1]))
        value = float(counts[-1][stage])
        share = value if rule.factor is not None else value / total[stage] if total[stage] else 0.0
        limit = rule.limit(base)
        assert limit is not None
        said = f"{base:g} -> {value:g} nodes measured"
        if rule.keeps(share, limit):
            found.append(Finding(rule.text, PASSED, said, None, None, share, base, limit, stage))
            continue
        lost = _lost(sides, rows[-2], rows[-1], stage)
        found.append(Finding(rule.text, TRIPPED, said + lost, None, None, share, base, limit, stage))
    return found


def _lost(sides: Sides, base: list[dict[str, Any]], head: list[dict[str, Any]], stage: str) -> str:
    def measured(run: Any, rows: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        return sides.named(run, [row for row in rows if row["measured"] and row["stage"] == stage])

    gone = [key for key in measured(sides.base[-1], base) if key not in measured(sides.head[-1], head)]
    here = sum(sides.is_in_head(key) for key in gone)
    return f"; {len(gone)} lost it, {len(gone) - here} of them with their node" if gone else ""


def fallback(rule: Rule, sides: Sides) -> list[Finding]:
    """Returns the operators of the newest head that no backend took, and should have.

    That is where a backend took their node in the base, or where they are new and more of their kind fall back.
    """
    base, head = sides.base[-1], sides.head[-1]
    before = sides.named(base, sides.store.rows_of("_placed_operators", base.run_id, rule.stage).to_pylist())
    after = sides.named(head, sides.store.rows_of("_placed_operators", head.run_id, rule.stage).to_pylist())
    if not after or not before:
        missing = "head" if not after else "base"
        return [Finding(rule.text, NOT_ENOUGH, f"the {missing} has no such stage", stage=rule.stage)]
    left = Counter(row["op_type"] for row in before.values() if not row["is_taken"])
    own = Counter(row["op_type"] for row in after.values() if not row["is_taken"])
    found = []
    for key, row in after.items():
        known = before.get(key)
        if row["is_taken"] or (known is not None and not known["is_taken"]):
            continue
        if known is not None or own[row["op_type"]] > left[row["op_type"]]:
            why = f"taken by {known['backend']} in the base" if known else "new, and no backend took it"
            found.append(Finding(rule.text, TRIPPED, f"{row['op_type']}: {why}", *sides.ordinals(key)))
    kept = f"{counted(sum(own.values()), 'operator falls', 'operators fall')} back, {sum(left.values())} did"
    return found or [Finding(rule.text, PASSED, kept, stage=rule.stage)]
