-- Which node uses which, each pair once; what a getitem takes out of a value is that value, too.
CREATE MACRO _through_getitems(p_run, p_relation) AS TABLE
WITH uses AS MATERIALIZED (SELECT DISTINCT u.src, u.dst FROM query(_source(p_run, p_relation)) AS u)
SELECT u.src, u.dst FROM uses AS u
UNION
SELECT u.src, v.dst
FROM uses AS u
JOIN _run_nodes(p_run) AS i ON i.ordinal = u.dst AND i.op_type = 'getitem'
JOIN uses AS v ON v.src = u.dst;

CREATE MACRO _read_uses(p_run) AS TABLE FROM _through_getitems(p_run, 'edges');
CREATE MACRO _run_uses(p_run) AS TABLE FROM query(_source(p_run, 'uses'));

-- The same through nested graphs.
CREATE MACRO _read_nested_uses(p_run) AS TABLE FROM _through_getitems(p_run, 'flow');
CREATE MACRO _run_nested_uses(p_run) AS TABLE FROM query(_source(p_run, 'nested_uses'));
