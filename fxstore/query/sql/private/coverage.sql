-- How many nodes of the stages that a ranking looks at have a number. Same arguments as the ranking itself.
CREATE MACRO _coverage_of(p_metric, p_run, p_stage, p_overlay, p_scope, p_sample) AS TABLE
WITH said AS MATERIALIZED (
    SELECT m.ordinal, m.stage, bool_or(m.value IS NOT NULL) AS measured, _kind_of_reason(min(m.reason)) AS reason
    FROM _measured(p_metric, p_run, p_stage, p_overlay, p_scope, p_sample) AS m GROUP BY ALL
)
SELECT s.measured, CASE WHEN NOT s.measured THEN s.reason END AS reason, count(*) AS nodes FROM said AS s GROUP BY ALL
UNION ALL
SELECT false, 'no data', count(*)
FROM _run_nodes(p_run) AS n ANTI JOIN said AS s ON s.ordinal = n.ordinal
WHERE n.op LIKE 'call_%' AND n.stage IN (SELECT t.stage FROM said AS t);

CREATE MACRO _coverage_of_worst(metric, n := 20, run := NULL, stage := NULL, overlay := NULL, scope := NULL, sample := NULL) AS TABLE
FROM _coverage_of(metric, run, stage, overlay, scope, sample);

CREATE MACRO _coverage_of_first_bad(metric, threshold, run := NULL, overlay := NULL, scope := NULL, sample := NULL) AS TABLE
FROM _coverage_of(metric, run, NULL, overlay, scope, sample);
