"""The relations of the contract for other engines: the store's files as they are, and the same ``.sql`` over them.

What stands in the files of ``relations`` and in ``all_runs.sql`` keeps to what these engines have, too: no QUALIFY, no
GROUP BY ALL, no recursive unnest, of list functions only an ordered ``list``. Macros of one expression are put in where
they are used.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import pyarrow as pa
import sqlglot
from sqlglot import exp

from fxstore.errors import StoreError, UsageError
from fxstore.query import library
from fxstore.query.engine import RELATIONS, Engine
from fxstore.store import Catalog, Directory, open_directory, unreadable
from fxstore.store.directory import RELATIONS as SCHEMAS

CHAIN: Final = "_chain"
_BASES: Final = ("_runs", "_stages", "_known_metrics")
_OF_ALL: Final = "_all_files"
_OPTIONAL: Final = frozenset({"model"})
_NUMBERS: Final = frozenset({"by"})
_PREFIX: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|")
# Longer chains of ancestors than any compiler records.
_LONGEST: Final = 64
Rewrite = Callable[[exp.Expression], exp.Expression]


@dataclass(frozen=True)
class Snapshot:
    """What a store holds at one moment, by the private names that the views use.

    Attributes:
        directory: The store's; of one elsewhere what was brought of it, which is the reader's to remove.
        files: Parquet files of each view that reads them directly, at least one.
        schemas: Columns of these files.
        tables: Rows that no Parquet file has.
    """

    directory: Directory
    files: dict[str, list[str]]
    schemas: dict[str, pa.Schema]
    tables: dict[str, pa.Table]


def snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Returns what the store at a path or a URL holds now.

    Raises:
        StoreError: There is no store.
    """
    directory = open_directory(path, read_only=True)
    catalog = Catalog(directory)
    try:
        engine = Engine(catalog)
    except OSError as error:
        raise unreadable(directory.root, error) from error
    try:
        tables = {name: engine.arrow(f"FROM {name}") for name in _BASES}
    finally:
        engine.close()
    read = _read()
    return Snapshot(
        directory,
        {name: catalog.all_files(relation) for name, relation in read.items()},
        {name: SCHEMAS[relation] for name, relation in read.items()},
        tables,
    )


def views(dialect: str, rewrite: Rewrite, prefix: str = "", made: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the views that read no file, each as one SELECT of a dialect, what is needed first.

    Args:
        dialect: A name that sqlglot knows.
        rewrite: Changes of a query what sqlglot's writer of the dialect does not.
        prefix: Begins the name of each view, and of each that it reads.
        made: Queries in the place of our own, by name, where the dialect has no such thing.

    Raises:
        UsageError: The prefix is no part of a name.
    """
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(f"{prefix!r} cannot begin the name of a view", hint="letters, digits and _ can")
    ours = _queries()
    theirs = {name: _parsed(text, dialect) for name, text in (made or {}).items()}
    read = _read()
    written = {}
    for name, query in ours.items():
        if name not in read:
            changed = theirs[name] if name in theirs else rewrite(_without_macros(query.copy()))
            written[prefix + name] = _written(changed, dialect, prefix)
    return written


def question(
    name: str, values: Mapping[str, str | float | None], dialect: str, rewrite: Rewrite, prefix: str = ""
) -> str:
    """Returns a question over all runs as one SELECT of a dialect.

    Args:
        name: One of :func:`questions`.
        values: What it asks for; a text that is left out is NULL.

    Raises:
        UsageError: There is no such question, or it asks for something else.
    """
    if name not in questions():
        raise UsageError(f"there is no question {name!r}", hint=f"there are {', '.join(questions())}")
    query = questions()[name]
    asked = {found.name for found in query.find_all(exp.Placeholder)}
    given = {key for key, value in values.items() if value is not None}
    missing, unknown = asked - given - _OPTIONAL, values.keys() - asked
    if missing or unknown:
        wrong = f"needs {sorted(missing)[0]}" if missing else f"has no {sorted(unknown)[0]}"
        raise UsageError(f"the question {name!r} {wrong}", hint=f"it takes {', '.join(sorted(asked)) or 'nothing'}")

    for key in sorted(given):
        if isinstance(values[key], str) == (key in _NUMBERS):
            kind = "a number" if key in _NUMBERS else "a text"
            raise UsageError(
                f"{key} is {kind}, not {values[key]!r:.60}", hint=f"{key}=0.01" if key in _NUMBERS else None
            )

    def fill(node: exp.Expression) -> exp.Expression:
        return _literal(values.get(node.name)) if isinstance(node, exp.Placeholder) else node

    return _written(rewrite(_without_macros(query.transform(fill))), dialect, prefix)


@cache
def questions() -> dict[str, exp.Expression]:
    """Returns the questions over all runs: queries with ``$name`` for what they ask for."""
    folder = resources.files("fxstore.query") / "sql" / "questions"
    texts = {entry.name.removesuffix(".sql"): entry.read_text("utf-8") for entry in folder.iterdir()}
    return {name: _parsed(texts[name], "duckdb") for name in sorted(texts)}


def _literal(value: str | float | None) -> exp.Expression:
    if value is None:
        return exp.Null()
    if isinstance(value, str):
        return exp.Literal.string(value)
    if not math.isfinite(value):
        raise UsageError(f"{value} is not a number to ask for", hint="give a finite one")
    return exp.Cast(this=exp.Literal.string(repr(float(value))), to=exp.DataType.build("double"))


def _parsed(text: str, dialect: str) -> exp.Expression:
    found = sqlglot.parse_one(text, dialect=dialect)
    assert isinstance(found, exp.Expression)
    return found


def _written(query: exp.Expression, dialect: str, prefix: str) -> str:
    for table in query.find_all(exp.Table):
        if table.name in _queries() or table.name in _BASES:
            table.this.set("this", prefix + table.name)
    return query.sql(dialect=dialect, comments=False)


def public(prefix: str = "") -> tuple[str, ...]:
    """Returns the names of the views that are for use."""
    return tuple(prefix + name for name in RELATIONS)


def hops(files: Iterable[str]) -> int:
    """Returns the number of hops of the longest chain of ancestors that files of sources can hold, at least 1.

    As in ``_parents``, what does not stand before a source is none of its ancestors.

    Raises:
        StoreError: A chain is longer than any compiler's.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    longest = 1
    for file in files:
        table = pq.read_table(file, columns=["source", "parent"])
        table = table.filter(pc.less(table["parent"], table["source"])).sort_by("parent")
        parents = dict(zip(table["source"].to_pylist(), table["parent"].to_pylist(), strict=True))
        at = set(parents.values())
        for hop in range(2, _LONGEST + 2):
            if not at:
                break
            longest = max(longest, hop)
            at = {parents[source] for source in at if source in parents}
        if longest > _LONGEST:
            raise StoreError(f"a chain of ancestors in {file} has more than {_LONGEST} hops")
    return longest


@cache
def _created() -> dict[str, exp.Create]:
    """Returns what the relations need, by name, what is needed first."""
    found: dict[str, exp.Create] = {}
    for module in library.in_order(RELATIONS):
        for statement in sqlglot.parse(module.text, dialect="duckdb"):
            if isinstance(statement, exp.Create):
                found[statement.this.this.name if statement.kind == "MACRO" else statement.this.name] = statement
    return found


def _queries() -> dict[str, exp.Expression]:
    return {name: made.expression for name, made in _created().items() if made.kind == "VIEW"}


@cache
def _read() -> dict[str, str]:
    """Returns for each view that reads files the relation of the store whose files these are."""
    found = {}
    for name, query in _queries().items():
        call = query.find(exp.Anonymous)
        if call is not None and call.name == _OF_ALL:
            found[name] = call.expressions[0].name
    return found


def _without_macros(query: exp.Expression) -> exp.Expression:
    def put_in(node: exp.Expression) -> exp.Expression:
        made = _created().get(node.name) if isinstance(node, exp.Anonymous) else None
        if made is None:
            return node
        names = [parameter.name for parameter in made.this.expressions]
        return exp.paren(_filled(made.expression.copy(), dict(zip(names, node.expressions, strict=True))))

    return query.transform(put_in)


def _filled(body: exp.Expression, arguments: Mapping[str, exp.Expression]) -> exp.Expression:
    def fill(node: exp.Expression) -> exp.Expression:
        given = arguments.get(node.name) if isinstance(node, exp.Column) and not node.table else None
        return node if given is None else exp.paren(given.copy())

    return body.transform(fill)
