"""Every form in which a statement could do more than read this store, and the forms that must stay possible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.query.conftest import tiny

SECRET = "fxstore-secret"

# {secret}: a file outside; {out}: a file that must not appear; {inside}: one of the store's own files; {name}: its run.
REFUSED = """
SELECT * FROM read_text('{secret}')
SELECT * FROM '{secret}'
SELECT * FROM read_csv('{secret}')
SELECT * FROM read_csv_auto('{secret}')
SELECT * FROM read_blob('{secret}')
SELECT * FROM read_parquet('{inside}')
SELECT * FROM '{inside}'
SELECT * FROM "{inside}"
SELECT * FROM parquet_scan('{inside}')
SELECT * FROM parquet_metadata('{inside}')
SELECT * FROM read_text('{store}/FORMAT')
SELECT * FROM glob('{store}/*')
SELECT * FROM glob('/etc/*')
FROM sniff_csv('{secret}')
SELECT (SELECT content FROM read_text('{secret}'))
SELECT * FROM nodes, LATERAL (SELECT * FROM read_text('{secret}'))
SELECT 1 WHERE EXISTS (FROM read_text('{secret}'))
WITH x AS (FROM read_text('{secret}')) SELECT * FROM x
SELECT * FROM query('SELECT 1')
SELECT * FROM query('FROM read_text(''{secret}'')')
SELECT * FROM query_table('_runs')
SELECT * FROM query_table(['nodes'])
COPY nodes TO '{out}'
COPY (SELECT 1) TO '{out}'
COPY (SELECT 1) TO '{store}/x.csv'
WITH x AS (COPY (SELECT 1) TO '{store}/x.csv') SELECT * FROM x
WITH x AS (COPY nodes TO '{out}') SELECT 1
WITH x AS (INSERT INTO _runs VALUES (1)) SELECT 1
WITH x AS (INSERT INTO _runs (run_id) VALUES ('a') RETURNING *) SELECT * FROM x
WITH x AS (DELETE FROM _runs RETURNING *) SELECT * FROM x
WITH x AS (UPDATE _runs SET name = 'x' RETURNING *) SELECT * FROM x
SELECT * FROM (WITH x AS (DELETE FROM _runs RETURNING *) SELECT * FROM x)
EXPORT DATABASE '{out}'
IMPORT DATABASE '{out}'
ATTACH '{out}' AS x
ATTACH ':memory:' AS x
DETACH memory
USE memory
INSTALL httpfs
LOAD httpfs
LOAD '{out}'
UPDATE EXTENSIONS
PRAGMA database_list
PRAGMA database_list; DROP TABLE _runs
PRAGMA enable_profiling
CALL pragma_version()
SELECT * FROM pragma_version()
SELECT 1; DELETE FROM _runs
SELECT 1; SELECT 2
SELECT 1;; SELECT 2
DELETE FROM _runs
INSERT INTO _runs (run_id) VALUES ('x')
UPDATE _runs SET name = 'x'
TRUNCATE _runs
MERGE INTO _runs USING (SELECT 1 AS k) AS s ON false WHEN NOT MATCHED THEN INSERT (run_id) VALUES ('x')
CREATE TABLE t AS SELECT 1
CREATE TABLE t AS SELECT * FROM glob('/etc/*')
CREATE TEMP TABLE nodes AS SELECT 1
CREATE VIEW v AS SELECT 1
CREATE OR REPLACE VIEW nodes AS SELECT 1
CREATE MACRO worst(a) AS TABLE SELECT 1
CREATE TEMP MACRO worst(a) AS TABLE SELECT 1
CREATE OR REPLACE TEMP MACRO _nid(a, b) AS 1
CREATE FUNCTION f(a) AS 1
CREATE SCHEMA s
CREATE SEQUENCE s
CREATE TYPE t AS ENUM ('a')
CREATE INDEX i ON _runs (run_id)
CREATE SECRET s (TYPE S3)
CREATE TRIGGER t AFTER INSERT ON _runs FOR EACH ROW DELETE FROM _runs
ALTER TABLE _runs ADD COLUMN x INTEGER
DROP VIEW nodes
DROP TABLE _runs
DROP MACRO TABLE worst
COMMENT ON VIEW nodes IS 'x'
SET enable_external_access = true
SET threads = 1
SET VARIABLE x = 1
SET VARIABLE _latest = 'x'
SET search_path = 'x'
RESET threads
RESET VARIABLE _latest
BEGIN
COMMIT
ROLLBACK
CHECKPOINT
VACUUM
ANALYZE
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
KILL 1
EXPLAIN DELETE FROM _runs
EXPLAIN ANALYZE DELETE FROM _runs
EXPLAIN COPY nodes TO '{out}'
EXPLAIN ANALYZE COPY (SELECT 1) TO '{store}/x.csv'
EXPLAIN SELECT * FROM read_text('{secret}')
EXPLAIN (SELECT content FROM read_text('{secret}'))
EXPLAIN (SELECT 1) UNION SELECT content FROM read_text('{secret}')
EXPLAIN (FORMAT json) SELECT content FROM read_text('{secret}')
EXPLAIN (FORMAT json) DELETE FROM _runs
EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')
/* EXPLAIN */ EXPLAIN -- SELECT
 DELETE FROM _runs
DESCRIBE SELECT * FROM read_text('{secret}')
SUMMARIZE SELECT * FROM read_text('{secret}')
SUMMARIZE '{secret}'
DESCRIBE '{secret}'
DESCRIBE _runs
SHOW DATABASES
SHOW VARIABLES
PIVOT nodes ON name
SELECT getenv('HOME')
SELECT getvariable('_latest')
SELECT system.main.getvariable('_latest')
SELECT current_setting('allowed_directories')
SELECT x.getvariable() FROM (SELECT '_latest' AS x)
SELECT list_transform(['_latest'], lambda v: getvariable(v))
SELECT write_log('x')
SELECT sleep_ms(1)
SELECT setseed(0.5)
SELECT nextval('s')
SELECT _nid(1, 2)
SELECT 1 ORDER BY getvariable('_latest')
SELECT 1 LIMIT (SELECT length(getvariable('_latest')))
SELECT * FROM _runs
SELECT * FROM main._runs
SELECT * FROM memory.main._runs
SELECT * FROM "_runs"
SELECT * FROM _nodes
FROM _run_nodes(NULL)
FROM _run_nodes('{name}')
SELECT * FROM (WITH _runs AS (SELECT 1) SELECT 1), _runs
WITH "{secret}" AS (SELECT 1) SELECT * FROM "{secret}"
SELECT * FROM (WITH "{inside}" AS (SELECT 1) SELECT 1) AS a, "{inside}"
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_variables()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_logs()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_settings
SELECT * FROM sqlite_master
SELECT * FROM pg_catalog.pg_settings
SELECT * FROM information_schema.schemata
FROM enable_logging()
FROM checkpoint()
FROM force_checkpoint()
FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
PRAGMA json_execute_serialized_sql('x')
FROM python_map_function(1)
FROM arrow_scan(1, 2, 3)
FROM seq_scan('_runs')
FROM test_all_types()
SELECT * FROM read_duckdb('{out}')
SELECT * FROM secret_frame
"""

ALLOWED = """
SELECT * FROM nodes LIMIT 1
select nid from NODES
FROM nodes
FROM main.nodes
FROM memory.main.nodes
TABLE nodes
VALUES (1), (2)
SELECT 1;
SELECT 1 -- a comment; DROP TABLE nodes
/* a comment */ SELECT 1
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM r WHERE i<3) SELECT * FROM r
WITH nodes AS (SELECT 1 AS x) SELECT * FROM nodes
WITH _x AS (SELECT 1 AS x) SELECT * FROM _x
WITH "my names" AS (SELECT name FROM nodes) FROM "my names"
SELECT name, count(*) FROM nodes GROUP BY ALL
SELECT 'read_text(''x'')' AS text_only
SELECT 'COPY nodes TO ''x''; DROP TABLE nodes'
EXPLAIN SELECT * FROM nodes
EXPLAIN ANALYZE SELECT count(*) FROM nodes
EXPLAIN (FORMAT json) SELECT 1
EXPLAIN (ANALYZE, FORMAT json) SELECT 1
EXPLAIN (SELECT 1)
EXPLAIN (SELECT 1) UNION (SELECT 2)
DESCRIBE nodes
DESCRIBE SELECT * FROM worst('cosine')
SUMMARIZE nodes
SHOW TABLES
SELECT * FROM nodes WHERE name LIKE '%;%'
SELECT name FROM nodes UNION SELECT name FROM unmatched ORDER BY name
SELECT name, row_number() OVER (PARTITION BY stage ORDER BY position) FROM nodes QUALIFY row_number() OVER () < 3
SELECT * FROM range(3)
SELECT unnest([1, 2])
SELECT * FROM unnest([1, 2]) AS t(x)
SELECT * FROM generate_series(1, 3)
SELECT e.key FROM nodes, json_each(coalesce(attrs, '{{}}')) AS e
FROM worst('cosine', n := 3) SELECT name
SELECT w.name, s.name FROM worst('cosine') AS w, LATERAL (SELECT name FROM nodes WHERE nid = w.nid) AS s
PIVOT nodes ON stage IN ('float', 'edge') USING count(*) GROUP BY op
FROM (PIVOT nodes ON stage IN ('float', 'edge') USING count(*) GROUP BY op)
UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b INTO NAME k VALUE v
SELECT * EXCLUDE (attrs) FROM nodes
SELECT COLUMNS('n.*') FROM nodes
SELECT column_name FROM information_schema.columns WHERE table_name = 'nodes'
SELECT comment FROM duckdb_columns() WHERE table_name = 'nodes'
SELECT comment FROM duckdb_views() WHERE view_name = 'nodes'
SELECT random(), uuid() IS NULL, now() IS NULL
SELECT list_transform([1, 2], lambda x: x + 1)
SELECT json_extract('{{"a": 1}}', '$.a')
SELECT regexp_replace(name, '_.*', '') FROM nodes
SELECT max(nid) FILTER (WHERE stage = 'edge') FROM nodes
SELECT * FROM nodes TABLESAMPLE 50%
SELECT * FROM nodes ASOF JOIN handles ON nodes.nid >= handles.nid
"""


def statements(text: str) -> list[str]:
    """One statement per line; a line that starts with a blank belongs to the one before."""
    return [part.strip() for part in re.split(r"\n(?! )", text) if part.strip()]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, str], Path]]:
    place = tmp_path_factory.mktemp("guard")
    (place / "secret.csv").write_text(f"a\n{SECRET}\n")
    with connect(place / "store") as store:
        run_id = store.commit(tiny())
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


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        ("SELECT zzz(1)", "Scalar Function with name zzz does not exist!", "`fxstore schema` prints"),
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
