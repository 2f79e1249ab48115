-- The rows of one metric of a run in its newest overlay of a name as a gate sees them, in the scope that a ranking
-- chooses: of times every execution, else one aggregated number per sample; value is NULL where there is none.
CREATE MACRO _gate_values(p_run, p_metric, p_overlay) AS TABLE
WITH chosen AS MATERIALIZED (SELECT m.* FROM _measured(p_metric, p_run, NULL, p_overlay, NULL, NULL) AS m),
rows_of AS (
    SELECT c.ordinal, c.stage, c.value, c.reason, c.kind, c.unit, c.better, c.broken, c.sample, 0 AS port
    FROM chosen AS c WHERE c.aggregation <> 'median'
    UNION ALL
    SELECT m.ordinal, m.stage, m.value, m.reason, m.kind, m.unit, c.better, _broken(m.value, m.identical), m.sample, m.port
    FROM _run_numbers(p_run) AS m
    JOIN chosen AS c ON c.ordinal = m.ordinal AND c.overlay = m.overlay AND c.scope_order = m.scope_order
    WHERE m.metric = p_metric AND c.aggregation = 'median'
)
SELECT r.ordinal, r.stage, r.value, coalesce(r.reason, 'no data') AS reason, r.kind, r.unit, r.better,
       CASE WHEN r.value IS NOT NULL THEN r.broken END AS broken
FROM rows_of AS r ORDER BY r.ordinal, r.sample, r.port;

-- The nodes of a run that have a number of accuracy, and those that could have one.
CREATE MACRO _gate_coverage(p_run) AS TABLE
WITH measured AS MATERIALIZED (
    SELECT DISTINCT m.ordinal
    FROM _run_metrics(p_run) AS m JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
    WHERE o.kind = 'accuracy' AND m.value IS NOT NULL AND m.ordinal IS NOT NULL
),
stages AS (
    SELECT DISTINCT g.stage FROM measured AS m
    JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
)
SELECT n.ordinal, n.stage, m.ordinal IS NOT NULL AS measured
FROM _run_nodes(p_run) AS n SEMI JOIN stages AS s ON s.stage = n.stage LEFT JOIN measured AS m ON m.ordinal = n.ordinal
WHERE m.ordinal IS NOT NULL OR starts_with(n.op, 'call_') ORDER BY n.ordinal;

-- Where some nodes of a run, given as a list of ordinals, are.
CREATE MACRO _gate_places(p_run, p_ordinals) AS TABLE
SELECT s.* FROM _shown(p_run, p_ordinals) AS s;
