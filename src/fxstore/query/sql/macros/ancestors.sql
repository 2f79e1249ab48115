CREATE MACRO ancestors(nid, hops := NULL) AS TABLE
WITH RECURSIVE edges AS MATERIALIZED (
    SELECT e.src, e.dst FROM _run_edges(_run_of(nid)) AS e
    WHERE e.graph = (SELECT g.graph FROM _run_graphs(_run_of(nid)) AS g
                     WHERE _ordinal(nid) >= g.base AND _ordinal(nid) < g.base + g.nodes)
),
reached(ordinal, distance) USING KEY (ordinal, min(distance)) AS (
    SELECT _ordinal(nid), 0
    UNION
    SELECT e.src, r.distance + 1 FROM reached AS r JOIN edges AS e ON e.dst = r.ordinal
    WHERE hops IS NULL OR r.distance < hops
)
SELECT d.nid, d.stage, d.name, r.distance AS hops, d.op_type, d.method, d.path
FROM reached AS r JOIN _run_nodes(_run_of(nid)) AS d ON d.ordinal = r.ordinal
WHERE r.ordinal <> _ordinal(nid)
ORDER BY r.distance, d.nid;
COMMENT ON MACRO TABLE ancestors IS 'The nodes of the same graph from which a node''s value is computed, nearest first; hops is the length of the shortest way. With hops, only those at most that far.
Example: SELECT name, hops FROM ancestors({nid}, hops := 3)';
