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
_MOST_NESTED: Final = 32
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
        self._depth = 0

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
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise QueryError(f"the pattern has parentheses more than {_MOST_NESTED} deep", hint=_HINT)
        branches = [self.chain()]
        while self._peek() == ",":
            self._take()
            branches.append(self.chain())
        if self._peek() != ")":
            raise self._wrong("a comma or a closing parenthesis")
        self._take()
        self._depth -= 1
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


# A pattern of operators as one SQL statement; every text and number of it is bound, never pasted.


# What a pattern calls a node by.
_KIND = "coalesce({0}.op_type, {0}.role)"
_NUMBERS = "a metric is compared with a number, nan or inf: cosine<0.99, cosine=nan"


class Statement:
    """The statement of one pattern.

    Attributes:
        text: The SQL; its parameters are ``run``, ``stage`` and those in ``params``.
        params: The texts and numbers of the pattern.
        metrics: Names of the metrics that its conditions ask for.
        kinds: The operators that it asks for, with ``*`` in them.
    """

    def __init__(self, pattern: str, nested: bool = False) -> None:
        self.params: dict[str, object] = {}
        self.metrics: dict[str, str] = {}
        self.kinds: dict[str, None] = {}
        selects = [self._select(shape) for shape in parse(pattern)]
        parts = [
            f"uses AS (FROM {'_run_nested_uses' if nested else '_run_uses'}($run))",
            "users AS (SELECT u.src, count(*) AS users FROM uses AS u "
            "WHERE u.dst NOT IN (SELECT n.ordinal FROM _run_nodes($run) AS n WHERE n.op_type = 'getitem') "
            "GROUP BY u.src)",
        ]
        parts += [
            f"{table} AS MATERIALIZED (SELECT r.ordinal, arg_min(r.value, r.rank) AS value "
            f"FROM _ranked(${table}, $run, $stage, NULL, NULL, NULL) AS r GROUP BY r.ordinal)"
            for table in self.metrics.values()
        ]
        self.params |= {table: metric for metric, table in self.metrics.items()}
        found = " UNION ALL ".join(selects)
        self.text = f"WITH {', '.join(parts)} SELECT * FROM ({found}) AS found ORDER BY found.nids"

    def _select(self, shape: Shape) -> str:
        numbers = range(len(shape.steps))
        tables = [f"_run_nodes($run) AS n{i}" for i in numbers]
        where = [term for i in numbers for term in self._of_step(shape, i)]
        for place, use in enumerate(shape.uses):
            tables.append(f"uses AS u{place}")
            where += [f"u{place}.src = n{use.source}.ordinal", f"u{place}.dst = n{use.target}.ordinal"]
            if use.sole:
                tables.append(f"users AS s{place}")
                consumers = len({other.target for other in shape.uses if other.source == use.source})
                where += [f"s{place}.src = n{use.source}.ordinal", f"s{place}.users = {consumers}"]
        where += [f"n{a}.ordinal <> n{b}.ordinal" for a in numbers for b in numbers if a < b and _may_meet(shape, a, b)]
        where += [f"n{a}.ordinal < n{b}.ordinal" for a, b in shape.twins]
        listed = {column: ", ".join(f"n{i}.{column}" for i in numbers) for column in ("nid", "name")}
        return (
            f"SELECT [{listed['nid']}] AS nids, [{listed['name']}] AS names, n0.stage AS stage, n0.method AS method, "
            f"n0.path AS path FROM {', '.join(tables)} WHERE {' AND '.join(where)}"
        )

    def _of_step(self, shape: Shape, number: int) -> list[str]:
        step, table = shape.steps[number], f"n{number}"
        self.kinds[step.kind] = None
        terms = [f"{_KIND.format(table)} GLOB {self._bound(step.kind)}", f"($stage IS NULL OR {table}.stage = $stage)"]
        return terms + [self._condition(condition, table) for condition in step.conditions]

    def _condition(self, condition: Condition, table: str) -> str:
        if condition.name in TEXTS:
            if condition.sign not in ("=", "!="):
                raise QueryError(f"{condition.name} is a text: compare it by = or !=", hint="[dtype=float*]")
            glob = f"coalesce({table}.{TEXTS[condition.name]}, '') GLOB {self._bound(_glob(condition.value))}"
            return glob if condition.sign == "=" else f"NOT ({glob})"
        try:
            limit = float(condition.value)
        except ValueError:
            known = ", ".join(TEXTS)
            hint = f"{_NUMBERS}; texts are {known}"
            raise QueryError(f"{condition.name!r} is compared with {condition.value!r}", hint=hint) from None
        values = self.metrics.setdefault(condition.name, f"m{len(self.metrics)}")
        if limit != limit:
            sign = "" if condition.sign == "=" else "NOT "
            return f"{table}.ordinal IN (SELECT v.ordinal FROM {values} AS v WHERE {sign}isnan(v.value))"
        sign = "<>" if condition.sign == "!=" else condition.sign
        held = f"NOT isnan(v.value) AND v.value {sign} {self._bound(limit)}"
        return f"{table}.ordinal IN (SELECT v.ordinal FROM {values} AS v WHERE {held})"

    def _bound(self, value: object) -> str:
        name = f"p{len(self.params)}"
        self.params[name] = value
        return f"${name}"


def _glob(text: str) -> str:
    """Returns the text with only ``*`` as a wildcard."""
    return "".join(f"[{c}]" if c in "?[" else c for c in text)


def _may_meet(shape: Shape, a: int, b: int) -> bool:
    """Returns whether one node could stand for both steps: neither leads to the other."""
    later: dict[int, set[int]] = {}
    for use in shape.uses:
        later.setdefault(use.source, set()).add(use.target)

    def leads(start: int, end: int) -> bool:
        return end in later.get(start, ()) or any(leads(step, end) for step in later.get(start, ()))

    return not leads(a, b) and not leads(b, a)
