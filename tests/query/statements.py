"""Statements that a store refuses, and those that it must answer; test_guard asks them all."""

from __future__ import annotations

import re

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
SELECT * FROM _kept_nodes_{name}
SELECT * FROM (WITH _kept_nodes_{name} AS (SELECT 1) SELECT 1), _kept_nodes_{name}
DROP TABLE _kept_nodes_{name}
SELECT _source('{name}', 'nodes')
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
