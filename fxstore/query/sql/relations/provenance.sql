CREATE VIEW provenance AS
SELECT _nid(g.run_key, g.base + c.position) AS nid, c.hop, c.branch, s.name AS ancestor_name,
       _nid(g.run_key, a.ordinal) AS ancestor_nid, s.pass_name, s.action, s.target AS ancestor_target, g.run_id
FROM _chain AS c
JOIN _sources AS s ON s.graph_hash = c.graph_hash AND s.source = c.source
JOIN _run_graph AS g ON g.graph_hash = c.graph_hash
LEFT JOIN _ancestors AS a ON a.structure_hash = g.structure_hash AND a.graph = g.graph AND a.source = c.source;
