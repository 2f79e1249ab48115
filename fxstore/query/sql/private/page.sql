-- What a page shows of some stages of one run, given as a list of names. Graphs: top graphs first.
CREATE MACRO _page_graphs(p_run, p_stages) AS TABLE
SELECT g.stage, g.graph, g.method, g.path, g.graph_hash, _nid(g.run_key, g.parent) AS parent_nid, p.backend
FROM _run_graphs(p_run) AS g LEFT JOIN _run_nodes(p_run) AS p ON p.ordinal = g.parent
WHERE g.stage IN (SELECT unnest(p_stages)) ORDER BY g.path <> '', g.graph;

CREATE MACRO _page_nodes(p_run, p_stages) AS TABLE
SELECT n.graph, n.nid, n.name, n.op, n.target, n.op_type, n.role, n.dtype, n.shape, n.module_path, n.backend,
       n.source_file, n.source_line, n.source_code, n.attrs, u.reasons AS unmatched
FROM _whole_nodes(p_run) AS n
LEFT JOIN (
    SELECT x.ordinal, string_agg(concat(x.towards, ': ', x.reason), '; ' ORDER BY x.towards) AS reasons
    FROM _run_unmatched(p_run) AS x GROUP BY x.ordinal
) AS u ON u.ordinal = n.ordinal
WHERE n.stage IN (SELECT unnest(p_stages)) ORDER BY n.ordinal;

-- src and dst are positions within the graph.
CREATE MACRO _page_edges(p_run, p_stages) AS TABLE
SELECT e.graph, e.src - g.base AS src, e.dst - g.base AS dst, e.src_port, e.dst_arg
FROM _run_edges(p_run) AS e JOIN _run_graphs(p_run) AS g ON g.graph = e.graph
WHERE g.stage IN (SELECT unnest(p_stages)) ORDER BY e.dst, e.position;

-- One row per member of each sync set of a run.
CREATE MACRO _page_sync_sets(p_run) AS TABLE
SELECT s.sync_set, _nid(_key(p_run), s.ordinal) AS nid, s.is_primary, s.focus
FROM _run_sync_sets(p_run) AS s ORDER BY s.sync_set, s.ordinal;

-- One number per node, metric and overlay, aggregated as in _measured, that of the worst sample: is_shown; and the numbers of
-- the first p_most samples, where there are several. A node that has none gives its reason.
CREATE MACRO _page_values(p_run, p_most) AS TABLE
WITH chosen AS (
    SELECT m.overlay, m.metric, min(m.scope_order) AS scope_order,
           CASE WHEN min(m.threshold) = max(m.threshold) THEN min(m.threshold) END AS threshold
    FROM _run_numbers(p_run) AS m GROUP BY ALL
),
numbers AS MATERIALIZED (
    SELECT m.overlay_name, m.overlay, m.kind, m.unit, m.better, m.metric, m.ordinal, m.value,
           coalesce(m.reason, m.status) AS reason, m.broken, m.cost, m.sample, m.sample_name, m.p10, m.p90, m.executions, m.cold, c.threshold
    FROM _aggregated(p_run, NULL) AS m JOIN chosen AS c USING (overlay, metric, scope_order)
),
turns AS (
    SELECT s.*, count(*) OVER (PARTITION BY s.overlay, s.metric) AS samples,
           row_number() OVER (PARTITION BY s.overlay, s.metric ORDER BY s.sample) <= p_most AND s.kind <> 'statistics' AS is_told
    FROM (SELECT DISTINCT n.overlay, n.metric, n.kind, n.sample FROM numbers AS n WHERE n.sample IS NOT NULL) AS s
),
placed AS (
    SELECT n.*, coalesce(t.samples, 0) AS samples, coalesce(t.samples > 1 AND t.is_told, false) AS is_sample,
           row_number() OVER (PARTITION BY n.overlay, n.metric, n.ordinal
                              ORDER BY n.value IS NULL, n.broken, n.cost, n.sample) = 1 AS is_shown
    FROM numbers AS n LEFT JOIN turns AS t ON t.overlay = n.overlay AND t.metric = n.metric AND t.sample = n.sample
)
SELECT n.overlay_name AS overlay, n.overlay AS number, n.kind, n.unit, n.better, n.metric,
       _nid(_key(p_run), n.ordinal) AS nid, n.value, n.reason, n.sample, n.sample_name, n.is_shown, n.is_sample, n.samples,
       n.p10, n.p90, n.executions, n.cold, n.threshold
FROM placed AS n WHERE n.is_shown OR n.is_sample
ORDER BY number, n.metric, nid, n.sample;

-- One row per value that has equals elsewhere: values of one class must be equal up to numerical error.
CREATE MACRO _page_equal_values(p_run) AS TABLE
SELECT v.value_class, _nid(_key(p_run), v.ordinal) AS nid, v.port, v.evidence
FROM read_parquet(_files(p_run, 'value_classes')) AS v ORDER BY v.value_class, v.ordinal, v.port;

-- One text per node and metric that has no number: a category, or the histogram of a value.
CREATE MACRO _page_texts(p_run) AS TABLE
SELECT o.name AS overlay, o.overlay AS number, o.kind, m.metric,
       _nid(_key(p_run), m.ordinal) AS nid, min(m.text) AS text
FROM _run_metrics(p_run) AS m JOIN _run_overlays(p_run) AS o ON o.overlay = m.overlay
WHERE m.ordinal IS NOT NULL AND m.text IS NOT NULL AND m.value IS NULL
GROUP BY ALL ORDER BY number, m.metric, nid;
