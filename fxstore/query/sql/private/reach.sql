-- The edges of the graph of a node.
CREATE MACRO _edges_around(p_nid) AS TABLE
SELECT e.src, e.dst FROM _run_edges(_run_of(p_nid)) AS e
WHERE e.graph = (SELECT g.graph FROM _run_graphs(_run_of(p_nid)) AS g
                 WHERE _ordinal(p_nid) >= g.base AND _ordinal(p_nid) < g.base + g.nodes);

-- The rows of a list: DuckDB takes what recursion gives for far more rows than it has, and a list for few, so that it
-- looks these up among the nodes, not the nodes among these.
CREATE MACRO _found_in(p_rows) AS TABLE SELECT unnest(p_rows) AS node;

-- The nodes of a node's graph that it reaches along the edges (p_backward false), against them (true) or either way
-- (NULL), with the length of the shortest way.
CREATE MACRO _reached(p_nid, p_hops, p_backward) AS TABLE
WITH RECURSIVE steps AS MATERIALIZED (
    SELECT unnest(CASE WHEN p_backward THEN [e.dst] WHEN p_backward IS NULL THEN [e.src, e.dst] ELSE [e.src] END) AS here,
           unnest(CASE WHEN p_backward THEN [e.src] WHEN p_backward IS NULL THEN [e.dst, e.src] ELSE [e.dst] END) AS there
    FROM _edges_around(p_nid) AS e
),
reached(ordinal, distance) USING KEY (ordinal, min(distance)) AS (
    SELECT _ordinal(p_nid), 0
    UNION
    SELECT s.there, r.distance + 1 FROM reached AS r JOIN steps AS s ON s.here = r.ordinal
    WHERE p_hops IS NULL OR r.distance < p_hops
)
SELECT d.nid, d.stage, d.name, f.node.distance AS hops, d.op_type, d.method, d.path
FROM _found_in((SELECT list(r) FROM reached AS r WHERE r.distance > 0)) AS f
JOIN _run_nodes(_run_of(p_nid)) AS d ON d.ordinal = f.node.ordinal
ORDER BY f.node.distance, d.nid;

-- The same along the flow of values through the run's nested graphs.
CREATE MACRO _reached_nested(p_nid, p_hops, p_backward) AS TABLE
WITH RECURSIVE steps AS MATERIALIZED (
    SELECT CASE WHEN p_backward THEN f.dst ELSE f.src END AS here, CASE WHEN p_backward THEN f.src ELSE f.dst END AS there
    FROM _run_flow(_run_of(p_nid)) AS f
),
reached(ordinal, distance) USING KEY (ordinal, min(distance)) AS (
    SELECT _ordinal(p_nid), 0
    UNION
    SELECT s.there, r.distance + 1 FROM reached AS r JOIN steps AS s ON s.here = r.ordinal
    WHERE p_hops IS NULL OR r.distance < p_hops
)
SELECT d.nid, d.stage, d.name, f.node.distance AS hops, d.op_type, d.method, d.path
FROM _found_in((SELECT list(r) FROM reached AS r WHERE r.distance > 0)) AS f
JOIN _run_nodes(_run_of(p_nid)) AS d ON d.ordinal = f.node.ordinal
ORDER BY f.node.distance, d.nid;

-- Uses within the graph of a node, as nids, each pair once.
CREATE MACRO _graph_steps(p_nid) AS TABLE
SELECT DISTINCT _nid(p_nid::BIGINT >> 22, e.src) AS src, _nid(p_nid::BIGINT >> 22, e.dst) AS dst
FROM _edges_around(p_nid) AS e;
