CREATE VIEW handles AS
SELECT _nid(g.run_key, g.base + h.position) AS nid, g.run_id, g.method, h.namespace, h.handle
FROM _run_graph AS g JOIN _handles AS h ON h.graph_hash = g.graph_hash;
COMMENT ON VIEW handles IS 'One row per handle of a node. A handle is valid only inside its run, method and namespace.';
COMMENT ON COLUMN handles.nid IS 'The node.';
COMMENT ON COLUMN handles.run_id IS 'The run.';
COMMENT ON COLUMN handles.method IS 'Entry point that the handle belongs to.';
COMMENT ON COLUMN handles.namespace IS 'Numbering that it belongs to: debug_handle or instruction.';
COMMENT ON COLUMN handles.handle IS 'The number.';
