-- What stage_errors answers.
CREATE MACRO _stage_errors(p_metric, p_threshold, p_run, p_scope) AS TABLE
WITH RECURSIVE graph AS MATERIALIZED (
    SELECT g.base, g.nodes, g.stage, g.stage_index, g.path FROM _run_graphs(p_run) AS g
),
-- One row per node of the newest accuracy overlay of each stage: its worst port and sample, in one scope.
ranked AS MATERIALIZED (
    SELECT w.*, w.broken < 2 OR w.cost < CASE WHEN w.better = 'higher' THEN p_threshold ELSE -p_threshold END AS is_bad
    FROM (
        SELECT m.*, _broken(m.value, m.identical) AS broken, _cost(m.value, m.better) AS cost
        FROM _run_numbers(p_run) AS m
        WHERE m.kind = 'accuracy' AND m.metric = p_metric AND m.value IS NOT NULL AND (p_scope IS NULL OR m.scope = p_scope)
        QUALIFY dense_rank() OVER (PARTITION BY m.stage_index ORDER BY m.overlay DESC, m.scope_order) = 1
    ) AS w
    QUALIFY row_number() OVER (PARTITION BY w.ordinal ORDER BY broken, cost, w.port, w.sample) = 1
),
flow AS MATERIALIZED (SELECT f.src, f.dst FROM _run_flow(p_run) AS f),
damaged(ordinal) AS (
    SELECT f.dst FROM flow AS f WHERE f.src IN (SELECT r.ordinal FROM ranked AS r WHERE r.is_bad)
    UNION
    SELECT f.dst FROM damaged AS t JOIN flow AS f ON f.src = t.ordinal
    WHERE t.ordinal NOT IN (SELECT r.ordinal FROM ranked AS r)
),
first AS (
    SELECT r.stage_index, min(r.ordinal) AS ordinal
    FROM ranked AS r ANTI JOIN damaged AS t ON t.ordinal = r.ordinal WHERE r.is_bad GROUP BY ALL
),
returned AS MATERIALIZED (
    SELECT DISTINCT e.src FROM _run_edges(p_run) AS e JOIN _run_nodes(p_run) AS n ON n.ordinal = e.dst
    WHERE n.op = 'output' AND n.path = ''
),
of_stage AS (
    SELECT r.stage_index, any_value(r.stage) AS stage, any_value(r.overlay_name) AS overlay,
           any_value(r.scope) AS scope, any_value(r.better) AS better, min(b.stage_index) AS ref_index,
           any_value(b.stage) AS reference, count(*) AS measured, count(*) FILTER (WHERE r.is_bad) AS bad,
           arg_min(r.value, (r.broken, r.cost)) AS worst,
           arg_min(r.value, (r.broken, r.cost)) FILTER (WHERE r.ordinal IN (SELECT o.src FROM returned AS o)) AS output
    FROM ranked AS r LEFT JOIN graph AS b ON r.ref >= b.base AND r.ref < b.base + b.nodes
    GROUP BY r.stage_index
)
SELECT d.nid, s.stage, s.reference, s.bad > 0 AND NOT EXISTS (
           FROM of_stage AS e WHERE e.bad > 0 AND e.stage_index < s.stage_index
           AND (s.ref_index IS NULL OR e.stage_index > s.ref_index)
       ) AS introduced,
       d.name, r.value, s.output, s.worst, s.bad, s.measured, d.source_file, d.source_line, d.module_path,
       d.counterparts, d.target, r.status, s.overlay, s.scope, d.method, d.path
FROM of_stage AS s
LEFT JOIN first AS f ON f.stage_index = s.stage_index
LEFT JOIN ranked AS r ON r.ordinal = f.ordinal
LEFT JOIN _shown(p_run, (SELECT list(x.ordinal) FROM first AS x)) AS d ON d.ordinal = f.ordinal
ORDER BY s.stage_index;
