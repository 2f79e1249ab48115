-- One row per node and step from one run of a model to the next measured one in which a metric got worse by more than $by,
-- or became NaN: what got worst first. Nodes of two runs are one by stage, method, path and name; runs by their model, or
-- by their name where they name none. The value of a run is the worst over ports and samples.
WITH measured AS (
    SELECT r.run_key, r.run_id, r.name AS run, r.created_at, coalesce(r.model, r.name) AS model, r.structure_hash, m.ordinal,
           o.name AS overlay, m.scope, coalesce(m.better, o.better, d.better, 'lower') AS better,
           CASE WHEN coalesce(m.better, o.better, d.better) = 'higher' THEN -m.value ELSE m.value END AS cost
    FROM _metrics AS m
    JOIN _runs AS r ON r.run_key = m.run_key
    JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
    LEFT JOIN _known_metrics AS d ON d.metric = m.metric
    WHERE m.metric = $metric AND m.ordinal IS NOT NULL AND m.value IS NOT NULL
),
-- The maximum of -inf alone is not -inf everywhere: some engines begin with the least finite number.
costs AS (
    SELECT v.run_key, v.run_id, v.run, v.created_at, v.model, v.structure_hash, v.ordinal, v.overlay, v.scope, v.better,
           coalesce(max(CASE WHEN NOT isnan(v.cost) AND v.cost > '-inf'::DOUBLE THEN v.cost END), '-inf'::DOUBLE) AS cost,
           bool_or(isnan(v.cost)) AS is_nan
    FROM measured AS v
    GROUP BY v.run_key, v.run_id, v.run, v.created_at, v.model, v.structure_hash, v.ordinal, v.overlay, v.scope, v.better
),
steps AS (
    SELECT c.model, n.stage, n.method, n.path, n.name, c.overlay, c.scope, c.better, c.run, c.run_id, c.created_at,
           c.run_key, c.ordinal, c.cost, c.is_nan, lag(c.run_id) OVER w AS last_run_id, lag(c.cost) OVER w AS last_cost,
           lag(c.is_nan) OVER w AS last_is_nan
    FROM costs AS c
    JOIN _structure_nodes AS n ON n.structure_hash = c.structure_hash AND n.ordinal = c.ordinal
    WINDOW w AS (PARTITION BY c.model, n.stage, n.method, n.path, n.name, c.overlay, c.scope, c.better
                 ORDER BY c.created_at, c.run_id)
)
SELECT s.model, s.stage, s.method, s.path, s.name, s.overlay, s.scope, s.last_run_id, s.run_id, s.run, s.created_at,
       _nid(s.run_key, s.ordinal) AS nid, CASE WHEN s.better = 'higher' THEN -s.last_cost ELSE s.last_cost END AS last_value,
       CASE WHEN s.is_nan THEN 'NaN'::DOUBLE WHEN s.better = 'higher' THEN -s.cost ELSE s.cost END AS value
FROM steps AS s
WHERE NOT s.last_is_nan AND (s.is_nan OR s.cost > s.last_cost + $by)
ORDER BY s.is_nan DESC, s.cost - s.last_cost DESC NULLS LAST, s.created_at, s.run_id, nid, s.overlay, s.scope;
