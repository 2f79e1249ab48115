-- What stage_errors answers.
CREATE MACRO _stage_errors(p_metric, p_threshold, p_run, p_scope, p_sample) AS TABLE
WITH graph AS MATERIALIZED (
    SELECT g.base, g.nodes, g.stage, g.stage_index, g.path FROM _run_graphs(p_run) AS g
),
-- One row per node and sample of the newest accuracy overlay of each stage.
judged AS MATERIALIZED (
    SELECT j.* FROM _judged(p_metric, p_threshold, p_run, NULL, p_scope, p_sample) AS j WHERE j.kind = 'accuracy'
    QUALIFY dense_rank() OVER (PARTITION BY j.stage_index ORDER BY j.overlay DESC) = 1
),
returned AS MATERIALIZED (
    SELECT DISTINCT e.src FROM _run_edges(p_run) AS e JOIN _run_nodes(p_run) AS n ON n.ordinal = e.dst
    WHERE n.op = 'output' AND n.path = ''
),
of_stage AS MATERIALIZED (
    SELECT r.stage_index, any_value(r.stage) AS stage, any_value(r.overlay_name) AS overlay,
           any_value(r.scope) AS scope, min(b.stage_index) AS ref_index, any_value(b.stage) AS reference,
           count(DISTINCT r.ordinal) AS measured, count(DISTINCT r.ordinal) FILTER (WHERE r.is_bad) AS bad,
           arg_min(r.value, (r.broken, r.cost)) AS worst,
           arg_min(r.value, (r.broken, r.cost)) FILTER (WHERE r.ordinal IN (SELECT o.src FROM returned AS o)) AS output,
           list(DISTINCT r.turn) AS turns, coalesce(list(DISTINCT r.turn) FILTER (WHERE r.is_bad), []) AS bad_turns
    FROM judged AS r LEFT JOIN graph AS b ON r.ref >= b.base AND r.ref < b.base + b.nodes
    GROUP BY r.stage_index
),
-- In which samples a stage introduced an error: no stage between it and its reference is bad in the same sample, or, where
-- that stage was not measured on it, in any.
introduced AS MATERIALIZED (
    SELECT s.stage_index, s.turn
    FROM (SELECT o.stage_index, o.ref_index, unnest(o.bad_turns) AS turn FROM of_stage AS o) AS s
    ANTI JOIN of_stage AS e
      ON e.stage_index < s.stage_index AND (s.ref_index IS NULL OR e.stage_index > s.ref_index)
     AND CASE WHEN list_contains(e.turns, s.turn) THEN list_contains(e.bad_turns, s.turn) ELSE e.bad > 0 END
),
-- The first node of a stage at which an error starts, of those that the stage introduced if there are any.
first AS MATERIALIZED (
    SELECT r.*, i.turn IS NOT NULL AS is_introduced
    FROM judged AS r LEFT JOIN introduced AS i ON i.stage_index = r.stage_index AND i.turn = r.turn
    WHERE r.is_start
    QUALIFY row_number() OVER (PARTITION BY r.stage_index
                               ORDER BY i.turn IS NULL, r.ordinal, r.broken, r.cost, r.sample) = 1
)
SELECT d.nid, s.stage, s.reference, s.stage_index IN (SELECT i.stage_index FROM introduced AS i) AS introduced,
       d.name, r.value, s.output, s.worst, s.bad, s.measured, d.source_file, d.source_line, d.module_path,
       d.counterparts, d.target, r.status, s.overlay, s.scope, d.method, d.path, r.sample, r.sample_name
FROM of_stage AS s
LEFT JOIN first AS r ON r.stage_index = s.stage_index
LEFT JOIN _shown(p_run, (SELECT list(x.ordinal) FROM first AS x)) AS d ON d.ordinal = r.ordinal
ORDER BY s.stage_index;
