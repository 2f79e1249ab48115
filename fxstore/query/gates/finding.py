"""What a rule found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TRIPPED: Final = "tripped"
NOT_ENOUGH: Final = "not enough data"
NOTE: Final = "note"
PASSED: Final = "passed"
STATES: Final = (TRIPPED, NOT_ENOUGH, NOTE, PASSED)


@dataclass(frozen=True)
class Finding:
    """One line of a check: a node that a rule has something to say about, or the rule as a whole.

    Attributes:
        rule: The rule as the user wrote it.
        state: One of :data:`STATES`.
        reason: Why, in a few words.
        base: Ordinal of the node in the newest run of the base, or None.
        head: Ordinal of the node in the newest run of the head, or None.
        value: The head's value, or None.
        base_value: The base's value, or None.
        limit: The last value that would have kept the rule, or None.
        stage: The stage, where the finding is about one and not about a node.
        overlay: The overlay that it is about; the base's where the head has none.
    """

    rule: str
    state: str
    reason: str
    base: int | None = None
    head: int | None = None
    value: float | None = None
    base_value: float | None = None
    limit: float | None = None
    stage: str | None = None
    overlay: str | None = None


def counted(number: int, singular: str, plural: str) -> str:
    """Returns a number with what is said of one, or of several."""
    return f"{number} {singular if number == 1 else plural}"


def kept(rule: str, nodes: int, stage: str | None = None) -> list[Finding]:
    """Returns the finding that some nodes keep a rule; none where there are none."""
    said = counted(nodes, "node keeps it", "nodes keep it")
    return [Finding(rule, PASSED, said, stage=stage)] if nodes else []
