CREATE MACRO metric_diff(base, head, metric, overlay := NULL, sample := NULL) AS TABLE
WITH matched AS MATERIALIZED (
    SELECT c.base AS before, c.head AS after FROM _run_changes(base, head) AS c WHERE c.base IS NOT NULL AND c.head IS NOT NULL
),
b AS MATERIALIZED (SELECT r.* FROM _ranked(metric, base, NULL, overlay, NULL, sample) AS r),
h AS MATERIALIZED (SELECT r.* FROM _ranked(metric, head, NULL, overlay, NULL, sample) AS r),
-- Overlays of a stage are one by their name; those of which only one run has the name are paired, the newest first.
overlays AS (
    SELECT DISTINCT 'base' AS side, b.stage, b.overlay_name, b.overlay AS number FROM b
    UNION ALL
    SELECT DISTINCT 'head' AS side, h.stage, h.overlay_name, h.overlay AS number FROM h
),
keyed AS MATERIALIZED (
    SELECT o.side, o.stage, o.number,
           CASE WHEN o.in_both THEN concat('=', o.overlay_name)
                ELSE concat('#', row_number() OVER (PARTITION BY o.side, o.stage, o.in_both ORDER BY o.number DESC)) END AS key
    FROM (SELECT x.*, count(*) OVER (PARTITION BY x.stage, x.overlay_name) = 2 AS in_both FROM overlays AS x) AS o
),
valued AS (
    SELECT coalesce(m.before, b.ordinal) AS before, m.after, b AS own, k.key
    FROM b JOIN keyed AS k ON k.side = 'base' AND k.stage = b.stage AND k.number = b.overlay
    LEFT JOIN matched AS m ON m.before = b.ordinal
),
paired AS (
    SELECT v.before, coalesce(v.after, h.ordinal) AS after, v.own.value AS base_value, h.value AS head_value,
           coalesce(h.better, v.own.better) AS better, v.own.broken AS base_broken, h.broken AS head_broken,
           coalesce(h.overlay_name, v.own.overlay_name) AS overlay_name, coalesce(h.scope, v.own.scope) AS scope_of,
           v.own.sample AS base_sample, h.sample AS head_sample, v.own.p10 AS base_p10, v.own.p90 AS base_p90,
           h.p10 AS head_p10, h.p90 AS head_p90, v.own.executions AS base_executions, h.executions AS head_executions
    FROM valued AS v
    FULL JOIN (SELECT h.*, k.key FROM h JOIN keyed AS k ON k.side = 'head' AND k.stage = h.stage AND k.number = h.overlay) AS h
      ON h.ordinal = v.after AND h.key = v.key
),
placed AS (
    SELECT p.*, coalesce(p.before, k.before) AS base_ordinal
    FROM paired AS p LEFT JOIN matched AS k ON k.after = p.after
)
SELECT row_number() OVER (ORDER BY
           CASE WHEN p.head_broken < 2 AND coalesce(p.base_broken, 2) = 2 THEN 0
                WHEN p.head_value IS NULL THEN 1 WHEN p.head_broken < 2 THEN 3 ELSE 2 END,
           p.head_broken,
           CASE WHEN p.better = 'higher' THEN p.head_value - p.base_value ELSE p.base_value - p.head_value END NULLS LAST,
           p.after, p.base_ordinal, p.overlay_name) AS rank,
       x.nid AS base_nid, y.nid AS head_nid, coalesce(y.stage, x.stage) AS stage, coalesce(y.name, x.name) AS name,
       p.base_value, p.head_value, p.head_value - p.base_value AS delta,
       CASE WHEN p.head_value IS NULL THEN 'vanished' WHEN p.base_value IS NULL THEN 'new'
            WHEN p.head_broken < p.base_broken THEN 'broken' WHEN p.head_broken > p.base_broken THEN 'repaired'
            WHEN p.head_value IS NOT DISTINCT FROM p.base_value THEN 'same'
            WHEN (p.head_value > p.base_value) = (p.better = 'higher') THEN 'better' ELSE 'worse' END AS change,
       coalesce(y.module_path, x.module_path) AS module_path, coalesce(y.source_file, x.source_file) AS source_file,
       coalesce(y.source_line, x.source_line) AS source_line, p.overlay_name AS overlay, p.scope_of AS scope,
       p.base_sample, p.head_sample, p.base_p10, p.base_p90, p.head_p10, p.head_p90, p.base_executions, p.head_executions
FROM placed AS p
LEFT JOIN _run_nodes(base) AS x ON x.ordinal = p.base_ordinal
LEFT JOIN _run_nodes(head) AS y ON y.ordinal = p.after
ORDER BY rank;
COMMENT ON MACRO TABLE metric_diff IS 'One row per node and overlay that has the metric in either run, matched as in run_diff, what got worse first: newly NaN or infinite, then vanished, then by loss. change is broken, vanished, worse, same, better, repaired or new; delta is head minus base. Each number is aggregated as in worst, and its sample, p10, p90 and executions are those of worst. Overlays of two runs are compared by name; those of which only one run has the name are paired, the newest first.
Example: SELECT name, base_value, head_value, change FROM metric_diff({run}, {run}, ''cosine'')';
