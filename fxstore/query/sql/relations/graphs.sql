CREATE VIEW graphs AS
SELECT _top(g.run_key, g.graph) AS graph_id, g.run_id, g.stage, g.stage_index, g.method, g.path,
       _nid(g.run_key, g.parent) AS parent_nid, g.graph_hash AS fingerprint, g.nodes
FROM _run_graph AS g;
COMMENT ON VIEW graphs IS 'One row per graph: a stage holds one per method, and the graphs nested in it.';
COMMENT ON COLUMN graphs.graph_id IS 'The graph; never equal to a nid.';
COMMENT ON COLUMN graphs.run_id IS 'The run.';
COMMENT ON COLUMN graphs.stage IS 'The stage.';
COMMENT ON COLUMN graphs.stage_index IS 'Place of the stage in the pipeline, from 0.';
COMMENT ON COLUMN graphs.method IS 'Entry point, forward for most.';
COMMENT ON COLUMN graphs.path IS 'Empty at the top, else the nested graph''s: true_graph_0, lowered_module_0/...';
COMMENT ON COLUMN graphs.parent_nid IS 'The node that calls it; NULL at the top.';
COMMENT ON COLUMN graphs.fingerprint IS 'Hash of its content: equal graphs of any run have equal fingerprints.';
COMMENT ON COLUMN graphs.nodes IS 'Number of its nodes.';
