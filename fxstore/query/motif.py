"""Patterns of operators as text, such as ``conv* -> *batch_norm*? => relu``; ``docs/query.md`` has the grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from fxstore.errors import QueryError

_TOKEN: Final = re.compile(r"\s*(->|=>|[(),?]|\[[^\]]*\]|[\w*.:]+)")
_CONDITION: Final = re.compile(r"\s*([\w.]+)\s*(<=|>=|!=|=|<|>)\s*(\S(?:.*\S)?)\s*\Z", re.S)
TEXTS: Final = {
    "dtype": "dtype", "module": "module_path", "module_type": "module_type", "name": "name", "target": "target",
    "backend": "backend", "role": "role",
}  # fmt: skip
_MOST_OPTIONAL: Final = 6
_HINT: Final = "for example conv* -> *batch_norm*? -> relu; docs/query.md has the grammar"


@dataclass(frozen=True)
class Condition:
    """What a node must hold: a text (``*`` matches any characters) or a metric's number compared with a limit."""

    name: str
    sign: str
    value: str


@dataclass(frozen=True)
class Step:
    """One node of a pattern.

    Attributes:
        kind: Its operator, with ``*`` for any characters.
    """

    kind: str
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Use:
    """One arrow: the second step uses a value of the first; ``sole``: and nothing else does."""

    source: int
    target: int
    sole: bool


@dataclass(frozen=True)
class Shape:
    """One form of a pattern, its optional steps decided.

    Attributes:
        twins: Pairs of steps that could change places; the first must come first in program order.
    """

    steps: tuple[Step, ...]
    uses: tuple[Use, ...]
    twins: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class _Item:
    """A step or a group of branches, as written."""

    step: Step | None
    branches: tuple[tuple[_Item, ...], ...]
    optional: bool
    sole: bool  # of the arrow before it


_Chain = tuple[_Item, ...]


def parse(pattern: str) -> tuple[Shape, ...]:
    """Returns every form of a pattern, each once.

    Raises:
        QueryError: The text is no pattern; the message says where.
    """
    reader = _Reader(pattern)
    chain = reader.chain()
    reader.end()
    if pattern.count("?") > _MOST_OPTIONAL:
        raise QueryError(f"the pattern has more than {_MOST_OPTIONAL} optional steps", hint="ask in several patterns")
    shapes = dict.fromkeys(_shapes(chain))
    return tuple(shape for shape in shapes if shape.steps)


class _Reader:
    """Reads tokens from the left."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def chain(self) -> _Chain:
        items = [self._item(sole=False)]
        while (arrow := self._peek()) in ("->", "=>"):
            self._take()
            items.append(self._item(sole=arrow == "=>"))
        return tuple(items)

    def end(self) -> None:
        if self._pattern[self._at :].strip():
            raise self._wrong("an arrow (-> or =>)")

    def _item(self, sole: bool) -> _Item:
        token = self._peek()
        if token == "(":
            return _Item(None, self._branches(), self._optional(), sole)
        if not token or not re.match(r"[\w*]", token):
            raise self._wrong("an operator")
        self._take()
        conditions: tuple[Condition, ...] = ()
        if (listed := self._peek() or "").startswith("["):
            self._take()
            conditions = tuple(self._condition(part) for part in listed[1:-1].split(","))
        return _Item(Step(token, conditions), (), self._optional(), sole)

    def _branches(self) -> tuple[_Chain, ...]:
        self._take()
        branches = [self.chain()]
        while self._peek() == ",":
            self._take()
            branches.append(self.chain())
        if self._peek() != ")":
            raise self._wrong("a comma or a closing parenthesis")
        self._take()
        return tuple(branches)

    def _optional(self) -> bool:
        if self._peek() != "?":
            return False
        self._take()
        return True

    def _condition(self, text: str) -> Condition:
        found = _CONDITION.match(text)
        if found is None:
            raise QueryError(f"{text.strip()!r} is no condition", hint="for example [dtype=float16, cosine<0.99]")
        return Condition(found[1], found[2], found[3])

    def _peek(self) -> str | None:
        found = _TOKEN.match(self._pattern, self._at)
        return found[1] if found else None

    def _take(self) -> None:
        found = _TOKEN.match(self._pattern, self._at)
        assert found is not None
        self._at = found.end()

    def _wrong(self, wanted: str) -> QueryError:
        rest = self._pattern[self._at :].strip()
        return QueryError(f"the pattern needs {wanted} {f'at {rest!r}' if rest else 'at its end'}", hint=_HINT)


def _shapes(chain: _Chain) -> Iterator[Shape]:
    """Yields the forms of a chain: each optional item with and without it."""
    choices = [(item, None) if item.optional else (item,) for item in chain]
    for kept in product(*choices):
        items = [item for item in kept if item is not None]
        for forms in product(*(_forms(item) for item in items)):
            yield _joined(items, forms)


def _forms(item: _Item) -> list[tuple[Shape, ...]]:
    """Returns the forms of one item: a single shape for a step, one per branch for a group."""
    if item.step is not None:
        return [(Shape((item.step,), ()),)]
    return list(product(*(list(_shapes(branch)) for branch in item.branches)))


def _joined(items: list[_Item], forms: tuple[tuple[Shape, ...], ...]) -> Shape:
    """Lays the items of a chain one after the other; a group's branches start at, and lead to, its neighbours."""
    steps: list[Step] = []
    uses: list[Use] = []
    twins: list[tuple[int, int]] = []
    ends: list[int] = []
    for item, shapes in zip(items, forms, strict=True):
        new_ends: list[int] = []
        seen: dict[Shape, int] = {}
        for shape in (shape for shape in shapes if shape.steps):
            first = len(steps)
            uses += [Use(end, first, item.sole) for end in ends]
            uses += [Use(use.source + first, use.target + first, use.sole) for use in shape.uses]
            twins += [(a + first, b + first) for a, b in shape.twins]
            steps += shape.steps
            new_ends.append(len(steps) - 1)
            if shape in seen:
                twins.append((seen[shape], first))
            seen[shape] = first
        ends = new_ends or ends
    return Shape(tuple(steps), tuple(uses), tuple(twins))
