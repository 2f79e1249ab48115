CREATE VIEW graphs AS
SELECT _top(g.run_key, g.graph) AS graph_id, g.run_id, g.stage, g.stage_index, g.method, g.path,
       _nid(g.run_key, g.parent) AS parent_nid, g.graph_hash AS fingerprint, g.nodes
FROM _run_graph AS g;
