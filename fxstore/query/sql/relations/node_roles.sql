CREATE VIEW node_roles AS
SELECT _nid(g.run_key, g.base + r.position) AS nid, r.role
FROM _run_graph AS g JOIN _roles AS r ON r.graph_hash = g.graph_hash;
