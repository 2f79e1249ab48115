-- The rows of one metric of a run in its newest overlay of a name as a gate sees them: the scope that a ranking chooses,
-- every port and sample; value is NULL where there is none.
CREATE MACRO _gate_values(p_run, p_metric, p_overlay) AS TABLE
SELECT m.ordinal, m.stage, m.value, coalesce(m.reason, 'no data') AS reason, m.kind, m.unit, m.better,
       CASE WHEN m.value IS NOT NULL THEN _broken(m.value, m.identical) END AS broken
FROM _measured(p_metric, p_run, NULL, p_overlay, NULL) AS m ORDER BY m.ordinal, m.sample, m.port;

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
