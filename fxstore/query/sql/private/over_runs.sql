CREATE MACRO _op_counts(p_run, p_stage) AS TABLE
WITH taken AS MATERIALIZED (
    SELECT g.stage, g.method, g.path
    FROM _run_graphs(p_run) AS g JOIN _run_nodes(p_run) AS n ON n.ordinal = g.parent AND n.role = 'delegate'
)
SELECT n.stage, n.op_type, count(*) AS nodes, count(t.path) AS delegated, list(n.nid ORDER BY n.nid) AS nids, n.stage_index
FROM _run_nodes(p_run) AS n
LEFT JOIN taken AS t ON t.stage = n.stage AND t.method = n.method AND t.path = n.path
WHERE starts_with(n.op, 'call_') AND (p_stage IS NULL OR n.stage = p_stage)
GROUP BY n.stage, n.op_type, n.stage_index ORDER BY n.stage_index, nodes DESC, n.op_type;

CREATE MACRO _fallback(p_run, p_stage, p_overlay) AS TABLE
WITH times AS MATERIALIZED (
    SELECT m.ordinal, m.stage, m.value AS time, m.unit
    FROM _measured('latency', p_run, NULL, p_overlay, NULL, NULL) AS m WHERE isfinite(m.value)
    QUALIFY m.overlay = max(m.overlay) OVER ()
)
SELECT o.op_type, count(*) AS nodes, sum(t.time) AS time, any_value(t.unit) AS unit,
       sum(t.time) / (SELECT sum(a.time) FROM times AS a WHERE a.stage = o.stage) AS share,
       count(t.time) AS measured, o.stage, list(o.nid ORDER BY o.nid) AS nids
FROM _placed_operators(p_run, p_stage) AS o LEFT JOIN times AS t ON t.ordinal = o.ordinal
WHERE NOT o.is_taken
GROUP BY o.op_type, o.stage ORDER BY time DESC NULLS LAST, nodes DESC, o.op_type;

CREATE MACRO _same_operator(p_operator) AS TABLE
WITH newest AS MATERIALIZED (
    SELECT r.run_id, coalesce(r.model, r.name) AS model FROM main._runs AS r
    QUALIFY row_number() OVER (PARTITION BY coalesce(r.model, r.name)
                               ORDER BY r.status <> 'complete', r.created_at DESC, r.run_id) = 1
)
SELECT w.model, w.run_id, g.stage, _nid(g.run_key, g.base + n.position) AS nid, n.name, n.target, n.dtype, n.shape,
       n.module_path, n.backend, n.source_file, n.source_line, g.stage_index
FROM newest AS w
JOIN main._run_graph AS g ON g.run_id = w.run_id
JOIN main._nodes AS n ON n.graph_hash = g.graph_hash
WHERE n.op_type = p_operator ORDER BY w.model, g.stage_index, nid;

-- The nodes of some graphs that are like an asked one (a struct) in a way, once for each such way, the surest first: with
-- their place among those that are alike, and the number of these.
CREATE MACRO _alike(p_graphs, p_asked) AS TABLE
WITH near AS (
    SELECT n.graph_hash, n.position, n.name = a.node.name AS in_name, n.fingerprint = a.node.fingerprint AS in_print,
           n.module_path IS NOT DISTINCT FROM a.node.module_path
               AND n.module_call IS NOT DISTINCT FROM a.node.module_call AS in_module
    FROM main._nodes AS n, (SELECT p_asked AS node) AS a
    WHERE n.graph_hash IN (SELECT unnest(p_graphs)) AND n.op_type = a.node.op_type AND n.role = a.node.role
      AND (in_name OR in_print OR in_module)
),
ways AS (
    SELECT r.graph_hash, r.position, unnest([
        {'rank': 1, 'said': 'fingerprint', 'holds': r.in_print AND r.in_module AND r.in_name},
        {'rank': 2, 'said': 'fingerprint', 'holds': r.in_print AND r.in_module},
        {'rank': 3, 'said': 'module', 'holds': r.in_module AND r.in_name},
        {'rank': 4, 'said': 'module', 'holds': r.in_module},
        {'rank': 5, 'said': 'name', 'holds': r.in_name},
        {'rank': 6, 'said': 'fingerprint', 'holds': r.in_print}]) AS way
    FROM near AS r
)
SELECT w.graph_hash, w.position, w.way.rank AS rank, w.way.said AS said,
       row_number() OVER (PARTITION BY w.graph_hash, w.way.rank ORDER BY w.position) AS place,
       count(*) OVER (PARTITION BY w.graph_hash, w.way.rank) AS alike
FROM ways AS w WHERE w.way.holds;

CREATE MACRO _history(p_stage, p_node, p_metric, p_run, p_method, p_path) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT n.method, n.path, n.graph_hash, n.position, n.op_type, n.role, n.name, n.fingerprint, n.module_path, n.module_call
    FROM _whole_nodes(p_run) AS n
    WHERE n.ordinal = (SELECT arg_min(a.ordinal, (a.path, a.ordinal))
                       FROM _named(p_run, p_stage, p_node, p_method, p_path) AS a)
),
model_runs AS MATERIALIZED (
    SELECT r.* FROM main._runs AS r JOIN main._runs AS o ON o.run_key = _key(p_run)
    WHERE CASE WHEN o.model IS NULL THEN r.model IS NULL AND r.name = o.name ELSE r.model = o.model END
),
graphs AS MATERIALIZED (
    SELECT r.run_key, r.run_id, r.name, r.created_at, r.tags, g.graph_hash, g.base
    FROM model_runs AS r
    LEFT JOIN (SELECT x.* FROM main._graphs AS x JOIN asked AS a ON x.method = a.method AND x.path = a.path
               WHERE x.stage = p_stage) AS g ON g.structure_hash = r.structure_hash
),
ways AS MATERIALIZED (
    FROM _alike((SELECT list(DISTINCT g.graph_hash) FROM graphs AS g), (SELECT a FROM asked AS a))
),
found AS MATERIALIZED (
    SELECT w.graph_hash, min_by(w.position, w.rank) AS position, min_by(w.said, w.rank) AS matched_by
    FROM ways AS w
    JOIN ways AS o ON o.rank = w.rank AND o.place = w.place AND o.alike = w.alike
    JOIN asked AS a ON a.graph_hash = o.graph_hash AND a.position = o.position
    WHERE w.graph_hash <> a.graph_hash GROUP BY w.graph_hash
    UNION ALL
    SELECT a.graph_hash, a.position, 'graph' FROM asked AS a
),
nodes AS MATERIALIZED (
    SELECT g.*, (g.base + f.position)::INTEGER AS ordinal, f.matched_by
    FROM graphs AS g LEFT JOIN found AS f ON f.graph_hash = g.graph_hash
),
measured AS MATERIALIZED (
    SELECT m.run_key, m.overlay, m.metric, m.scope, m.value, m.reason, m.better, m.unit, m.port, m.sample
    FROM nodes AS n JOIN read_parquet(_model_files(p_run, 'metrics')) AS m
      ON m.run_key = n.run_key AND m.ordinal = n.ordinal AND m.metric = p_metric
),
numbers AS (
    SELECT m.run_key, m.overlay, CASE m.scope WHEN 'cumulative' THEN 0 WHEN 'local' THEN 2 ELSE 1 END AS scope_order,
           m.value, m.reason, m.port, m.sample, o.name AS overlay_name, _better(m.better, o.better, d.better, o.kind) AS better,
           _aggregation(o.kind, coalesce(m.unit, o.unit)) AS aggregation,
           _broken(m.value, CASE WHEN m.reason LIKE 'identical%' THEN m.value ELSE d.identical END) AS broken
    FROM measured AS m
    JOIN read_parquet(_model_files(p_run, 'overlays')) AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
    LEFT JOIN main._known_metrics AS d ON d.metric = m.metric
),
of_sample AS (
    SELECT v.run_key, v.overlay, v.scope_order, _sample_of(v.aggregation, v.sample) AS sample,
           any_value(v.overlay_name) AS overlay_name, any_value(v.better) AS better,
           _aggregate(v.aggregation, v.value, v.reason, v.broken, _cost(v.value, coalesce(v.better, 'lower')),
                      v.port, v.sample) AS one
    FROM numbers AS v GROUP BY v.run_key, v.overlay, v.scope_order, _sample_of(v.aggregation, v.sample)
),
valued AS (SELECT s.*, _value_of(s.one) AS value, _times_of(s.one) AS times FROM of_sample AS s),
-- Of each run the newest overlay that has the metric on the node, of it one scope, and of that the worst sample.
one_each AS (
    SELECT s.run_key, arg_min({'value': s.value, 'reason': _reason_of(s.one), 'broken': s.one.broken, 'times': s.times,
                               'sample': s.sample, 'overlay': s.overlay_name, 'better': s.better},
                              (-s.overlay, s.scope_order, s.value IS NULL, s.one.broken,
                               _cost(s.value, coalesce(s.better, 'lower')), s.sample)) AS v
    FROM valued AS s GROUP BY s.run_key
)
SELECT _nid(n.run_key, n.ordinal) AS nid, n.name AS run, n.run_id, n.created_at, e.v.value,
       CASE WHEN e.v.value IS NULL THEN 'not_measured' WHEN isfinite(e.v.value) THEN 'ok' ELSE 'non_finite' END AS status,
       CASE WHEN n.ordinal IS NULL THEN 'no counterpart' WHEN e.v.value IS NULL THEN coalesce(e.v.reason, 'no data') ELSE e.v.reason END
           AS reason,
       n.matched_by, n.tags, e.v.better, e.v.broken, e.v.overlay, e.v.sample,
       _percentile(e.v.times, e.v.value, 0.1) AS p10, _percentile(e.v.times, e.v.value, 0.9) AS p90,
       len(e.v.times) AS executions, CASE WHEN e.v.times IS NOT NULL THEN _cold(e.v.times, e.v.value) END AS cold
FROM nodes AS n LEFT JOIN one_each AS e ON e.run_key = n.run_key
ORDER BY n.created_at, n.run_id;

CREATE MACRO _first_broken(p_stage, p_node, p_metric, p_threshold, p_run, p_method, p_path) AS TABLE
WITH numbered AS MATERIALIZED (
    SELECT h.*, row_number() OVER (ORDER BY h.created_at, h.run_id) AS place
    FROM _history(p_stage, p_node, p_metric, p_run, p_method, p_path) AS h
),
judged AS MATERIALIZED (
    SELECT n.*, n.broken < 2 OR CASE WHEN _directed(n.better, p_metric) = 'higher' THEN n.value < p_threshold
                                     ELSE n.value > p_threshold END AS is_bad
    FROM numbered AS n WHERE n.value IS NOT NULL
),
before AS (
    SELECT j.*, lag(j.is_bad) OVER w AS was_bad, lag(j.run_id) OVER w AS last_good, lag(j.value) OVER w AS last_good_value,
           j.place - coalesce(lag(j.place) OVER w, 0) - 1 AS unknown,
           bool_or(NOT j.is_bad) OVER (ORDER BY j.place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS is_over
    FROM judged AS j WINDOW w AS (ORDER BY j.place)
)
SELECT b.nid, b.run, b.run_id, b.created_at, b.value, b.last_good, b.last_good_value, b.unknown,
       coalesce(b.is_over, false) AS is_over
FROM before AS b WHERE b.is_bad AND NOT coalesce(b.was_bad, false) ORDER BY b.created_at DESC, b.run_id;
