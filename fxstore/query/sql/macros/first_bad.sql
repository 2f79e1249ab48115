CREATE MACRO first_bad(metric, threshold, run := NULL, overlay := NULL, scope := NULL, sample := NULL) AS TABLE
WITH started AS MATERIALIZED (
    SELECT r.*, list(r.sample) OVER w AS samples
    FROM _judged(metric, threshold, run, overlay, scope, sample) AS r WHERE r.is_start
    WINDOW w AS (PARTITION BY r.ordinal, r.overlay ORDER BY r.sample
                 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    QUALIFY row_number() OVER (PARTITION BY r.ordinal, r.overlay ORDER BY r.broken, r.cost, r.sample) = 1
)
SELECT d.nid, d.stage, d.name, r.value,
       d.source_file, d.source_line, d.module_path, d.counterparts, d.target, r.status,
       row_number() OVER (ORDER BY r.stage_index, r.ordinal, r.overlay DESC) AS rank, r.metric, r.reason,
       r.overlay_name AS overlay, r.scope, d.method, d.path, r.sample, r.sample_name, r.p10, r.p90, r.executions, r.cold,
       [s FOR s IN r.samples IF s IS NOT NULL] AS samples
FROM started AS r
JOIN _shown(run, (SELECT list(DISTINCT x.ordinal) FROM started AS x)) AS d ON d.ordinal = r.ordinal
ORDER BY rank;
COMMENT ON MACRO TABLE first_bad IS 'Where an error starts: nodes whose value is bad (below the threshold where higher is better, else above it; NaN and infinity always) while none of their nearest measured ancestors is, in stage and program order. Each sample and overlay is asked on its own, and a node is named where an error starts there in any sample: samples lists these, and the row is that of the worst. With sample (a number from 0, or a name), of that one alone. Values flow into and out of nested graphs. The other columns are as in worst.
Example: SELECT name, value, sample FROM first_bad(''cosine'', 0.99)';
