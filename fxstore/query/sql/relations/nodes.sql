CREATE VIEW nodes AS
SELECT _nid(g.run_key, g.base + n.position) AS nid, _top(g.run_key, g.graph) AS graph_id, g.run_id, g.stage, g.method,
       g.path, n.position, n.name, n.op, n.target, n.op_type, n.role, n.dtype, n.shape, n.device, n.module_path,
       n.module_type, n.module_call, n.backend, n.source_file, n.source_line, n.source_code, n.fingerprint, n.attrs,
       n.ports, g.stage_index
FROM _run_graph AS g JOIN _nodes AS n ON n.graph_hash = g.graph_hash;
