CREATE MACRO metric_diff(base, head, metric, overlay := NULL) AS TABLE
WITH matched AS MATERIALIZED (
    SELECT c.base AS before, c.head AS after FROM _run_changes(base, head) AS c WHERE c.base IS NOT NULL AND c.head IS NOT NULL
),
b AS MATERIALIZED (SELECT r.* FROM _ranked(metric, base, NULL, overlay, NULL) AS r),
h AS MATERIALIZED (SELECT r.* FROM _ranked(metric, head, NULL, overlay, NULL) AS r),
valued AS (
    SELECT coalesce(k.before, b.ordinal) AS before, k.after, b.value AS base_value, b.better, b.broken AS base_broken
    FROM b LEFT JOIN matched AS k ON k.before = b.ordinal
),
paired AS (
    SELECT v.before, coalesce(v.after, h.ordinal) AS after, v.base_value, h.value AS head_value,
           coalesce(h.better, v.better) AS better, v.base_broken, h.broken AS head_broken
    FROM valued AS v FULL JOIN h ON h.ordinal = v.after
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
           p.after, p.base_ordinal) AS rank,
       x.nid AS base_nid, y.nid AS head_nid, coalesce(y.stage, x.stage) AS stage, coalesce(y.name, x.name) AS name,
       p.base_value, p.head_value, p.head_value - p.base_value AS delta,
       CASE WHEN p.head_value IS NULL THEN 'vanished' WHEN p.base_value IS NULL THEN 'new'
            WHEN p.head_broken < p.base_broken THEN 'broken' WHEN p.head_broken > p.base_broken THEN 'repaired'
            WHEN p.head_value IS NOT DISTINCT FROM p.base_value THEN 'same'
            WHEN (p.head_value > p.base_value) = (p.better = 'higher') THEN 'better' ELSE 'worse' END AS change,
       coalesce(y.module_path, x.module_path) AS module_path, coalesce(y.source_file, x.source_file) AS source_file,
       coalesce(y.source_line, x.source_line) AS source_line
FROM placed AS p
LEFT JOIN _run_nodes(base) AS x ON x.ordinal = p.base_ordinal
LEFT JOIN _run_nodes(head) AS y ON y.ordinal = p.after
ORDER BY rank;
COMMENT ON MACRO TABLE metric_diff IS 'One row per node that has the metric in either run, matched as in run_diff, what got worse first: newly NaN or infinite, then vanished, then by loss. change is broken, vanished, worse, same, better, repaired or new; delta is head minus base. Overlay and scope are chosen for each run as in worst.
Example: SELECT name, base_value, head_value, change FROM metric_diff({run}, {run}, ''cosine'')';
