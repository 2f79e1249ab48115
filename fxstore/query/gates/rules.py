"""The grammar of rules.

``rule`` is ``METRIC COMPARISON LIMIT [in STAGE]`` or ``no new fallback [in STAGE]``. ``METRIC`` is any metric of the
store, ``coverage``, or a statistic of the latency: ``p90_ms``, ``mean_us``, ``max_ns``. ``COMPARISON`` is ``>=``,
``<=``, ``>`` or ``<``. ``LIMIT`` is a number (``0.99``, ``90%``) or a multiple of the base's value, with or without a
number added: ``base``, ``1.1 * base``, ``base - 0.01``.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fxstore.errors import UsageError

FALLBACK: Final = "fallback"
COVERAGE: Final = "coverage"
_HINT: Final = "rules are such as: cosine >= 0.99, p90_ms <= 1.1 * base, coverage >= base, no new fallback"
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_IN: Final = r"(?:\s+in\s+(?P<stage>\S.*?))?\s*"
_FALLBACK_RULE: Final = re.compile(rf"\s*no\s+new\s+fallback{_IN}")
_RULE: Final = re.compile(rf"\s*(?P<metric>[A-Za-z_][\w.]*)\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>[^\s].*?){_IN}")
_ABSOLUTE: Final = re.compile(rf"({_NUMBER})\s*(%?)")
_RELATIVE: Final = re.compile(
    rf"(?:(?P<before>{_NUMBER})\s*\*\s*)?base(?:\s*\*\s*(?P<after>{_NUMBER}))?"
    rf"(?:\s*(?P<sign>[-+])\s*(?P<offset>{_NUMBER}))?"
)
_SIGNS: Final = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        text: As the user wrote it.
        subject: Name of a metric, ``coverage`` or ``fallback``.
        keeps: Whether a value keeps a limit.
        factor: What the base's value counts in the limit; None where the limit is a number of its own.
        offset: The number, or what is added to the base's share.
        stage: The only stage that it is about, or None.
    """

    text: str
    subject: str
    keeps: Callable[[float, float], bool] = operator.ge
    factor: float | None = None
    offset: float = 0.0
    stage: str | None = None

    def limit(self, base: float | None) -> float | None:
        """Returns the last value that keeps the rule; None where it needs a base and there is none."""
        if self.factor is None:
            return self.offset
        return None if base is None else self.factor * base + self.offset


def parse(text: str) -> Rule:
    """Returns the rule that a text says.

    Raises:
        UsageError: It says none.
    """
    shown = " ".join(text.split())
    if found := _FALLBACK_RULE.fullmatch(text):
        return Rule(shown, FALLBACK, stage=found["stage"])
    found = _RULE.fullmatch(text)
    if found is None:
        raise UsageError(f"{shown!r} is no rule", hint=_HINT)
    limit = found["limit"]
    keeps = _SIGNS[found["sign"]]
    if number := _ABSOLUTE.fullmatch(limit):
        value = float(number[1]) / (100 if number[2] else 1)
        return Rule(shown, found["metric"], keeps, None, value, found["stage"])
    part = _RELATIVE.fullmatch(limit)
    if part is None or (part["before"] and part["after"]):
        raise UsageError(f"{limit!r} in the rule {shown!r} is no limit", hint=_HINT)
    offset = float(part["offset"] or 0) * (-1 if part["sign"] == "-" else 1)
    factor = float(part["before"] or part["after"] or 1)
    return Rule(shown, found["metric"], keeps, factor, offset, found["stage"])


def read(path: Path) -> list[str]:
    """Returns the rules of a TOML file: its array ``rules``.

    Raises:
        UsageError: The file is not TOML, or holds anything else.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}", hint='rules = ["cosine >= 0.99"]') from error
    rules = content.get("rules")
    if set(content) != {"rules"} or not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise UsageError(f"{path} holds no array of rules, or more", hint='rules = ["cosine >= 0.99"]')
    return rules


# What a rule found.


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
