CREATE MACRO trace(stage, node, run := NULL, method := NULL, path := NULL) AS TABLE
WITH RECURSIVE asked AS MATERIALIZED (
    SELECT a.ordinal, a.nid, a.graph, a.graph_hash, a.position FROM _named(run, stage, node, method, path) AS a
),
links AS MATERIALIZED (
    SELECT l.src AS before, l.dst AS after, l.evidence, 'later' AS direction FROM _run_links(run) AS l
    UNION ALL
    SELECT l.dst, l.src, l.evidence, 'earlier' FROM _run_links(run) AS l
),
-- The shortest way to each node, so that links in a circle end; of several, the one with the best evidence.
walk(asked, ordinal, direction, step) USING KEY (asked, ordinal, direction, min(step)) AS (
    SELECT a.ordinal, a.ordinal, unnest(['earlier', 'later']), {'hops': 0, 'strength': 0, 'evidence': NULL::VARCHAR}
    FROM asked AS a
    UNION
    SELECT w.asked, l.after, w.direction,
           {'hops': w.step.hops + 1, 'strength': _strength(l.evidence), 'evidence': l.evidence}
    FROM walk AS w JOIN links AS l ON l.before = w.ordinal AND l.direction = w.direction
),
linked AS (
    SELECT w.asked, w.ordinal, w.direction, w.step.hops AS hops, w.step.evidence AS evidence
    FROM walk AS w WHERE w.step.hops > 0
),
sources AS MATERIALIZED (
    SELECT s.* FROM _run_sources(run) AS s WHERE s.graph_hash IN (SELECT a.graph_hash FROM asked AS a)
),
parents AS MATERIALIZED (
    SELECT s.graph_hash, s.source, max(CASE WHEN s.parent < s.source THEN s.parent END) AS parent
    FROM sources AS s GROUP BY s.graph_hash, s.source
),
chain(asked, graph, graph_hash, branch, hops, source) AS (
    SELECT a.ordinal, a.graph, a.graph_hash, o.branch, 1, o.source
    FROM asked AS a JOIN _run_origins(run) AS o ON o.graph_hash = a.graph_hash AND o.position = a.position
    UNION ALL
    SELECT c.asked, c.graph, c.graph_hash, c.branch, c.hops + 1, s.parent
    FROM chain AS c JOIN parents AS s ON s.graph_hash = c.graph_hash AND s.source = c.source
    WHERE s.parent IS NOT NULL
),
found AS (
    SELECT a.ordinal AS asked, a.ordinal, NULL::VARCHAR AS name, 'self' AS via, 0 AS hops, NULL::VARCHAR AS evidence,
           NULL::VARCHAR AS pass_name, NULL::VARCHAR AS action, 0 AS branch
    FROM asked AS a
    UNION ALL
    SELECT l.asked, l.ordinal, NULL, l.direction, l.hops, l.evidence, NULL, NULL, 0 FROM linked AS l
    UNION ALL
    SELECT c.asked, k.ordinal, s.name, 'provenance', c.hops, 'from_node', s.pass_name, s.action, c.branch
    FROM chain AS c
    JOIN sources AS s ON s.graph_hash = c.graph_hash AND s.source = c.source
    LEFT JOIN _run_ancestors(run) AS k ON k.graph = c.graph AND k.source = c.source
)
SELECT d.nid, d.stage, coalesce(d.name, f.name) AS name, f.via, f.hops, f.evidence, f.pass_name, f.action, d.method, d.path,
       a.nid AS asked_nid, f.branch
FROM found AS f
JOIN asked AS a ON a.ordinal = f.asked
LEFT JOIN _run_nodes(run) AS d ON d.ordinal = f.ordinal
ORDER BY a.nid, list_position(['self', 'earlier', 'later', 'provenance'], f.via), f.branch, f.hops, d.nid;
COMMENT ON MACRO TABLE trace IS 'Where a node came from and what became of it. via is self, earlier or later (followed along links, hops counted, evidence of the last link) or provenance (the chain that the node names about itself, nearest first, with pass and action; nid is NULL where that ancestor is in no stored graph).
Example: SELECT via, hops, stage, name, evidence, pass_name FROM trace(''edge'', ''aten_convolution_default'')';
