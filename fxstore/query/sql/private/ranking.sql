-- All metrics on nodes of a run, with the node's stage, the name of the sample and what ranks them: the direction (the
-- row's, the overlay's, else the one that fxstore knows), the number for two equal tensors, and the order in which scopes
-- are chosen.
CREATE MACRO _read_numbers(p_run) AS TABLE
SELECT m.* EXCLUDE (unit, better), o.name AS overlay_name, o.kind, coalesce(m.unit, o.unit) AS unit,
       _better(m.better, o.better, d.better, o.kind) AS better,
       CASE WHEN m.reason LIKE 'identical%' THEN m.value ELSE d.identical END AS identical,
       CASE m.scope WHEN 'cumulative' THEN 0 WHEN 'local' THEN 2 ELSE 1 END AS scope_order, g.stage, g.stage_index,
       _aggregation(o.kind, coalesce(m.unit, o.unit)) AS aggregation, s.text AS sample_name
FROM _run_metrics(p_run) AS m
JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
LEFT JOIN main._known_metrics AS d ON d.metric = m.metric
LEFT JOIN _run_samples(p_run) AS s ON s.overlay = m.overlay AND s.sample = m.sample;
CREATE MACRO _run_numbers(p_run) AS TABLE FROM query(_source(p_run, 'numbers'));

-- The names of the samples of an overlay, as rows of the run: of what is measured no metric is called so.
CREATE MACRO _run_samples(p_run) AS TABLE
SELECT m.overlay, m.sample, m.text FROM _run_metrics(p_run) AS m WHERE m.ordinal IS NULL AND m.metric = 'sample_name';

-- One row per node, metric, overlay, scope and sample, of one sample (by number or name) where one is given; value is NULL
-- where there is none.
CREATE MACRO _aggregated(p_run, p_sample) AS TABLE
WITH grouped AS (
    SELECT m.ordinal, m.metric, m.overlay, m.scope_order, _sample_of(m.aggregation, m.sample) AS sample,
           any_value(m.sample_name) AS name_of_sample, any_value(m.stage) AS stage, any_value(m.stage_index) AS stage_index,
           any_value(m.overlay_name) AS overlay_name, any_value(m.kind) AS kind, any_value(m.unit) AS unit,
           any_value(m.scope) AS scope, any_value(m.better) AS better, any_value(m.ref) AS ref, min(m.verdict) AS verdict,
           any_value(m.aggregation) AS aggregation,
           _aggregate(m.aggregation, m.value, m.reason, _broken(m.value, m.identical),
                      _cost(m.value, coalesce(m.better, 'lower')), m.port, m.sample) AS one
    FROM _run_numbers(p_run) AS m
    WHERE p_sample IS NULL OR m.sample::VARCHAR = p_sample::VARCHAR OR m.sample_name = p_sample::VARCHAR
    GROUP BY m.ordinal, m.metric, m.overlay, m.scope_order, _sample_of(m.aggregation, m.sample)
)
SELECT g.* EXCLUDE (one, number, times, name_of_sample),
       CASE WHEN g.sample IS NOT NULL THEN g.name_of_sample END AS sample_name,
       g.number AS value, _reason_of(g.one) AS reason, _status_of(g.number) AS status, g.one.broken AS broken,
       _cost(g.number, coalesce(g.better, 'lower')) AS cost, _percentile(g.times, g.number, 0.1) AS p10,
       _percentile(g.times, g.number, 0.9) AS p90, len(g.times) AS executions,
       CASE WHEN g.times IS NOT NULL THEN _cold(g.times, g.number) END AS cold
FROM (SELECT x.*, _value_of(x.one) AS number, _times_of(x.one) AS times FROM grouped AS x) AS g;

-- The rows of one metric, in every overlay that holds it: of overlays of one name the newest (in that stage); one scope of
-- each, since scopes must not be compared, cumulative before unscoped before local. Statistics describe values, so they
-- count only where nothing else holds the metric, or where they are named.
CREATE MACRO _measured(p_metric, p_run, p_stage, p_overlay, p_scope, p_sample) AS TABLE
SELECT m.* REPLACE (_directed(m.better, m.metric) AS better, _cost(m.value, _directed(m.better, m.metric)) AS cost)
FROM _aggregated(p_run, p_sample) AS m
WHERE m.metric = p_metric AND (p_overlay IS NULL OR m.overlay_name = p_overlay)
  AND (p_scope IS NULL OR m.scope = p_scope) AND (p_stage IS NULL OR m.stage = p_stage)
QUALIFY m.scope_order = min(m.scope_order) OVER (PARTITION BY m.overlay)
  AND m.overlay = max(m.overlay) OVER (PARTITION BY m.overlay_name, m.stage)
  AND (m.kind = 'statistics') = bool_and(m.kind = 'statistics') OVER ();

-- One row per node and overlay that has a number, its worst sample, ranked over all.
CREATE MACRO _ranked(p_metric, p_run, p_stage, p_overlay, p_scope, p_sample) AS TABLE
SELECT m.*, row_number() OVER (ORDER BY m.broken, m.cost, m.stage_index, m.ordinal, m.overlay DESC) AS rank
FROM (
    SELECT s.* FROM _measured(p_metric, p_run, p_stage, p_overlay, p_scope, p_sample) AS s WHERE s.value IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY s.ordinal, s.overlay ORDER BY s.broken, s.cost, s.sample) = 1
) AS m;

-- The rows of one metric that have a number, and of each whether it is bad, and whether an error starts there: none of
-- the nearest measured ancestors is bad in the same overlay and sample. A good node in between ends the damage.
CREATE MACRO _judged(p_metric, p_threshold, p_run, p_overlay, p_scope, p_sample) AS TABLE
WITH RECURSIVE judged AS MATERIALIZED (
    SELECT m.*, m.broken < 2 OR m.cost < CASE WHEN m.better = 'higher' THEN p_threshold ELSE -p_threshold END AS is_bad,
           coalesce(m.sample, -1) AS turn
    FROM _measured(p_metric, p_run, NULL, p_overlay, p_scope, p_sample) AS m WHERE m.value IS NOT NULL
),
-- An emitted operator writes the buffer that it is given as out=, and some readers read that: the value flows into it.
written AS MATERIALIZED (
    SELECT e.src, e.dst FROM _run_edges(p_run) AS e JOIN _run_nodes(p_run) AS n ON n.ordinal = e.src
    WHERE n.op_type = 'alloc' AND NOT regexp_matches(e.dst_arg, '^[0-9]')
),
flow AS MATERIALIZED (
    SELECT f.src, f.dst FROM _run_flow(p_run) AS f ANTI JOIN written AS w ON w.src = f.src AND w.dst = f.dst
    UNION
    SELECT w.dst, w.src FROM written AS w
),
damaged(overlay, turn, ordinal) AS (
    SELECT r.overlay, r.turn, f.dst FROM judged AS r JOIN flow AS f ON f.src = r.ordinal WHERE r.is_bad
    UNION
    SELECT t.overlay, t.turn, f.dst
    FROM (FROM damaged AS d ANTI JOIN judged AS r ON r.overlay = d.overlay AND r.turn = d.turn AND r.ordinal = d.ordinal) AS t
    JOIN flow AS f ON f.src = t.ordinal
)
SELECT r.*, r.is_bad AND t.ordinal IS NULL AS is_start
FROM judged AS r
LEFT JOIN damaged AS t ON t.overlay = r.overlay AND t.turn = r.turn AND t.ordinal = r.ordinal;

-- Some nodes as a ranking shows them, given as a list of ordinals. counterparts is stage to name of the primary member
-- there of the set that a click on the node shows; a node without a source line of its own has that of its earliest
-- counterpart which has one.
CREATE MACRO _shown(p_run, p_ordinals) AS TABLE
WITH members AS (
    SELECT a.asked, unnest([s.ordinal, a.asked]) AS ordinal, unnest([s.is_primary, NULL]) AS is_primary
    FROM (SELECT unnest(p_ordinals)::INTEGER AS asked) AS a
    LEFT JOIN _run_sync_sets(p_run) AS f ON f.ordinal = a.asked AND f.focus
    LEFT JOIN _run_sync_sets(p_run) AS s ON s.sync_set = f.sync_set
),
-- is_primary is NULL in the node's own row.
of_stage AS (
    SELECT m.asked, d.stage, d.stage_index,
           arg_min({'name': d.name, 'file': d.source_file, 'line': d.source_line}, (NOT m.is_primary, d.ordinal))
               FILTER (WHERE m.is_primary IS NOT NULL) AS best,
           any_value({'nid': d.nid, 'name': d.name, 'file': d.source_file, 'line': d.source_line, 'module': d.module_path,
                      'target': d.target, 'method': d.method, 'path': d.path}) FILTER (WHERE m.is_primary IS NULL) AS own
    FROM members AS m JOIN _run_nodes(p_run) AS d ON d.ordinal = m.ordinal GROUP BY ALL
),
of_node AS (
    SELECT o.asked, any_value(o.own) AS own, any_value(o.stage) FILTER (WHERE o.own IS NOT NULL) AS stage,
           list(o.best ORDER BY o.stage_index) FILTER (WHERE o.best.file IS NOT NULL)[1] AS source,
           list((o.stage, o.best.name) ORDER BY o.stage_index) FILTER (WHERE o.own IS NULL) AS others
    FROM of_stage AS o GROUP BY o.asked
)
SELECT n.asked AS ordinal, n.own.nid, n.stage, n.own.name, coalesce(n.own.file, n.source.file) AS source_file,
       CASE WHEN n.own.file IS NULL THEN n.source.line ELSE n.own.line END AS source_line, n.own.module AS module_path,
       map_from_entries(coalesce(n.others, [])) AS counterparts, n.own.target, n.own.method, n.own.path
FROM of_node AS n;
