CREATE VIEW provenance AS
SELECT _nid(g.run_key, g.base + c.position) AS nid, c.hop, c.branch, s.name AS ancestor_name,
       _nid(g.run_key, a.ordinal) AS ancestor_nid, s.pass_name, s.action, s.target AS ancestor_target, g.run_id
FROM _chain AS c
JOIN _sources AS s ON s.graph_hash = c.graph_hash AND s.source = c.source
JOIN _run_graph AS g ON g.graph_hash = c.graph_hash
LEFT JOIN _ancestors AS a ON a.structure_hash = g.structure_hash AND a.graph = g.graph AND a.source = c.source;
COMMENT ON VIEW provenance IS 'One row per hop of the chain of ancestors that a node names about itself, as the compiler recorded it.';
COMMENT ON COLUMN provenance.nid IS 'The node.';
COMMENT ON COLUMN provenance.hop IS 'Distance in the chain: 1 is the nearest ancestor.';
COMMENT ON COLUMN provenance.branch IS 'Number of the chain, from 0, where a node has several.';
COMMENT ON COLUMN provenance.ancestor_name IS 'Name of the ancestor.';
COMMENT ON COLUMN provenance.ancestor_nid IS 'The ancestor, where its graph is in the run; else NULL.';
COMMENT ON COLUMN provenance.pass_name IS 'Pass that made the step.';
COMMENT ON COLUMN provenance.action IS 'What it did: create, replace, ...';
COMMENT ON COLUMN provenance.ancestor_target IS 'Target of the ancestor.';
COMMENT ON COLUMN provenance.run_id IS 'The run.';
