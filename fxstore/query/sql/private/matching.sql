-- The operator of a node; what calls nothing has its own name for one.
CREATE MACRO _operator(p_op, p_op_type) AS CASE WHEN starts_with(p_op, 'call_') THEN p_op_type ELSE p_op END;

-- What the matching needs of a run, each as one list: fxstore.query.diff.arrow has the types.
CREATE MACRO _matching_graphs(p_run) AS (
    SELECT list({'number': g.graph, 'stage': g.stage, 'stage_index': g.stage_index, 'method': g.method, 'path': g.path,
                 'parent': g.parent, 'content': g.graph_hash})
    FROM _run_graphs(p_run) AS g
);
CREATE MACRO _matching_nodes(p_run) AS (
    SELECT list({'ordinal': n.ordinal, 'graph': n.graph,
                 'label': hash(_operator(n.op, n.op_type), n.role, n.dtype, n.shape, n.attrs),
                 'kind': hash(_operator(n.op, n.op_type), n.role), 'name_hash': hash(n.name),
                 'module_call': n.module_call, 'leaf': (n.op IN ('placeholder', 'get_attr'))::INTEGER, 'name': n.name,
                 'target': CASE WHEN starts_with(n.op, 'call_') THEN n.target END, 'dtype': n.dtype,
                 'shape': n.shape::VARCHAR, 'backend': n.backend, 'attrs': n.attrs, 'module_path': n.module_path})
    FROM _whole_nodes(p_run) AS n
);
CREATE MACRO _matching_uses(p_run) AS (
    SELECT list({'src': e.src, 'dst': e.dst, 'slot': hash(e.dst_arg, e.src_port), 'argument': e.dst_arg,
                 'port': e.src_port})
    FROM _run_edges(p_run) AS e
);

-- One row per node of either run, as ordinals, with what became of it. _diff_runs is Python: fxstore.query.diff.
CREATE MACRO _run_changes(p_base, p_head) AS TABLE
SELECT unnest(_diff_runs(
    _matching_graphs(p_base), _matching_nodes(p_base), _matching_uses(p_base),
    _matching_graphs(p_head), _matching_nodes(p_head), _matching_uses(p_head)), max_depth := 2);
