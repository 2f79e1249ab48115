"""A pattern of operators as one SQL statement; every text and number of it is bound, never pasted."""

from __future__ import annotations

from fxstore.errors import QueryError
from fxstore.query.motif import TEXTS, Condition, Shape, parse

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
