"""Rules about a metric in which every node counts by its own worst value."""

from __future__ import annotations

from statistics import median

from fxstore.query.gates.finding import NOT_ENOUGH, NOTE, TRIPPED, Finding, kept
from fxstore.query.gates.rules import Rule
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
