-- The operators of a run's last stage in which a backend took any (of its last stage, where none did), and whether a
-- backend took them. What only hands values on is no operator here.
CREATE MACRO _placed_operators(p_run, p_stage) AS TABLE
WITH nodes AS MATERIALIZED (FROM _run_nodes(p_run)),
taken AS MATERIALIZED (
    SELECT g.stage, g.method, g.path, n.backend
    FROM _run_graphs(p_run) AS g JOIN nodes AS n ON n.ordinal = g.parent AND n.role = 'delegate'
),
chosen AS (
    SELECT coalesce(max(n.stage_index) FILTER (WHERE n.role = 'delegate'), max(n.stage_index)) AS stage_index
    FROM nodes AS n WHERE p_stage IS NULL OR n.stage = p_stage
)
SELECT n.ordinal, n.nid, n.stage, n.name, n.op_type, n.method, n.path, bool_or(t.path IS NOT NULL) AS is_taken,
       any_value(t.backend) AS backend
FROM nodes AS n
JOIN chosen AS c ON c.stage_index = n.stage_index
LEFT JOIN taken AS t ON t.stage = n.stage AND t.method = n.method
                     AND (n.path = t.path OR starts_with(n.path, t.path || '/'))
WHERE starts_with(n.op, 'call_') AND n.role NOT IN ('delegate', 'symint', 'token', 'subgraph')
  AND n.op_type NOT IN ('getitem', 'alloc', 'executorch_call_delegate')
GROUP BY ALL;
