-- All metrics on nodes of a run, with the node's stage and what ranks them: the direction (the row's, the overlay's, else
-- the one that fxstore knows), the number for two equal tensors, and the order in which scopes are chosen.
CREATE MACRO _read_numbers(p_run) AS TABLE
SELECT m.* EXCLUDE (unit, better), o.name AS overlay_name, o.kind, coalesce(m.unit, o.unit) AS unit,
       coalesce(m.better, o.better, d.better) AS better,
       CASE WHEN m.reason LIKE 'identical%' THEN m.value ELSE d.identical END AS identical,
       CASE m.scope WHEN 'cumulative' THEN 0 WHEN 'local' THEN 2 ELSE 1 END AS scope_order, g.stage, g.stage_index
FROM _run_metrics(p_run) AS m
JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
JOIN _run_graphs(p_run) AS g ON m.ordinal >= g.base AND m.ordinal < g.base + g.nodes
LEFT JOIN main._known_metrics AS d ON d.metric = m.metric;
CREATE MACRO _run_numbers(p_run) AS TABLE FROM query(_source(p_run, 'numbers'));

-- The rows of one metric in one overlay of one run, of one scope only, since scopes must not be compared:
-- the newest overlay that holds the metric (in that stage), cumulative before unscoped before local.
CREATE MACRO _measured(p_metric, p_run, p_stage, p_overlay, p_scope) AS TABLE
SELECT m.* REPLACE (coalesce(m.better, 'lower') AS better)
FROM _run_numbers(p_run) AS m
WHERE m.metric = p_metric AND (p_overlay IS NULL OR m.overlay_name = p_overlay)
  AND (p_scope IS NULL OR m.scope = p_scope) AND (p_stage IS NULL OR m.stage = p_stage)
QUALIFY dense_rank() OVER (ORDER BY m.overlay DESC, m.scope_order) = 1;

-- How broken a value is: NaN 0, infinite 1, finite 2. Infinity that is the metric's number for equal tensors (an SQNR
-- of +inf) is not broken.
CREATE MACRO _broken(value, identical) AS CASE
    WHEN isnan(value) THEN 0 WHEN isinf(value) AND value IS DISTINCT FROM identical THEN 1 ELSE 2 END;
CREATE MACRO _cost(value, better) AS CASE WHEN isnan(value) THEN 0 WHEN better = 'higher' THEN value ELSE -value END;

-- One row per node that has a number, its worst port and sample, ranked over all.
CREATE MACRO _ranked(p_metric, p_run, p_stage, p_overlay, p_scope) AS TABLE
WITH of_node AS (
    SELECT m.ordinal, any_value(m.stage) AS stage, any_value(m.stage_index) AS stage_index,
           arg_min({'value': m.value, 'status': m.status, 'reason': m.reason, 'metric': m.metric, 'scope': m.scope,
                    'overlay_name': m.overlay_name, 'better': m.better, 'broken': _broken(m.value, m.identical),
                    'cost': _cost(m.value, m.better)},
                   (_broken(m.value, m.identical), _cost(m.value, m.better), m.port, m.sample)) AS worst
    FROM _measured(p_metric, p_run, p_stage, p_overlay, p_scope) AS m
    WHERE m.value IS NOT NULL GROUP BY m.ordinal
)
SELECT n.ordinal, n.stage, n.stage_index, unnest(n.worst),
       row_number() OVER (ORDER BY n.worst.broken, n.worst.cost, n.stage_index, n.ordinal) AS rank
FROM of_node AS n;

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
