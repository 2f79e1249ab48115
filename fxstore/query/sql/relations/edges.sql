CREATE VIEW edges AS
SELECT _top(g.run_key, g.graph) AS graph_id, g.run_id, _nid(g.run_key, g.base + e.src) AS src_nid, e.src_port,
       _nid(g.run_key, g.base + e.dst) AS dst_nid, e.dst_arg, e.position
FROM _run_graph AS g JOIN _edges AS e ON e.graph_hash = g.graph_hash;
