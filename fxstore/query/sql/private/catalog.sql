-- What the store offers, as its own comments say it.
CREATE MACRO _catalog_columns() AS TABLE
SELECT c.table_name, c.column_name, c.data_type, coalesce(c.comment, '') AS comment
FROM duckdb_columns() AS c WHERE NOT c.internal AND NOT starts_with(c.table_name, '_')
ORDER BY c.table_name, c.column_index;

CREATE MACRO _catalog_views() AS TABLE
SELECT v.view_name, coalesce(v.comment, '') AS comment
FROM duckdb_views() AS v WHERE NOT v.internal AND NOT starts_with(v.view_name, '_');

CREATE MACRO _catalog_macros() AS TABLE
SELECT f.function_name, coalesce(f.comment, '') AS comment
FROM duckdb_functions() AS f
WHERE f.function_type = 'table_macro' AND NOT f.internal AND NOT starts_with(f.function_name, '_');

-- Tables and views that no query may use.
CREATE MACRO _catalog_private() AS TABLE
SELECT t.table_name FROM information_schema.tables AS t WHERE starts_with(t.table_name, '_');
