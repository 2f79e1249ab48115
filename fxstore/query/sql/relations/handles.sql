CREATE VIEW handles AS
SELECT _nid(g.run_key, g.base + h.position) AS nid, g.run_id, g.method, h.namespace, h.handle
FROM _run_graph AS g JOIN _handles AS h ON h.graph_hash = g.graph_hash;
