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
SELECT * FROM secret_frame()
SELECT json_serialize_plan('FROM _runs')
SELECT json_serialize_plan('FROM _run_nodes(NULL)', optimize := true)
SELECT 'FROM _runs'.json_serialize_plan()
SELECT json_deserialize_sql(json_serialize_sql('SELECT 1'))
SELECT pg_sleep(1)
SELECT pg_catalog.pg_sleep(1)
SELECT (1).pg_sleep()
SELECT system.main.current_setting('memory_limit')
SELECT "main"."current_setting"('memory_limit')
SELECT 'memory_limit'.current_setting()
SELECT pg_get_viewdef(1)
SELECT * FROM nodes WHERE name = (SELECT current_query())
SELECT * REPLACE (current_setting('memory_limit') AS name) FROM nodes
SELECT COLUMNS(lambda c: c = current_setting('memory_limit')) FROM nodes
SELECT sum(nid ORDER BY sleep_ms(1)) FROM nodes
SELECT sum(nid) OVER (ROWS BETWEEN sleep_ms(1) PRECEDING AND CURRENT ROW) FROM nodes
SELECT sum(nid) OVER w FROM nodes WINDOW w AS (PARTITION BY current_query())
SELECT DISTINCT ON (current_query()) nid FROM nodes
SELECT [current_query() FOR x IN [1] IF current_query() = '']
SELECT {{'a': current_query()}}, MAP {{1: current_query()}}
SELECT 1 LIMIT current_query_id()
VALUES (current_query())
FROM worst(current_query())
FROM range(current_query_id()) AS t(i)
FROM nodes JOIN edges ON current_query() = ''
FROM nodes PIVOT (count(*) FOR stage IN (1) GROUP BY op), (SELECT current_query())
FROM (PIVOT nodes ON current_query() IN (1) USING count(*))
DESCRIBE SELECT current_query()
SUMMARIZE SELECT current_query()
EXPLAIN SELECT current_query()
FROM histogram('_runs', 'name')
FROM histogram_values(_runs, name)
FROM histogram_values('_runs', name)
FROM summary((FROM nodes))
FROM pragma_table_info('_runs')
FROM duckdb_tables()
FROM duckdb_logs_parsed('x')
FROM system.main.duckdb_settings()
SELECT * FROM pg_class
SELECT * FROM pg_catalog.pg_class
SELECT * FROM pragma_database_list
SELECT * FROM sqlite_schema
SHOW _runs
DESCRIBE main._runs
DESCRIBE "_runs"
SUMMARIZE _runs
SHOW TABLES FROM memory
SELECT __internal_compress_string_ubigint('a')
SELECT "__cast"(1)
SELECT finalize('a')
SELECT index_key('memory', 'main', '_runs', 'x')
SELECT _files('{name}', 'nodes')
SELECT main._files('{name}', 'nodes')
SELECT '{name}'._files('nodes')
SELECT "_FILES"('{name}', 'nodes')
FROM nodes AT (VERSION => 1)
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
SELECT upper(name), main.lower(name), system.main.length(name), name.upper().lower(), "upper"(name),
 UPPER(name) FROM nodes
SELECT name || '_x', name LIKE 'a%', name ILIKE 'a', name SIMILAR TO 'a', name GLOB 'a*', name ~ 'a',
 NOT name = 'a' FROM nodes
SELECT split_part(name, '_', 1), regexp_extract(name, '(.*)_', 1), printf('%d', 1), format('{{}}', 1) FROM nodes
SELECT nid % 2, nid // 2, 2 ** 3, -nid, @nid, 5!, nid & 1, nid << 1, xor(1, 2), greatest(1, 2), round(1.5),
 sqrt(2) FROM nodes
SELECT list_aggregate([1, 2], 'max'), list_sum([1]), [1, 2][1], [1, 2][1:2], [x + 1 FOR x IN [1, 2] IF x > 1]
SELECT list_filter([1], lambda x: x > 0), list_reduce([1, 2], lambda x, y: x + y), array_to_string(['a'], ','),
 [1].list_transform(lambda x: x)
SELECT {{'a': 1}}.a, {{'a': 1}}['a'], struct_pack(a := 1), MAP {{'a': 1}}['a'], map_keys(MAP {{1: 2}}), row(1, 2)
SELECT '{{}}'::JSON -> 'a', '{{}}'::JSON ->> '$.a', json_keys('{{}}'), json_group_array(1), to_json([1]),
 json_type('1')
SELECT DATE '2020-01-01' + INTERVAL 1 DAY, extract(year FROM now()), date_trunc('day', now()), strftime(now(),
 '%Y'), now() AT TIME ZONE 'UTC'
SELECT created_at, date_diff('day', created_at::TIMESTAMPTZ, now()) FROM runs
SELECT CURRENT_DATE, current_timestamp, current_user
SELECT coalesce(NULL, 1), ifnull(NULL, 1), nullif(1, 1), if(true, 1, 2), CASE 1 WHEN 1 THEN 2 END, TRY(1),
 TRY_CAST('a' AS INTEGER)
SELECT count(*), count(DISTINCT op), sum(nid), avg(nid), median(nid), mode(op), string_agg(op, ','),
 list(op ORDER BY op) FROM nodes
SELECT quantile_cont(nid, 0.5), arg_max(op, nid), any_value(op), histogram(op), stddev(nid), corr(nid, nid),
 approx_count_distinct(op) FROM nodes
SELECT stage, op, count(*), grouping(op) FROM nodes GROUP BY CUBE (stage, op)
SELECT lag(nid) OVER w, rank() OVER w, first_value(nid) OVER w,
 sum(nid) OVER (w ROWS 1 PRECEDING) FROM nodes WINDOW w AS (ORDER BY nid)
SELECT substring(name FROM 2), position('a' IN name), trim(BOTH 'x' FROM name),
 overlay(name PLACING 'x' FROM 1) FROM nodes
SELECT name COLLATE NOCASE FROM nodes ORDER BY name COLLATE de
SELECT COLUMNS(lambda c: c LIKE 'n%') FROM nodes
SELECT * REPLACE (upper(name) AS name) RENAME (op AS operator) FROM nodes
SELECT DISTINCT ON (op) * FROM nodes ORDER BY ALL LIMIT 10%
SELECT 1 = ANY (SELECT 1), 1 IN (1, 2), 1 IN [1], 1 BETWEEN 0 AND 2, 1 IS DISTINCT FROM 2, (1, 2) = (1, 2)
SELECT unnest({{'a': 1}}), generate_subscripts([1], 1)
SELECT hash(name), md5(name), typeof(nid), alias(nid), error('x') FROM nodes WHERE false
FROM generate_series(1, 3) WITH ORDINALITY
FROM nodes POSITIONAL JOIN edges
WITH duckdb_settings AS (SELECT 1 AS x) FROM duckdb_settings
WITH RECURSIVE pg_class AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM pg_class WHERE x < 3) FROM pg_class
WITH nodes AS (SELECT * FROM nodes WHERE op = 'relu') SELECT * FROM nodes
WITH RECURSIVE up AS (SELECT 1 AS i UNION ALL (WITH one AS (SELECT i + 1 AS i FROM up WHERE i < 3) FROM one)) FROM up
"""


def statements(text: str) -> list[str]:
    """One statement per line; a line that starts with a blank belongs to the one before."""
    return [part.strip() for part in re.split(r"\n(?! )", text) if part.strip()]
