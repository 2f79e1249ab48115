-- What a motif looks at, in one stage of a run or in all: nodes with the name that a pattern knows them by.
CREATE MACRO _motif_nodes(p_run, p_stage) AS TABLE
SELECT n.nid, n.ordinal, n.graph, n.stage, n.method, n.path, n.name, coalesce(n.op_type, n.role) AS kind, n.dtype,
       n.module_path, n.module_type, n.target, n.backend, n.role
FROM _run_nodes(p_run) AS n WHERE p_stage IS NULL OR n.stage = p_stage;

-- Which node uses which, each pair once; what a getitem takes out of a value is that value, too.
CREATE MACRO _motif_uses(p_run) AS TABLE
WITH uses AS MATERIALIZED (SELECT DISTINCT e.src, e.dst FROM _run_edges(p_run) AS e),
items AS (SELECT n.ordinal FROM _run_nodes(p_run) AS n WHERE n.op_type = 'getitem')
SELECT u.src, u.dst FROM uses AS u
UNION
SELECT u.src, v.dst FROM uses AS u JOIN items AS i ON i.ordinal = u.dst JOIN uses AS v ON v.src = u.dst;

-- The same through nested graphs.
CREATE MACRO _motif_flow(p_run) AS TABLE
WITH uses AS MATERIALIZED (SELECT f.src, f.dst FROM _run_flow(p_run) AS f),
items AS (SELECT n.ordinal FROM _run_nodes(p_run) AS n WHERE n.op_type = 'getitem')
SELECT u.src, u.dst FROM uses AS u
UNION
SELECT u.src, v.dst FROM uses AS u JOIN items AS i ON i.ordinal = u.dst JOIN uses AS v ON v.src = u.dst;
