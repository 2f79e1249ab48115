-- The nodes of a node's graph that it reaches along the edges (p_backward false), against them (true) or either way
-- (NULL), with the length of the shortest way.
CREATE MACRO _reached(p_nid, p_hops, p_backward) AS TABLE
WITH RECURSIVE here AS MATERIALIZED (
    SELECT g.*, _ordinal(p_nid) - g.base AS asked FROM _run_graphs(_run_of(p_nid)) AS g
    WHERE _ordinal(p_nid) >= g.base AND _ordinal(p_nid) < g.base + g.nodes
),
steps AS MATERIALIZED (
    SELECT unnest(CASE WHEN p_backward THEN [e.dst] WHEN p_backward IS NULL THEN [e.src, e.dst] ELSE [e.src] END) AS here,
           unnest(CASE WHEN p_backward THEN [e.src] WHEN p_backward IS NULL THEN [e.dst, e.src] ELSE [e.dst] END) AS there
    FROM here AS h JOIN read_parquet(_files(_run_of(p_nid), 'edges')) AS e ON e.graph_hash = h.graph_hash
),
reached(position, distance) USING KEY (position, min(distance)) AS (
    SELECT h.asked, 0 FROM here AS h
    UNION
    SELECT s.there, r.distance + 1 FROM reached AS r JOIN steps AS s ON s.here = r.position
    WHERE p_hops IS NULL OR r.distance < p_hops
)
SELECT _nid(h.run_key, h.base + n.position) AS nid, h.stage, n.name, r.distance AS hops, n.op_type, h.method, h.path
FROM here AS h
JOIN read_parquet(_files(_run_of(p_nid), 'nodes')) AS n ON n.graph_hash = h.graph_hash
JOIN reached AS r ON r.position = n.position AND r.position <> h.asked
ORDER BY r.distance, n.position;

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
SELECT d.nid, d.stage, d.name, r.distance AS hops, d.op_type, d.method, d.path
FROM reached AS r JOIN _run_nodes(_run_of(p_nid)) AS d ON d.ordinal = r.ordinal
WHERE r.ordinal <> _ordinal(p_nid)
ORDER BY r.distance, d.nid;

-- Uses within the graph of a node, as nids, each pair once.
CREATE MACRO _graph_steps(p_nid) AS TABLE
SELECT DISTINCT _nid(g.run_key, g.base + e.src) AS src, _nid(g.run_key, g.base + e.dst) AS dst
FROM _run_graphs(_run_of(p_nid)) AS g
JOIN read_parquet(_files(_run_of(p_nid), 'edges')) AS e ON e.graph_hash = g.graph_hash
WHERE _ordinal(p_nid) >= g.base AND _ordinal(p_nid) < g.base + g.nodes;
