-- One row per node and step from one run of a model to the next measured one in which a metric got worse by more than $by,
-- or became NaN: what got worst first. Nodes of two runs are one by stage, method, path and name; runs by their model, or
-- by their name where they name none. A run's number is brought together as in history.
-- A metric without a direction has no rows: nobody has said which way is worse.
WITH measured AS (
    SELECT r.run_key, r.run_id, r.name AS run, r.created_at, coalesce(r.model, r.name) AS model, r.structure_hash, m.ordinal,
           o.name AS overlay, m.scope, coalesce(m.better, o.better, d.better) AS better,
           _aggregation(o.kind, coalesce(m.unit, o.unit)) AS aggregation, m.sample,
           CASE WHEN coalesce(m.better, o.better, d.better) = 'higher' THEN -m.value ELSE m.value END AS cost
    FROM _metrics AS m
    JOIN _runs AS r ON r.run_key = m.run_key
    JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
    LEFT JOIN _known_metrics AS d ON d.metric = m.metric
    WHERE m.metric = $metric AND m.ordinal IS NOT NULL AND m.value IS NOT NULL
      AND coalesce(m.better, o.better, d.better) IS NOT NULL
),
sampled AS (
    SELECT v.*, _sample_of(v.aggregation, v.sample) AS turn, CASE WHEN NOT isnan(v.cost) THEN v.cost END AS number
    FROM measured AS v
),
-- The maximum of -inf alone is not -inf everywhere: some engines begin with the least finite number.
of_sample AS (
    SELECT s.run_key, s.run_id, s.run, s.created_at, s.model, s.structure_hash, s.ordinal, s.overlay, s.scope, s.better,
           bool_or(isnan(s.cost)) AS is_nan,
           coalesce(CASE WHEN s.aggregation = 'median' THEN median(s.number) WHEN s.aggregation = 'sum' THEN sum(s.number)
                         ELSE max(CASE WHEN s.number > '-inf'::DOUBLE THEN s.number END) END, '-inf'::DOUBLE) AS cost
    FROM sampled AS s
    GROUP BY s.run_key, s.run_id, s.run, s.created_at, s.model, s.structure_hash, s.ordinal, s.overlay, s.scope, s.better,
             s.aggregation, s.turn
),
costs AS (
    SELECT s.run_key, s.run_id, s.run, s.created_at, s.model, s.structure_hash, s.ordinal, s.overlay, s.scope, s.better,
           coalesce(max(CASE WHEN s.cost > '-inf'::DOUBLE THEN s.cost END), '-inf'::DOUBLE) AS cost, bool_or(s.is_nan) AS is_nan
    FROM of_sample AS s
    GROUP BY s.run_key, s.run_id, s.run, s.created_at, s.model, s.structure_hash, s.ordinal, s.overlay, s.scope, s.better
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
