-- What a run holds, for checking a name before it is asked for.
CREATE MACRO _held_nodes(p_run, p_stage) AS TABLE
SELECT n.name, n.method, n.path FROM _run_nodes(p_run) AS n WHERE n.stage = p_stage ORDER BY n.ordinal;

-- One row per overlay, metric, scope and stage; metric is NULL for an overlay without any; better where nobody has said.
CREATE MACRO _held_metrics(p_run) AS TABLE
WITH held AS (
    SELECT DISTINCT m.overlay, m.metric, m.scope, m.better, g.stage
    FROM _run_metrics(p_run) AS m
    LEFT JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
    WHERE m.metric <> 'sample_name'
)
SELECT DISTINCT o.name AS overlay, o.kind, h.metric, h.scope, h.stage, _better(h.better, o.better, d.better, o.kind) AS better
FROM _run_overlays(p_run) AS o LEFT JOIN held AS h ON h.overlay = o.overlay
LEFT JOIN main._known_metrics AS d ON d.metric = h.metric ORDER BY ALL;

-- The samples of a run by number and, where they have one, name.
CREATE MACRO _held_samples(p_run) AS TABLE
SELECT DISTINCT m.sample, n.text AS name
FROM _run_metrics(p_run) AS m LEFT JOIN _run_samples(p_run) AS n ON n.overlay = m.overlay AND n.sample = m.sample
WHERE m.sample IS NOT NULL ORDER BY ALL;

CREATE MACRO _held_modules(p_run) AS TABLE
SELECT DISTINCT n.module_path AS module FROM _run_nodes(p_run) AS n WHERE n.module_path IS NOT NULL ORDER BY ALL;

-- What a pattern calls a node by.
CREATE MACRO _held_kinds(p_run, p_stage) AS TABLE
SELECT DISTINCT coalesce(n.op_type, n.role) AS kind FROM _run_nodes(p_run) AS n
WHERE p_stage IS NULL OR n.stage = p_stage ORDER BY ALL;

-- Which runs hold what, for naming another run where the asked one lacks a name.
CREATE MACRO _holders_of_metrics() AS TABLE
SELECT DISTINCT r.run_id, o.name AS overlay, m.metric
FROM main._overlays AS o
JOIN main._runs AS r ON r.run_key = o.run_key
LEFT JOIN main._metrics AS m ON m.run_key = o.run_key AND m.overlay = o.overlay AND m.metric <> 'sample_name';

CREATE MACRO _holders_of_node(p_node) AS TABLE
SELECT DISTINCT r.run_id, n.stage
FROM main._structure_nodes AS n JOIN main._runs AS r ON r.structure_hash = n.structure_hash WHERE n.name = p_node;

CREATE MACRO _holders_of_operators() AS TABLE
SELECT DISTINCT n.op_type AS operator FROM main._nodes AS n WHERE n.op_type IS NOT NULL ORDER BY ALL;

-- What a run has numbers of: one row per metric, overlay, stage and scope. worst is NULL where no number is better.
CREATE MACRO _metrics_of(p_run) AS TABLE
WITH placed AS (
    SELECT m.*, o.name AS overlay_name, coalesce(m.better, o.better, d.better) AS direction,
           coalesce(m.unit, o.unit) AS shown_unit, d.identical, g.stage, g.stage_index
    FROM _run_metrics(p_run) AS m
    JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
    LEFT JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
    LEFT JOIN main._known_metrics AS d ON d.metric = m.metric
    WHERE m.metric <> 'sample_name'
)
SELECT p.metric, p.overlay_name AS overlay, p.stage, p.scope, count(DISTINCT p.sample) AS samples,
       any_value(p.direction) AS better, any_value(p.shown_unit) AS unit,
       count(*) FILTER (WHERE p.value IS NOT NULL OR p.text IS NOT NULL) AS "count",
       arg_min(p.value, (_broken(p.value, p.identical), _cost(p.value, p.direction)))
           FILTER (WHERE p.value IS NOT NULL AND p.direction IS NOT NULL) AS worst
FROM placed AS p
GROUP BY p.metric, p.overlay, p.overlay_name, p.stage, p.stage_index, p.scope
ORDER BY p.overlay DESC, p.metric, p.stage_index, p.scope;

CREATE MACRO _overlays_of(p_run) AS TABLE
WITH held AS (
    SELECT m.overlay, list(DISTINCT m.metric ORDER BY m.metric) AS metrics, list(DISTINCT g.stage ORDER BY g.stage) AS stages,
           count(*) FILTER (WHERE m.value IS NOT NULL OR m.text IS NOT NULL) AS "count"
    FROM _run_metrics(p_run) AS m
    LEFT JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
    WHERE m.metric <> 'sample_name' GROUP BY m.overlay
)
SELECT o.name AS overlay, o.kind, o.source, o.unit, o.better, coalesce(h.metrics, []) AS metrics,
       list_filter(coalesce(h.stages, []), lambda one: one IS NOT NULL) AS stages, coalesce(h."count", 0) AS "count"
FROM _run_overlays(p_run) AS o LEFT JOIN held AS h ON h.overlay = o.overlay
ORDER BY o.overlay DESC;
