CREATE MACRO first_bad(metric, threshold, run := NULL, overlay := NULL, scope := NULL) AS TABLE
WITH RECURSIVE ranked AS MATERIALIZED (
    SELECT r.*, r.broken < 2 OR r.cost < CASE WHEN r.better = 'higher' THEN threshold ELSE -threshold END AS is_bad
    FROM _ranked(metric, run, NULL, overlay, scope) AS r
),
-- An emitted operator writes the buffer that it is given as out=, and some readers read that: the value flows into it.
written AS MATERIALIZED (
    SELECT e.src, e.dst FROM _run_edges(run) AS e JOIN _run_nodes(run) AS n ON n.ordinal = e.src
    WHERE n.op_type = 'alloc' AND NOT regexp_matches(e.dst_arg, '^[0-9]')
),
flow AS MATERIALIZED (
    SELECT f.src, f.dst FROM _run_flow(run) AS f ANTI JOIN written AS w ON w.src = f.src AND w.dst = f.dst
    UNION
    SELECT w.dst, w.src FROM written AS w
),
-- What a bad node reaches, through nodes that were not measured: a good node in between ends the damage.
damaged(ordinal) AS (
    SELECT f.dst FROM flow AS f WHERE f.src IN (SELECT r.ordinal FROM ranked AS r WHERE r.is_bad)
    UNION
    SELECT f.dst FROM damaged AS t JOIN flow AS f ON f.src = t.ordinal
    WHERE t.ordinal NOT IN (SELECT r.ordinal FROM ranked AS r)
),
first AS MATERIALIZED (
    SELECT r.* FROM ranked AS r ANTI JOIN damaged AS t ON t.ordinal = r.ordinal WHERE r.is_bad
)
SELECT d.nid, d.stage, d.name, r.value,
       d.source_file, d.source_line, d.module_path, d.counterparts, d.target, r.status,
       row_number() OVER (ORDER BY r.stage_index, r.ordinal) AS rank, r.metric, r.reason, r.overlay_name AS overlay,
       r.scope, d.method, d.path
FROM first AS r
JOIN _shown(run, (SELECT list(x.ordinal) FROM first AS x)) AS d ON d.ordinal = r.ordinal
ORDER BY rank;
COMMENT ON MACRO TABLE first_bad IS 'Where an error starts: nodes whose value is bad (below the threshold where higher is better, else above it; NaN and infinity always) while none of their nearest measured ancestors is, in stage and program order. Values flow into and out of nested graphs. Columns as in worst.
Example: SELECT name, value FROM first_bad(''cosine'', 0.99)';
