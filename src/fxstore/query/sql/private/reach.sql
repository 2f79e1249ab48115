-- The nodes of a node's graph that it reaches along the edges, or against them, with the length of the shortest way.
CREATE MACRO _reached(p_nid, p_hops, p_backward) AS TABLE
WITH RECURSIVE steps AS MATERIALIZED (
    SELECT CASE WHEN p_backward THEN e.dst ELSE e.src END AS here,
           CASE WHEN p_backward THEN e.src ELSE e.dst END AS there
    FROM _run_edges(_run_of(p_nid)) AS e
    WHERE e.graph = (SELECT g.graph FROM _run_graphs(_run_of(p_nid)) AS g
                     WHERE _ordinal(p_nid) >= g.base AND _ordinal(p_nid) < g.base + g.nodes)
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
