CREATE VIEW delegation AS
WITH calls AS (
    SELECT n.structure_hash, n.ordinal, n.stage, n.name, n.backend
    FROM _structure_nodes AS n WHERE n.role = 'delegate'
),
inner_graphs AS (
    SELECT c.structure_hash, c.ordinal, g.graph_hash, g.nodes
    FROM calls AS c JOIN _graphs AS g ON g.structure_hash = c.structure_hash AND g.parent = c.ordinal
),
sizes AS (
    SELECT i.structure_hash, i.ordinal, count(*) AS inner_nodes, count(*) FILTER (WHERE n.op LIKE 'call_%') AS inner_ops
    FROM inner_graphs AS i JOIN _nodes AS n ON n.graph_hash = i.graph_hash GROUP BY i.structure_hash, i.ordinal
),
handle_lists AS (
    SELECT i.structure_hash, i.ordinal, list(DISTINCT h.handle ORDER BY h.handle) AS handles
    FROM inner_graphs AS i JOIN _handles AS h ON h.graph_hash = i.graph_hash
    WHERE h.namespace = 'debug_handle' GROUP BY i.structure_hash, i.ordinal
)
SELECT r.run_id, _nid(r.run_key, c.ordinal) AS nid, c.backend, coalesce(s.inner_nodes, 0) AS inner_nodes,
       coalesce(h.handles, []::BIGINT[]) AS handles, coalesce(s.inner_ops, 0) AS inner_ops, c.stage, c.name
FROM _runs AS r
JOIN calls AS c ON c.structure_hash = r.structure_hash
LEFT JOIN sizes AS s ON s.structure_hash = c.structure_hash AND s.ordinal = c.ordinal
LEFT JOIN handle_lists AS h ON h.structure_hash = c.structure_hash AND h.ordinal = c.ordinal;
