CREATE VIEW node_roles AS
SELECT _nid(g.run_key, g.base + r.position) AS nid, r.role
FROM _run_graph AS g JOIN _roles AS r ON r.graph_hash = g.graph_hash;
COMMENT ON VIEW node_roles IS 'One row per role of a node: nodes.role has the main one, this has all.';
COMMENT ON COLUMN node_roles.nid IS 'The node.';
COMMENT ON COLUMN node_roles.role IS 'One of its roles; training graphs add tangent, forward, backward, saved, recomputed, ...';
