CREATE MACRO worst(metric, n := 20, run := NULL, stage := NULL, overlay := NULL, scope := NULL, sample := NULL) AS TABLE
WITH ranked AS MATERIALIZED (
    SELECT r.* FROM _ranked(metric, run, stage, overlay, scope, sample) AS r WHERE r.rank <= n
)
SELECT d.nid, d.stage, d.name, r.value,
       d.source_file, d.source_line, d.module_path, d.counterparts, d.target, r.status,
       r.rank, r.metric, r.reason, r.overlay_name AS overlay,
       r.scope, d.method, d.path, r.sample, r.sample_name, r.p10, r.p90, r.executions, r.cold
FROM ranked AS r
JOIN _shown(run, (SELECT list(DISTINCT x.ordinal) FROM ranked AS x)) AS d ON d.ordinal = r.ordinal
ORDER BY r.rank;
COMMENT ON MACRO TABLE worst IS 'The n worst nodes of a run by a metric, one row per node and overlay: NaN first, then infinite (unless that is what equal tensors give, as an SQNR of +inf), then the worst number in the direction of the overlay (of the metric, where the overlay has none). A metric without a direction is an error that says how to declare it. Nodes without a number are not ranked; coverage counts them. Without overlay, every overlay that holds the metric, and of those of one name the newest; without scope, cumulative where it exists. A number is the worst over ports and samples, sample and sample_name say of which; bytes are the sum over ports; a time is the median over all executions, p10 and p90 are its spread without the cold executions at the start, which took more than twice the median: executions and cold count them. With sample (a number from 0, or a name), of that one alone. counterparts maps each other stage to the name of the counterpart there; a node that has no source line of its own (a getitem, a dequantize) shows that of its earliest counterpart which has one.
Example: SELECT name, value, source_file, source_line FROM worst(''cosine'', n := 10)';
