"""Rules about a metric in which every node counts by its own worst value."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from fxstore.query.gates.rules import NOT_ENOUGH, NOTE, PASSED, TRIPPED, Finding, Rule, counted, kept
from fxstore.query.gates.sides import Cell, Key, Sides

Cells = dict[Key, Cell]
_FINITE = 2
_SAID = ("NaN", "infinite")


def judge(rule: Rule, sides: Sides, base: list[Cells], head: Cells) -> list[Finding]:
    """Returns what a rule finds in the newest head.

    A value that is NaN or infinite trips it, unless the rule compares and the base was no better; so does a value that
    is gone though its node is there. What is gone with its node is a note.

    Args:
        base: What each run of the base holds of the metric; several give the median of their finite values.
        head: What the newest head holds.
    """
    known = {node: was for node in dict.fromkeys(n for cells in base for n in cells) if (was := _base(node, base))}
    if not any(cell.values for cell in head.values()) and known:
        return [Finding(rule.text, TRIPPED, f"{rule.subject} vanished: no node has it, {len(known)} had in the base")]
    found: list[Finding] = []
    passed = 0
    for node in sorted({*head, *known}, key=lambda node: (node[0] != "head", node[1])):
        cell = head.get(node)
        finding = _node(rule, sides, node, cell, known.get(node))
        if finding is None:
            passed += cell is not None and bool(cell.values)
        else:
            passed += finding.state == NOTE and finding.value is not None
        found += [finding] if finding else []
    if not found and not passed:
        return [Finding(rule.text, NOT_ENOUGH, f"no node has {rule.subject}", stage=rule.stage)]
    return [*found, *kept(rule.text, passed, rule.stage)]


def _base(node: Key, base: list[Cells]) -> tuple[float, int] | None:
    """Returns the base's value of a node and how broken it is; None where no run has one."""
    worst = [cells[node].worst for cells in base if node in cells and cells[node].values]
    finite = [value for value, broken in worst if broken == _FINITE]
    if finite:
        return median(finite), _FINITE
    return min(worst, key=lambda pair: pair[1]) if worst else None


def _node(rule: Rule, sides: Sides, node: Key, cell: Cell | None, known: tuple[float, int] | None) -> Finding | None:
    before, after = sides.ordinals(node)
    base_value = known[0] if known else None

    def finding(state: str, reason: str, value: float | None = None, limit: float | None = None) -> Finding:
        return Finding(rule.text, state, reason, before, after, value, base_value, limit)

    if cell is None or not cell.values:
        if known is None:
            return None
        if not sides.is_in_head(node):
            return finding(NOTE, "its node is gone, and its value with it")
        return finding(TRIPPED, f"vanished: {cell.reason}" if cell else "vanished: no data")
    value, broken = cell.worst
    limit = rule.limit(base_value if known and known[1] == _FINITE else None)
    if broken != _FINITE:
        if rule.factor is not None and known and known[1] <= broken:
            return finding(NOTE, f"{_SAID[broken]}, as in the base", value)
        new = known is None or known[1] == _FINITE
        return finding(TRIPPED, f"{_SAID[broken]} appeared" if new and known else f"is {_SAID[broken]}", value, limit)
    if limit is None:
        return finding(
            NOTE, "new: the base has no value" if known is None else "repaired: the base is not finite", value
        )
    if not rule.keeps(value, limit):
        change = (
            f", {value - base_value:+.4g} to the base" if base_value is not None and rule.factor is not None else ""
        )
        return finding(TRIPPED, f"{value:.6g} against {limit:.6g}{change}", value, limit)
    if rule.factor is not None and base_value is not None and not rule.keeps(base_value, rule.limit(value) or 0.0):
        return finding(NOTE, f"improved by {abs(value - base_value):.4g}", value, limit)
    return None


# Rules about how much was measured, and about operators that no backend took.


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
