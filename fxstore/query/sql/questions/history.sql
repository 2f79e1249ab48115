-- One row per run, overlay and scope that measured a node of that name, oldest first: the worst over ports and samples.
-- Broken values are the worst. Without a model, all.
WITH places AS (
    SELECT r.run_key, r.run_id, r.name AS run, r.created_at, coalesce(r.model, r.name) AS model, n.ordinal, n.method, n.path
    FROM _structure_nodes AS n JOIN _runs AS r ON r.structure_hash = n.structure_hash
    WHERE n.stage = $stage AND n.name = $node AND ($model IS NULL OR coalesce(r.model, r.name) = $model)
),
measured AS (
    SELECT p.model, p.run, p.run_id, p.created_at, p.run_key, p.ordinal, p.method, p.path, o.name AS overlay, m.scope,
           coalesce(m.better, o.better, d.better, 'lower') AS better,
           CASE WHEN coalesce(m.better, o.better, d.better) = 'higher' THEN -m.value ELSE m.value END AS cost
    FROM _metrics AS m
    JOIN places AS p ON p.run_key = m.run_key AND p.ordinal = m.ordinal
    JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
    LEFT JOIN _known_metrics AS d ON d.metric = m.metric
    WHERE m.metric = $metric AND m.value IS NOT NULL
),
-- The maximum of -inf alone is not -inf everywhere: some engines begin with the least finite number.
costs AS (
    SELECT v.model, v.run, v.run_id, v.created_at, v.run_key, v.ordinal, v.method, v.path, v.overlay, v.scope, v.better,
           coalesce(max(CASE WHEN NOT isnan(v.cost) AND v.cost > '-inf'::DOUBLE THEN v.cost END), '-inf'::DOUBLE) AS cost,
           bool_or(isnan(v.cost)) AS is_nan
    FROM measured AS v
    GROUP BY v.model, v.run, v.run_id, v.created_at, v.run_key, v.ordinal, v.method, v.path, v.overlay, v.scope, v.better
)
SELECT c.model, c.run, c.run_id, c.created_at, _nid(c.run_key, c.ordinal) AS nid, c.method, c.path, c.overlay, c.scope,
       CASE WHEN c.is_nan THEN 'NaN'::DOUBLE WHEN c.better = 'higher' THEN -c.cost ELSE c.cost END AS value, c.better
FROM costs AS c ORDER BY c.created_at, c.run_id, nid, c.overlay, c.scope;
