"""Every form in which a statement could do more than read this store, and the forms that must stay possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.query.conftest import tiny
from tests.query.statements import ALLOWED, REFUSED, statements

SECRET = "fxstore-secret"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, str], Path]]:
    place = tmp_path_factory.mktemp("guard")
    (place / "secret.csv").write_text(f"a\n{SECRET}\n")
    with connect(place / "store") as store:
        run_id = store.commit(tiny())
        for _ in range(3):  # its tables are kept in memory then
            store.worst("cosine").fetchall()
        inside = next((store.path / "graphs").glob("*/*/nodes.parquet"))
        names = {
            "secret": str(place / "secret.csv"), "out": str(place / "out.csv"), "inside": str(inside),
            "store": str(store.path), "name": run_id,
        }  # fmt: skip
        yield store, names, place


def listing(place: Path) -> set[str]:
    return {str(path) for path in place.rglob("*")}


@pytest.mark.parametrize("statement", statements(REFUSED))
def test_refused(guarded: tuple[Store, dict[str, str], Path], statement: str) -> None:
    secret_frame = pa.table({"a": [SECRET]})  # a name that DuckDB must not find
    store, names, place = guarded
    before, runs = listing(place), store.runs().fetchall()
    with pytest.raises(QueryError) as error:
        store.sql(statement.format(**names)).fetchall()
    said = str(error.value)
    assert said
    assert "\n" not in said
    assert SECRET not in said + str(error.value.hint)
    assert listing(place) == before
    assert store.runs().fetchall() == runs
    assert len(secret_frame) == 1


@pytest.mark.parametrize("statement", statements(ALLOWED))
def test_allowed(guarded: tuple[Store, dict[str, str], Path], statement: str) -> None:
    store, names, _ = guarded
    assert store.sql(statement.format(**names)).columns


SOURCES = (
    "read_text('{secret}')", "READ_TEXT('{secret}')", "\"read_text\"('{secret}')", "'{secret}'", "'{inside}'", "_runs",
    "main._nodes", "query('SELECT 1')", "duckdb_settings()", "glob('{store}/**')", "_run_nodes(NULL)",
)  # fmt: skip
PLACES = (
    "SELECT * FROM {}",
    "FROM {} SELECT 1",
    "SELECT (SELECT count(*) FROM {})",
    "SELECT 1 WHERE EXISTS (FROM {})",
    "SELECT 1 IN (SELECT 1 FROM {})",
    "SELECT * FROM nodes JOIN {} ON true",
    "SELECT * FROM nodes LEFT JOIN LATERAL (SELECT * FROM {}) ON true",
    "SELECT * FROM nodes SEMI JOIN {} ON true",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM {}))",
    "WITH a AS (SELECT * FROM {}) SELECT 1",
    "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM {}) SELECT 1",
    "WITH a AS MATERIALIZED (WITH b AS (FROM {}) FROM b) FROM a",
    "SELECT 1 UNION ALL SELECT count(*) FROM {}",
    "SELECT 1 ORDER BY (SELECT 1 FROM {})",
    "SELECT 1 LIMIT (SELECT 1 FROM {})",
    "SELECT count(*) FILTER (WHERE 1 = (SELECT 1 FROM {})) FROM nodes",
    "SELECT row_number() OVER (ORDER BY (SELECT 1 FROM {})) FROM nodes",
    "SELECT CASE WHEN (SELECT 1 FROM {}) = 1 THEN 1 END",
    "SELECT 1 GROUP BY ALL HAVING (SELECT 1 FROM {}) = 1",
    "SELECT list_transform([1], lambda x: (SELECT 1 FROM {}))",
    "SELECT [y FOR y IN (SELECT [1] FROM {})]",
    "VALUES ((SELECT 1 FROM {}))",
    "FROM worst((SELECT 'cosine' FROM {}))",
    "FROM (DESCRIBE SELECT * FROM {})",
    "FROM (PIVOT {} ON a IN (1) USING count(*))",
    "FROM (UNPIVOT (SELECT * FROM {}) ON a INTO NAME k VALUE v)",
    "EXPLAIN SELECT * FROM {}",
    "SELECT * FROM {} TABLESAMPLE 10%",
)


def test_a_refused_source_is_refused_in_any_place(guarded: tuple[Store, dict[str, str], Path]) -> None:
    store, names, place = guarded
    before = listing(place)
    for where in PLACES:
        for source in SOURCES:
            with pytest.raises(QueryError) as error:
                store.sql(where.format(source.format(**names))).fetchall()
            assert str(error.value).startswith("refused: "), (where, source, str(error.value))
    assert listing(place) == before


NESTED = tuple(place for place in PLACES if not place.startswith("EXPLAIN"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(NESTED), min_size=2, max_size=4), st.sampled_from(SOURCES), st.booleans())
def test_what_runs_over_a_relation_is_refused_over_anything_else(
    guarded: tuple[Store, dict[str, str], Path], places: list[str], source: str, explained: bool
) -> None:
    """Places in places: a statement that is fine with ``nodes`` at its bottom is refused with a forbidden source."""
    store, names, place = guarded

    def nested(bottom: str) -> str:
        for number, where in enumerate(places):
            bottom = f"({where.format(bottom)}) AS t{number}" if number + 1 < len(places) else where.format(bottom)
        return f"EXPLAIN {bottom}" if explained else bottom

    try:
        store.sql(nested("nodes"))
    except QueryError:
        assume(False)
    before = listing(place)
    with pytest.raises(QueryError, match=r"^refused: "):
        store.sql(nested(source.format(**names))).fetchall()
    assert listing(place) == before


def test_a_cte_does_not_reach_into_the_macros(guarded: tuple[Store, dict[str, str], Path]) -> None:
    """DuckDB lets a macro see the caller's CTEs, so ours name their tables with the schema."""
    store, _, _ = guarded
    honest = store.sql("SELECT name, value FROM first_bad('cosine', 0.99)").fetchall()
    fakes = (
        "edges",
        "flow",
        "ranked",
        "held",
        "chosen",
        "first",
        "damaged",
        "counterparts",
        "called",
        "border",
        "graphs",
    )
    ctes = ", ".join(f"{name} AS (SELECT 1 AS x)" for name in fakes)
    assert store.sql(f"WITH {ctes} SELECT name, value FROM first_bad('cosine', 0.99)").fetchall() == honest


def test_nothing_but_the_engine_sees_the_lock_lifted(guarded: tuple[Store, dict[str, str], Path]) -> None:
    """Even without the guard, the connection itself cannot leave the store."""
    import duckdb

    store, names, _ = guarded
    store.runs().fetchall()
    engine = store._current()
    for statement in (
        f"SELECT * FROM read_text('{names['secret']}')", f"COPY (SELECT 1) TO '{names['out']}'", "SET threads = 1",
        "SET enable_external_access = true", f"ATTACH '{names['out']}' AS x", "INSTALL httpfs", "LOAD httpfs",
    ):  # fmt: skip
        with pytest.raises(duckdb.Error):
            engine.rows(statement)


@pytest.mark.parametrize(
    ("query", "said", "hint"),
    [
        ("SELECT nme FROM nodes", 'Referenced column "nme" not found in FROM clause!', "did you mean 'name'"),
        ("FROM nods", "no relation 'nods' in this store", "did you mean 'nodes'"),
        ("FROM wrst('cosine')", "refused: wrst() is no function of this store", "did you mean 'worst'?"),
        ("FROM worst", "no relation 'worst' in this store", "it takes arguments: worst(…)"),
        ("FROM zzz()", "refused: zzz() is no function of this store", "a store is only read"),
        ("SELECT zzz(1)", "refused: zzz() is no function of this store", "`fxstore schema` prints"),
        ("SELECT uper('a')", "refused: uper() is no function of this store", "did you mean 'upper'"),
        ("SELECT worst('a')", "refused: worst() gives rows", "call it so: FROM worst(…)"),
        ("FROM upper('a')", "refused: upper() gives a value", "call it so: SELECT upper(…)"),
        ("SELECT _nid(1, 2)", "refused: _nid() is no function of this store", "`fxstore schema` prints"),
        (
            "SELECT current_setting('a')",
            "refused: current_setting() is not for queries: it reads a setting, a variable or the session",
            "a store is only read",
        ),
        (
            "FROM query('SELECT 1')",
            "refused: query() is not for queries: it names a table in a text",
            "a store is only read",
        ),
        ("SELECT zzz FROM nodes", 'Referenced column "zzz" not found in FROM clause!', "`fxstore schema` prints"),
        ("SELEC 1", 'syntax error at or near "SELEC"', "`fxstore schema` prints"),
        ("SELECT nid", 'Referenced column "nid" was not found because the FROM clause is missing', "`fxstore schema`"),
        ("", "one statement at a time: this is no statement", "a store is only read"),
        ("SELECT 1; SELECT 2", "one statement at a time: this is 2 statements", "a store is only read"),
        ("DROP TABLE x", "refused: a store runs SELECT, not DROP", "a store is only read"),
        ("PIVOT nodes ON name", "refused: a store runs SELECT, not PIVOT", "PIVOT needs its values"),
        ("/* x */ install httpfs", "refused: a store runs SELECT, not INSTALL", "a store is only read"),
        ("WITH x AS (SELECT 1) DELETE FROM _runs", "refused: a store runs SELECT, not DELETE", "a store is only read"),
        (
            "WITH x AS (INSERT INTO _runs VALUES (1)) SELECT * FROM x",
            "refused: it holds INSERT, and a store is only read",
            "a store is only read",
        ),
        ("SELECT ?", "Values were not provided for the following parameters: 1", "None"),
        ("SELECT CAST('a' AS INTEGER)", "Could not convert string 'a' to INT32", "None"),
    ],
)
def test_one_clear_line(store: Store, query: str, said: str, hint: str) -> None:
    with pytest.raises(QueryError) as error:
        store.sql(query).fetchall()
    assert str(error.value) == said
    assert str(error.value.hint).startswith(hint)


def test_a_deep_statement_is_an_error_not_a_crash(store: Store) -> None:
    with pytest.raises(QueryError):
        store.sql("SELECT " + "(" * 5000 + "1" + ")" * 5000).fetchall()
    with pytest.raises(QueryError):
        store.sql("SELECT " + "+".join(["1"] * 20000)).fetchall()
    assert len(store.runs()) == 1


def test_parameters_are_values_only(store: Store) -> None:
    hostile = "x' OR 1=1; DROP TABLE nodes --"
    assert store.sql("SELECT count(*) FROM nodes WHERE name = ?", [hostile]).fetchall() == [(0,)]
    assert store.sql("SELECT $a AS a", {"a": hostile}).fetchall() == [(hostile,)]
    with pytest.raises(QueryError, match="no metric"):
        store.worst(hostile)
