CREATE VIEW edges AS
SELECT _top(g.run_key, g.graph) AS graph_id, g.run_id, _nid(g.run_key, g.base + e.src) AS src_nid, e.src_port,
       _nid(g.run_key, g.base + e.dst) AS dst_nid, e.dst_arg, e.position
FROM _run_graph AS g JOIN _edges AS e ON e.graph_hash = g.graph_hash;
COMMENT ON VIEW edges IS 'One row per use of a value: x + x is two.';
COMMENT ON COLUMN edges.graph_id IS 'The graph of both ends.';
COMMENT ON COLUMN edges.run_id IS 'The run.';
COMMENT ON COLUMN edges.src_nid IS 'Node that gives the value.';
COMMENT ON COLUMN edges.src_port IS 'Which of its outputs, from 0.';
COMMENT ON COLUMN edges.dst_nid IS 'Node that uses it.';
COMMENT ON COLUMN edges.dst_arg IS 'Argument path: 0, 0[1], alpha.';
COMMENT ON COLUMN edges.position IS 'Place among the uses by that node, from 0.';
