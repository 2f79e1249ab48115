CREATE MACRO worst(metric, n := 20, run := NULL, stage := NULL, overlay := NULL, scope := NULL) AS TABLE
WITH ranked AS MATERIALIZED (
    SELECT r.* FROM _ranked(metric, run, stage, overlay, scope) AS r WHERE r.rank <= n
)
SELECT d.nid, d.stage, d.name, r.value,
       d.source_file, d.source_line, d.module_path, d.counterparts, d.target, r.status,
       r.rank, r.metric, r.reason, r.overlay_name AS overlay,
       r.scope, d.method, d.path
FROM ranked AS r
JOIN _shown(run, (SELECT list(x.ordinal) FROM ranked AS x)) AS d ON d.ordinal = r.ordinal
ORDER BY r.rank;
COMMENT ON MACRO TABLE worst IS 'The n worst nodes of a run by a metric, one row per node: NaN first, then infinite (unless that is what equal tensors give, as an SQNR of +inf), then the worst number in the direction of the overlay (of the metric, where the overlay has none). Nodes without a number are not ranked; coverage counts them. Without overlay, the newest one that holds the metric; without scope, cumulative where it exists; of several ports and samples, the worst. counterparts maps each other stage to the name of the counterpart there; a node that has no source line of its own (a getitem, a dequantize) shows that of its earliest counterpart which has one.
Example: SELECT name, value, source_file, source_line FROM worst(''cosine'', n := 10)';
