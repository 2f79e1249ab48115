-- All metrics on nodes of a run, with what ranks them: the direction (the row's, the overlay's, else the one that fxstore
-- knows), the number for two equal tensors, and the order in which scopes are chosen.
CREATE MACRO _run_numbers(p_run) AS TABLE
SELECT m.* EXCLUDE (unit, better), o.name AS overlay_name, o.kind, coalesce(m.unit, o.unit) AS unit,
       coalesce(m.better, o.better, d.better) AS better,
       CASE WHEN m.reason LIKE 'identical%' THEN m.value ELSE d.identical END AS identical,
       CASE m.scope WHEN 'cumulative' THEN 0 WHEN 'local' THEN 2 ELSE 1 END AS scope_order
FROM _run_metrics(p_run) AS m
JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
LEFT JOIN main._known_metrics AS d ON d.metric = m.metric
WHERE m.ordinal IS NOT NULL;

-- The rows of one metric in one overlay of one run, of one scope only, since scopes must not be compared:
-- the newest overlay that holds the metric (in that stage), cumulative before unscoped before local.
CREATE MACRO _measured(p_metric, p_run, p_stage, p_overlay, p_scope) AS TABLE
WITH held AS MATERIALIZED (
    SELECT m.* REPLACE (coalesce(m.better, 'lower') AS better), g.stage, g.stage_index
    FROM _run_numbers(p_run) AS m
    JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
    WHERE m.metric = p_metric AND (p_overlay IS NULL OR m.overlay_name = p_overlay)
      AND (p_scope IS NULL OR m.scope = p_scope) AND (p_stage IS NULL OR g.stage = p_stage)
),
chosen AS MATERIALIZED (FROM held WHERE overlay = (SELECT max(overlay) FROM held))
FROM chosen WHERE scope_order = (SELECT min(scope_order) FROM chosen);

-- How broken a value is: NaN 0, infinite 1, finite 2. Infinity that is the metric's number for equal tensors (an SQNR
-- of +inf) is not broken.
CREATE MACRO _broken(value, identical) AS CASE
    WHEN isnan(value) THEN 0 WHEN isinf(value) AND value IS DISTINCT FROM identical THEN 1 ELSE 2 END;
CREATE MACRO _cost(value, better) AS CASE WHEN isnan(value) THEN 0 WHEN better = 'higher' THEN value ELSE -value END;

-- One row per node that has a number, its worst port and sample, ranked over all.
CREATE MACRO _ranked(p_metric, p_run, p_stage, p_overlay, p_scope) AS TABLE
WITH worst_of_node AS (
    SELECT m.*, _broken(m.value, m.identical) AS broken, _cost(m.value, m.better) AS cost
    FROM _measured(p_metric, p_run, p_stage, p_overlay, p_scope) AS m
    WHERE m.value IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY m.ordinal ORDER BY broken, cost, m.port, m.sample) = 1
)
SELECT w.*, row_number() OVER (ORDER BY w.broken, w.cost, w.stage_index, w.ordinal) AS rank
FROM worst_of_node AS w;

-- For each of some nodes, given as a list of ordinals: stage to name of its counterpart in each stage, its own included.
-- It is the primary member of the set that a click on the node shows.
CREATE MACRO _counterparts(p_run, p_ordinals) AS TABLE
WITH asked AS MATERIALIZED (SELECT unnest(p_ordinals)::INTEGER AS ordinal),
members AS (
    SELECT a.ordinal AS of_ordinal, n.stage, n.stage_index,
           arg_min({'name': n.name, 'file': n.source_file, 'line': n.source_line}, (NOT m.is_primary, n.ordinal)) AS best
    FROM asked AS a
    JOIN _run_sync_sets(p_run) AS f ON f.ordinal = a.ordinal AND f.focus
    JOIN _run_sync_sets(p_run) AS m ON m.sync_set = f.sync_set
    JOIN _run_nodes(p_run) AS n ON n.ordinal = m.ordinal
    GROUP BY ALL
)
SELECT m.of_ordinal AS ordinal,
       list({'stage': m.stage, 'name': m.best.name} ORDER BY m.stage_index) AS entries,
       list({'file': m.best.file, 'line': m.best.line} ORDER BY m.stage_index)
           FILTER (WHERE m.best.file IS NOT NULL)[1] AS source
FROM members AS m GROUP BY m.of_ordinal;
CREATE MACRO _other_stages(entries, own) AS
    map_from_entries(list_filter(coalesce(entries, []::STRUCT(stage VARCHAR, name VARCHAR)[]), lambda e: e.stage <> own));

-- Some nodes as a ranking shows them, given as a list of ordinals: with their counterparts, and the source line of their
-- earliest counterpart where they have none of their own.
CREATE MACRO _shown(p_run, p_ordinals) AS TABLE
SELECT d.ordinal, d.nid, d.stage, d.name,
       CASE WHEN d.source_file IS NULL THEN c.source.file ELSE d.source_file END AS source_file,
       CASE WHEN d.source_file IS NULL THEN c.source.line ELSE d.source_line END AS source_line,
       d.module_path, _other_stages(c.entries, d.stage) AS counterparts, d.target, d.method, d.path
FROM (SELECT unnest(p_ordinals)::INTEGER AS ordinal) AS a
JOIN _run_nodes(p_run) AS d ON d.ordinal = a.ordinal
LEFT JOIN _counterparts(p_run, p_ordinals) AS c ON c.ordinal = a.ordinal;
