CREATE VIEW operators AS
WITH in_graph AS (
    SELECT n.graph_hash, n.op_type, count(*) AS nodes
    FROM _nodes AS n WHERE starts_with(n.op, 'call_') GROUP BY n.graph_hash, n.op_type
),
in_structure AS (
    SELECT g.structure_hash, g.stage, g.stage_index, c.op_type, sum(c.nodes)::BIGINT AS nodes
    FROM _graphs AS g JOIN in_graph AS c ON c.graph_hash = g.graph_hash
    GROUP BY g.structure_hash, g.stage, g.stage_index, c.op_type
)
SELECT r.run_id, s.stage, s.op_type, s.nodes, s.stage_index
FROM _runs AS r JOIN in_structure AS s ON s.structure_hash = r.structure_hash;
