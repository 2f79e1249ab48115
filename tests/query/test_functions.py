"""What a query may call: a list that somebody looked at, out of all that DuckDB has, however a function is written."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from fxstore.query import functions, library
from fxstore.query.engine import MACROS
from tests.query.conftest import tiny

_GIVE_ROWS = ("table", "table_macro")


def catalog() -> set[tuple[str, bool]]:
    """Returns each function of the DuckDB that is installed, and whether it gives rows; a PRAGMA is no SELECT."""
    found = duckdb.connect().execute("SELECT function_name, function_type FROM duckdb_functions()").fetchall()
    return {(name.lower(), kind in _GIVE_ROWS) for name, kind in found if kind != "pragma"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with connect(tmp_path_factory.mktemp("functions") / "store") as store:
        store.commit(tiny())
        yield store


def test_every_function_of_duckdb_is_in_one_list() -> None:
    """Where this fails, a new DuckDB has functions that nobody has looked at: put each where it belongs."""
    unseen = []
    for name, rows in catalog():
        allowed = name in (functions.TABLES if rows else functions.VALUES)
        if allowed == (functions.why_refused(name, rows) is not None):
            unseen.append((name, rows))
    assert sorted(unseen) == []


def test_what_is_allowed_exists() -> None:
    names = {rows: {name for name, gives in catalog() if gives == rows} for rows in (False, True)}
    assert names[True] >= functions.TABLES
    assert functions.VALUES - names[False] == {"unnest"}  # the parser has it
    assert not functions.VALUES & set(MACROS)


def test_what_nobody_has_looked_at_is_refused(asked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the functions of a later DuckDB are."""
    monkeypatch.setattr(functions, "VALUES", functions.VALUES - {"upper"})
    with pytest.raises(QueryError, match=r"^refused: upper\(\) is no function of this store(\n|$)"):
        asked.sql("SELECT upper('a')")


REFUSED = sorted(name for name, rows in catalog() if not rows and name not in functions.VALUES)
OWN = sorted(
    {name for name in library.modules() if name.startswith("_")}
    | {"_files", "_own", "_all_files", "_model_files", "_source", "_key"}
)
PLAIN = [name for name in [*REFUSED, *OWN] if name.replace("_", "a").isalnum()]
VALUE_FORMS = (
    'SELECT "{}"()',
    "SELECT main.{}('a')",
    "SELECT system.main.{}('a')",
    "SELECT memory.main.{}('a')",
    "SELECT pg_catalog.{}('a')",
    "SELECT 'a'.{}()",
    "SELECT x.{}() FROM (SELECT 'a' AS x)",
    "SELECT x.y.{}() FROM (SELECT {{'y': 1}} AS x)",
    "SELECT list_transform(['a'], lambda v: {}(v))",
    "SELECT [{}(v) FOR v IN ['a']]",
    "SELECT COLUMNS(lambda c: {}(c)) FROM nodes",
    "SELECT * REPLACE ({}(name) AS name) FROM nodes",
    "SELECT {}('a') OVER () FROM nodes",
    "SELECT sum(nid) FILTER (WHERE {}('a')) FROM nodes",
    "SELECT upper({}('a'))",
    "SELECT CAST({}('a') AS VARCHAR)",
    "FROM range({}('a'))",
    "FROM {}('a')",
    "FROM main.{}('a')",
    "FROM nodes, LATERAL {}(name)",
    "VALUES ({}('a'))",
    "SELECT 1 ORDER BY {}('a')",
    "DESCRIBE SELECT {}('a')",
    "SUMMARIZE SELECT {}('a')",
    "EXPLAIN SELECT {}('a')",
    "FROM (PIVOT nodes ON stage IN ('a') USING {}(op))",
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(PLAIN), form=st.sampled_from(VALUE_FORMS), upper=st.booleans())
def test_no_form_calls_what_is_refused(asked: Store, name: str, form: str, upper: bool) -> None:
    with pytest.raises(QueryError, match=r"^(refused: |no relation )"):
        asked.sql(form.format(name.upper() if upper else name))


def test_no_text_or_column_calls_what_is_refused(asked: Store) -> None:
    """Functions that take the name of another one as text find aggregates only; a column's name calls nothing."""
    for name in [*REFUSED, *OWN]:
        for query in (f"SELECT list_aggregate([1], '{name}')", f'SELECT "{name}"', f'SELECT nodes."{name}" FROM nodes'):
            try:
                asked.sql(query).fetchall()
            except QueryError:
                continue
            raise AssertionError(query)


HIDDEN = ("duckdb_settings", "duckdb_tables", "sqlite_master", "pg_class", "pragma_database_list", "_runs", "_nodes")
IN_SCOPE = (
    "WITH {0} AS (SELECT 7 AS x) SELECT x FROM {0}",
    "WITH {0} AS (SELECT 7 AS x), b AS (FROM {0}) SELECT x FROM b",
    "WITH {0} AS (SELECT 7 AS x) SELECT (SELECT x FROM {0}) AS x",
    "WITH {0} AS MATERIALIZED (SELECT 7 AS x) FROM (SELECT x FROM (FROM {0}))",
    "SELECT x FROM (WITH {0} AS (SELECT 7 AS x) FROM {0})",
    "WITH {0} AS (SELECT 7 AS x) SELECT 7 AS x ORDER BY (SELECT x FROM {0})",
    "WITH {0} AS (SELECT 7 AS x) SELECT 7 AS x LIMIT (SELECT x FROM {0})",
    "WITH {0} AS (SELECT 7 AS x) (SELECT x FROM {0}) INTERSECT (FROM {0})",
    "WITH {0} AS (SELECT 7 AS x) SELECT x FROM range(1), LATERAL (FROM {0})",
    "WITH {0} AS (SELECT 7 AS x) FROM range((SELECT x FROM {0}), (SELECT x + 1 FROM {0})) AS t(x)",
    "WITH RECURSIVE {0} AS (SELECT 7 AS x UNION SELECT x FROM {0}) SELECT x FROM {0}",
    "WITH {0} AS (SELECT 7 AS x) FROM (PIVOT {0} ON x IN (7) USING max(x)) AS t(x)",
)
OUT_OF_SCOPE = (
    "SELECT * FROM (WITH {0} AS (SELECT 1) FROM {0}), {0}",
    "SELECT (WITH {0} AS (SELECT 1) FROM {0}), (SELECT count(*) FROM {0})",
    "WITH {0} AS (FROM {0}) FROM {0}",
    "WITH a AS (FROM {0}), {0} AS (SELECT 1) FROM a",
    "WITH RECURSIVE a AS (FROM {0}), {0} AS (SELECT 1) FROM a",
    "WITH RECURSIVE {0} AS (SELECT count(*) AS x FROM {0} UNION ALL SELECT x FROM {0} WHERE false) FROM {0}",
    "(WITH {0} AS (SELECT 1) FROM {0}) UNION ALL SELECT count(*) FROM {0}",
    "SELECT count(*) FROM {0} WHERE 1 IN (WITH {0} AS (SELECT 1) FROM {0})",
    "WITH a AS (WITH {0} AS (SELECT 1) FROM {0}) SELECT count(*) FROM {0}, a",
    "WITH {0} AS (SELECT 1 AS x) FROM main.{0}",
    "WITH {0} AS (SELECT 1 AS x) FROM memory.main.{0}",
    "WITH {0} AS (SELECT 1 AS x) FROM system.main.{0}",
    "SELECT 1 AS {0} FROM nodes AS {0}, {0}",
    "DESCRIBE (WITH {0} AS (SELECT 1) FROM {0} UNION ALL SELECT 1 FROM (WITH b AS (FROM {0}) FROM b))"
    " UNION ALL FROM {0}",
)


@pytest.mark.parametrize("form", IN_SCOPE)
def test_a_cte_counts_where_it_is_seen(asked: Store, form: str) -> None:
    """Whatever DuckDB's own catalog has under that name."""
    for name in HIDDEN:
        if not name.startswith("_"):
            assert asked.sql(form.format(name)).fetchall() == [(7,)]


@pytest.mark.parametrize("form", OUT_OF_SCOPE)
def test_a_cte_opens_nothing_where_it_is_not_seen(asked: Store, form: str) -> None:
    for name in HIDDEN:
        for query in (form.format(name), form.format(f'"{name.upper()}"')):
            with pytest.raises(QueryError, match=r"^(refused: |no relation |syntax error)"):
                asked.sql(query).fetchall()


def test_names_fold_as_those_of_duckdb_do(asked: Store) -> None:
    """The Kelvin sign in lower case is a k for Python, and another letter for DuckDB."""
    for query in ('WITH "duc\u212adb_settings" AS (SELECT 1) FROM duckdb_settings', "SELECT bas\u212a64('a')"):
        with pytest.raises(QueryError):
            asked.sql(query).fetchall()
