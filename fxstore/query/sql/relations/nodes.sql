CREATE VIEW nodes AS
SELECT _nid(g.run_key, g.base + n.position) AS nid, _top(g.run_key, g.graph) AS graph_id, g.run_id, g.stage, g.method,
       g.path, n.position, n.name, n.op, n.target, n.op_type, n.role, n.dtype, n.shape, n.device, n.module_path,
       n.module_type, n.module_call, n.backend, n.source_file, n.source_line, n.source_code, n.fingerprint, n.attrs,
       n.ports, g.stage_index
FROM _run_graph AS g JOIN _nodes AS n ON n.graph_hash = g.graph_hash;
COMMENT ON VIEW nodes IS 'One row per node of every graph.';
COMMENT ON COLUMN nodes.nid IS 'The node, unique in the store; any column that holds nids makes a result renderable.';
COMMENT ON COLUMN nodes.graph_id IS 'Its graph.';
COMMENT ON COLUMN nodes.run_id IS 'Its run.';
COMMENT ON COLUMN nodes.stage IS 'Its stage.';
COMMENT ON COLUMN nodes.method IS 'Entry point of its graph.';
COMMENT ON COLUMN nodes.path IS 'Path of its graph, empty at the top.';
COMMENT ON COLUMN nodes.position IS 'Topological place in its graph, from 0.';
COMMENT ON COLUMN nodes.name IS 'Name, unique in its graph only.';
COMMENT ON COLUMN nodes.op IS 'placeholder, get_attr, call_function, call_module, call_method or output.';
COMMENT ON COLUMN nodes.target IS 'What it calls, such as aten.conv2d.default.';
COMMENT ON COLUMN nodes.op_type IS 'Operator without namespace, overload and dialect: conv2d.';
COMMENT ON COLUMN nodes.role IS 'Main role: input, parameter, buffer, constant, op, output, symint, token, subgraph, delegate, ...';
COMMENT ON COLUMN nodes.dtype IS 'Type of output port 0; NULL for what is no tensor.';
COMMENT ON COLUMN nodes.shape IS 'Shape of output port 0, symbols as text; NULL for what is no tensor.';
COMMENT ON COLUMN nodes.device IS 'Device of output port 0, or NULL.';
COMMENT ON COLUMN nodes.module_path IS 'Path of the module that it came from, or NULL.';
COMMENT ON COLUMN nodes.module_type IS 'Type of that module, or NULL.';
COMMENT ON COLUMN nodes.module_call IS 'Which call of that module instance, from 1; NULL without a module.';
COMMENT ON COLUMN nodes.backend IS 'Backend that runs it, or NULL.';
COMMENT ON COLUMN nodes.source_file IS 'File of the innermost source line of the user''s own, or NULL.';
COMMENT ON COLUMN nodes.source_line IS 'Number of that line, from 1, or NULL.';
COMMENT ON COLUMN nodes.source_code IS 'Text of that line, or NULL.';
COMMENT ON COLUMN nodes.fingerprint IS 'Hash of operator, type and inputs: equal under renaming and renumbering.';
COMMENT ON COLUMN nodes.attrs IS 'JSON object: constant arguments, further outputs, quantisation parameters; or NULL.';
COMMENT ON COLUMN nodes.ports IS 'Number of output values.';
COMMENT ON COLUMN nodes.stage_index IS 'Place of its stage in the pipeline, from 0.';
