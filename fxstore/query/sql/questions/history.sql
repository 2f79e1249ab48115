-- One row per run, overlay and scope that measured a node of that name, oldest first: its number as _aggregation brings it
-- together (of times the median, of bytes the sum over ports, else the worst; of several samples the worst, which sample
-- names). Broken values are the worst. Without a model, all.
WITH places AS (
    SELECT r.run_key, r.run_id, r.name AS run, r.created_at, coalesce(r.model, r.name) AS model, n.ordinal, n.method, n.path
    FROM _structure_nodes AS n JOIN _runs AS r ON r.structure_hash = n.structure_hash
    WHERE n.stage = $stage AND n.name = $node AND ($model IS NULL OR coalesce(r.model, r.name) = $model)
),
measured AS (
    SELECT p.model, p.run, p.run_id, p.created_at, p.run_key, p.ordinal, p.method, p.path, o.name AS overlay, m.scope,
           coalesce(m.better, o.better, d.better) AS better,
           _aggregation(o.kind, coalesce(m.unit, o.unit)) AS aggregation, m.sample,
           CASE WHEN coalesce(m.better, o.better, d.better) = 'higher' THEN -m.value ELSE m.value END AS cost
    FROM _metrics AS m
    JOIN places AS p ON p.run_key = m.run_key AND p.ordinal = m.ordinal
    JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
    LEFT JOIN _known_metrics AS d ON d.metric = m.metric
    WHERE m.metric = $metric AND m.value IS NOT NULL
),
sampled AS (
    SELECT v.*, _sample_of(v.aggregation, v.sample) AS turn, CASE WHEN NOT isnan(v.cost) THEN v.cost END AS number
    FROM measured AS v
),
-- The maximum of -inf alone is not -inf everywhere: some engines begin with the least finite number.
of_sample AS (
    SELECT s.model, s.run, s.run_id, s.created_at, s.run_key, s.ordinal, s.method, s.path, s.overlay, s.scope, s.better,
           s.turn AS sample, bool_or(isnan(s.cost)) AS is_nan, CASE WHEN s.aggregation = 'median' THEN count(*) END AS executions,
           coalesce(CASE WHEN s.aggregation = 'median' THEN median(s.number) WHEN s.aggregation = 'sum' THEN sum(s.number)
                         ELSE max(CASE WHEN s.number > '-inf'::DOUBLE THEN s.number END) END, '-inf'::DOUBLE) AS cost
    FROM sampled AS s
    GROUP BY s.model, s.run, s.run_id, s.created_at, s.run_key, s.ordinal, s.method, s.path, s.overlay, s.scope, s.better,
             s.aggregation, s.turn
),
ranked AS (
    SELECT s.*, row_number() OVER (PARTITION BY s.run_key, s.ordinal, s.overlay, s.scope, s.better
                                   ORDER BY CASE WHEN s.is_nan THEN 0 ELSE 1 END, s.cost DESC, coalesce(s.sample, -1)) AS place
    FROM of_sample AS s
)
SELECT c.model, c.run, c.run_id, c.created_at, _nid(c.run_key, c.ordinal) AS nid, c.method, c.path, c.overlay, c.scope,
       CASE WHEN c.is_nan THEN 'NaN'::DOUBLE WHEN c.better = 'higher' THEN -c.cost ELSE c.cost END AS value, c.better,
       c.sample, c.executions
FROM ranked AS c WHERE c.place = 1 ORDER BY c.created_at, c.run_id, nid, c.overlay, c.scope;
