CREATE MACRO common_ancestors(a, b) AS TABLE
WITH of_a AS MATERIALIZED (SELECT x.nid, x.hops FROM ancestors(a) AS x UNION ALL SELECT a::BIGINT, 0),
of_b AS MATERIALIZED (SELECT x.nid, x.hops FROM ancestors(b) AS x UNION ALL SELECT b::BIGINT, 0),
common AS MATERIALIZED (
    SELECT x.nid, x.hops AS hops_a, y.hops AS hops_b FROM of_a AS x JOIN of_b AS y ON y.nid = x.nid
)
SELECT d.nid, d.stage, d.name, c.hops_a + c.hops_b AS hops, c.hops_a, c.hops_b, p.src IS NULL AS is_nearest,
       d.op_type, d.method, d.path
FROM common AS c
LEFT JOIN (SELECT DISTINCT s.src FROM _graph_steps(a) AS s JOIN common AS n ON n.nid = s.dst) AS p ON p.src = c.nid
JOIN _run_nodes(_run_of(a)) AS d ON d.nid = c.nid
ORDER BY p.src IS NOT NULL, c.hops_a + c.hops_b, d.nid;
COMMENT ON MACRO TABLE common_ancestors IS 'The nodes of one graph from which both a and b are computed; a node counts as its own ancestor. hops_a and hops_b are the lengths of the shortest ways to each, hops their sum. is_nearest is true where no other common ancestor lies between: the nodes at which the ways of a and b part.
Example: SELECT name, hops FROM common_ancestors({nid}, {nid}) WHERE is_nearest';
