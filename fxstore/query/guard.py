"""Which statements a store runs: one SELECT over its own relations, and nothing else.

The tree that is checked is the one of DuckDB's own parser, so there is no second grammar to slip between; sqlglot is a
second opinion where it can read the statement, and binding the statement as a subquery a third.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb

from fxstore.errors import QueryError, nearest
from fxstore.query import calls, functions, hints, library, result, run_cache
from fxstore.query.engine import MACROS, RELATIONS, Engine

_LISTS: Final = "`fxstore schema` prints the relations, columns and macros that can be asked"
_HINT: Final = "a store is only read, with one SELECT over its relations; `fxstore schema` lists them"
# What a statement may be made of; what a later DuckDB's grammar adds is refused until somebody has looked at it.
_QUERY_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_PARTS: Final = frozenset({
    "BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF",
    "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING",
    "DESCENDING",
}) | _QUERY_NODES  # fmt: skip
_EXPRESSIONS: Final = frozenset({
    "STAR", "CONSTANT", "COLUMN_REF", "COMPARISON", "FUNCTION", "WINDOW", "OPERATOR", "LAMBDA", "SUBQUERY", "CASE",
    "CAST", "TYPE", "COLLATE", "BETWEEN", "CONJUNCTION", "POSITIONAL_REFERENCE", "PARAMETER", "DEFAULT",
})  # fmt: skip
_TABLE_FUNCTIONS: Final = functions.TABLES | frozenset(MACROS)
_CATALOG_VIEWS: Final = frozenset({"duckdb_columns", "duckdb_views"})
_CATALOG: Final = frozenset({"duckdb_columns", "duckdb_views", "duckdb_functions", "tables", "columns"})
RANKINGS: Final = frozenset({"worst", "first_bad"})
_PATHLIKE: Final = frozenset("./\\:*?[")
_BEFORE: Final = r"^(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_FIRST_WORD: Final = re.compile(rf"{_BEFORE}(\w+)", re.S)
_OPTION: Final = r"(?:ANALYZE|FORMAT\s+\w+)"
_EXPLAIN: Final = re.compile(
    rf"{_BEFORE}EXPLAIN\s+(?:ANALYZE\s+)?(?:\(\s*{_OPTION}\s*(?:,\s*{_OPTION}\s*)*\))?", re.I | re.S
)


@dataclass(frozen=True)
class Checked:
    """A statement that may run.

    Attributes:
        text: The statement, without a semicolon.
        coverage: The statement that counts what its one call of ``worst`` or ``first_bad`` could have ranked, or None.
        coverage_params: Names of that statement's parameters.
        completed: The statement with the node of each row as a last column, or None.
        unnamed: Why there is no such column, and what to type; None where nothing is known of it.
        terms: The texts that it compares stages, metrics and operators with, ``*`` for any characters.
        gives_few: Whether binding it costs more than copying its rows.
    """

    text: str
    coverage: str | None = None
    coverage_params: tuple[str, ...] = ()
    gives_few: bool = False
    completed: str | None = None
    unnamed: str | None = None
    terms: tuple[tuple[str, str], ...] = ()


@dataclass
class _Found:
    """What a tree refers to.

    Attributes:
        tables: With the names of the CTEs that each of them sees.
    """

    tables: list[tuple[dict[str, Any], frozenset[str]]] = field(default_factory=list)
    table_functions: list[dict[str, Any]] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    shows: list[dict[str, Any]] = field(default_factory=list)


def check(
    engine: Engine,
    query: str,
    params: Any = None,
    check_call: Callable[[str, Mapping[str, object]], None] = lambda macro, asked: None,
) -> Checked:
    """Returns the statement if it only reads this store; the caller holds the engine's lock.

    Args:
        check_call: Raises where a macro is called with what the store has not.

    Raises:
        QueryError: It is not exactly one SELECT (or EXPLAIN of one), names what is no relation of the store, or does
            not bind.
    """
    text = inner = _single(engine, query, ("SELECT", "EXPLAIN"))
    if _EXPLAIN.match(text):
        inner = _single(engine, _EXPLAIN.sub("", text, count=1), ("SELECT",))
    tree = _tree(engine, inner)
    found = _look(tree)
    _check_names(found)
    _load(engine, found)
    if not found.shows:
        _second_opinion(inner)
    for item in found.table_functions:
        if (macro := _path(item["function"])[-1]) in MACROS:
            check_call(macro, calls.asked_of(macro, item["function"]["arguments"], params))
    try:
        columns = engine.bind(inner, params)
    except duckdb.Error as error:
        raise explain(engine, error) from error
    called = {_path(item["function"])[-1] for item in found.table_functions}
    is_named = ("nid", "BIGINT") in columns or text is not inner or bool(found.shows)
    return Checked(
        text,
        *_coverage(engine, tree, found),
        gives_few=not found.tables and called <= set(MACROS),
        completed=None if is_named else result.with_nid(engine, tree),
        unnamed=None if is_named else result.why_not(tree),
        terms=tuple(calls.compared(_dicts(tree), params)),
    )


def _coverage(engine: Engine, tree: Any, found: _Found) -> tuple[str | None, tuple[str, ...]]:
    """Turns the one ranking of a statement into the statement of its coverage, with the same arguments."""
    rankings = [item for item in found.table_functions if _path(item["function"])[-1] in RANKINGS]
    if len(rankings) != 1:
        return None, ()
    name = f"_coverage_of_{_path(rankings[0]['function'])[-1]}"
    function = rankings[0]["function"] | {"function_name": name, "qualified_name": {"path": [name]}}
    params = tuple(str(item["identifier"]) for item in _dicts(function) if item.get("class") == "PARAMETER")
    select = _tree(engine, "FROM x()")
    statement = select["statements"][0]
    statement["node"]["from_table"]["function"] = function
    known = tree["statements"][0].get("named_param_map") or []
    statement["named_param_map"] = [entry for entry in known if entry["key"] in params]
    ((query,),) = engine.rows("SELECT json_deserialize_sql(?::JSON)", [json.dumps(select)])
    return str(query), params


def _path(item: dict[str, Any]) -> list[str]:
    """Returns the name that a table or function is called by, with its catalog and schema before it, folded."""
    path = (item.get("qualified_name") or {}).get("path")
    named = path or [item.get("schema_name") or item.get("schema"), item.get("table_name") or item.get("function_name")]
    return [_folded(part) for part in named if part] or [""]


def _folded(name: str) -> str:
    """Returns a name in lower case as DuckDB folds it: ASCII alone, so that the Kelvin sign is no k."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _single(engine: Engine, query: str, kinds: tuple[str, ...]) -> str:
    try:
        statements = engine.statements(query)
    except (duckdb.Error, UnicodeError, ValueError) as error:
        raise explain(engine, error) from error
    if len(statements) != 1:
        count = f"{len(statements)} statements" if statements else "no statement"
        raise QueryError(f"one statement at a time: this is {count}", hint=_HINT)
    kind = _kind(statements[0])
    if kind not in kinds:
        hint = "PIVOT needs its values: PIVOT … ON x IN (…)" if kind == "MULTI" else _HINT
        raise QueryError(f"refused: a store runs SELECT, not {_verb(statements[0].query, kind)}", hint=hint)
    return statements[0].query.strip().rstrip(";").rstrip()


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB has kinds that its Python client has no name for
        return "foreign"


def _verb(text: str, kind: str) -> str:
    """Returns what a user calls a statement: DuckDB's kind of ``INSTALL`` is LOAD, that of ``PIVOT`` MULTI."""
    word = _FIRST_WORD.match(text)
    return kind if word is None or word[1].upper() in ("WITH", "FROM") else word[1].upper()


def _tree(engine: Engine, text: str) -> Any:
    ((serialized,),) = engine.rows("SELECT json_serialize_sql(?::VARCHAR)", [text])
    try:
        tree = json.loads(serialized)
    except RecursionError:
        raise QueryError("refused: the statement is nested too deeply") from None
    if tree["error"]:
        raise QueryError(f"refused: {tree.get('error_message', 'the statement cannot be read')}", hint=_HINT)
    return tree


def _dicts(tree: Any) -> Iterator[dict[str, Any]]:
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _scoped(tree: Any) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Yields all parts of a tree, each with the names of the CTEs that it sees: those before it, and those around."""
    stack: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        item, seen = stack.pop()
        if isinstance(item, list):
            stack.extend((part, seen) for part in item)
        elif isinstance(item, dict):
            yield item, seen
            for entry in (item.get("cte_map") or {"map": ()})["map"]:
                stack.append((entry["value"], seen))
                seen |= {_folded(entry["key"])}
            for key, part in item.items():
                if key == "right" and item.get("type") == "RECURSIVE_CTE_NODE":
                    stack.append((part, seen | {_folded(item["cte_name"])}))
                elif key != "cte_map":
                    stack.append((part, seen))


def _look(tree: Any) -> _Found:
    found = _Found()
    rows: list[int] = []
    for item, seen in _scoped(tree):
        kind = item.get("type")
        part = item.get("class", kind)
        if isinstance(part, str) and part not in (_EXPRESSIONS if "class" in item else _PARTS):
            raise QueryError(f"refused: it holds {part.split('_')[0]}, and a store is only read", hint=_HINT)
        if kind == "BASE_TABLE":
            found.tables.append((item, seen))
        elif kind == "TABLE_FUNCTION":
            found.table_functions.append(item)
            rows.append(id(item["function"]))
        elif kind == "SHOW_REF":
            found.shows.append(item)
        if "function_name" in item and id(item) not in rows:
            found.functions.add(_path(item)[-1])
    return found


def _load(engine: Engine, found: _Found) -> None:
    """Creates what the statement uses; all of it where it looks at the catalog."""
    called = {_path(item["function"])[-1] for item in found.table_functions}
    named = {_path(item)[-1] for item in (*(table for table, _ in found.tables), *found.shows)}
    if (called | named) & _CATALOG or any(item.get("query") is None for item in found.shows):
        engine.load_all()
    engine.load(called | named)


def _check_names(found: _Found) -> None:
    for table, ctes in found.tables:
        _check_table(_path(table), ctes)
    for name in sorted({_path(item["function"])[-1] for item in found.table_functions} - _TABLE_FUNCTIONS):
        raise _no_function(name, rows=True)
    for name in sorted(found.functions - functions.VALUES):
        raise _no_function(name, rows=False)
    for item in found.shows:
        name = _path(item)[-1].strip('"')
        if item.get("query") is None and name not in ("", "tables", *RELATIONS):
            raise QueryError(f"refused: only relations can be shown, not {name!r}", hint=_HINT)


def _no_function(name: str, rows: bool) -> QueryError:
    """Returns why a function cannot be called, with what can be called instead."""
    if name in (functions.VALUES if rows else _TABLE_FUNCTIONS):
        gives, form = ("a value", f"SELECT {name}(…)") if rows else ("rows", f"FROM {name}(…)")
        return QueryError(f"refused: {name}() gives {gives}", hint=f"call it so: {form}")
    why = functions.why_refused(name, rows)
    near = nearest(name, MACROS if rows else sorted(functions.VALUES))
    said = f"is not for queries: {why}" if why else "is no function of this store"
    return QueryError(f"refused: {name}() {said}", hint=near or (_HINT if rows or why else _LISTS))


def _check_table(path: list[str], ctes: frozenset[str]) -> None:
    *schema, name = path
    qualified = schema not in ([], ["main"], ["memory", "main"], ["memory"])
    if schema == ["information_schema"] and name in ("tables", "columns"):
        return
    if not qualified and name in (*RELATIONS, *_CATALOG_VIEWS):
        return
    private = name in library.private_names() or name.startswith(run_cache.PREFIX)
    if not schema and name in ctes and not private and not set(name) & _PATHLIKE:
        return
    if qualified or name.startswith("_") or set(name) & _PATHLIKE:
        raise QueryError(f"refused: {'.'.join(path)!r} is no relation of this store", hint=_HINT)
    hint = f"it takes arguments: {name}(…)" if name in MACROS else nearest(name, (*RELATIONS, *ctes))
    raise QueryError(f"no relation {name!r} in this store", hint=hint or _HINT)


def _second_opinion(text: str) -> None:
    """Refuses what sqlglot reads as anything but a query; says nothing where it cannot read the statement."""
    import sqlglot
    from sqlglot import exp

    try:
        parsed = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return
    writes = (
        exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.Set, exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Command,
        exp.Use, exp.TruncateTable, exp.Kill,
    )  # fmt: skip
    queries = (exp.Query, exp.Values, exp.Table)
    for tree in parsed:
        bad = (
            next((n for n in tree.walk() if isinstance(n, writes) and not isinstance(n, queries)), None)
            if tree
            else None
        )
        if bad is not None:
            raise QueryError(f"refused: it holds {bad.key.upper()}, and a store is only read", hint=_HINT)


_NO_RUN: Final = re.compile(r'fxstore: no run ([^"\n]*)"')
_NO_DIRECTION: Final = re.compile(r'fxstore: no direction "([^"\n]*)"')
_NO_TABLE: Final = re.compile(r"Table with name (\S+) does not exist")
_NO_FUNCTION: Final = re.compile(r"Function with name (\S+) does not exist")
_NO_COLUMN: Final = re.compile(r'(?:Referenced column|column named) "([^"]+)"|Referenced column "([^"]+)" not found')


def explain(engine: Engine, error: Exception) -> QueryError:
    """Returns the error of a statement as one clear line, with a hint at the nearest names."""
    message = str(error)
    if missing := _NO_RUN.search(message):
        return hints.no_run(engine.catalog, missing[1])
    if undirected := _NO_DIRECTION.search(message):
        return hints.no_direction(undirected[1])
    line = message.split("\n", 1)[0].strip()
    line = re.sub(r"^(?:\w+ )+Error: ", "", line).replace("(\n", "(")
    if column := _NO_COLUMN.search(message):
        name = column[1] or column[2]
        near = None if name in engine.column_names else nearest(name, engine.column_names)
        return QueryError(line, hint=near or _LISTS)
    if table := _NO_TABLE.search(message):
        return QueryError(line, hint=nearest(table[1], RELATIONS) or _LISTS)
    if function := _NO_FUNCTION.search(message):
        return QueryError(line, hint=nearest(function[1], MACROS) or _LISTS)
    hint = _LISTS if message.startswith("Parser Error") else None
    return QueryError(line or "the statement cannot be read", hint=hint)
