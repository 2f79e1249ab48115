CREATE VIEW stages AS
SELECT r.run_id, s.stage, s.stage_index, s.kind, s.status, s.note
FROM _stages AS s JOIN _runs AS r ON r.run_key = s.run_key
ORDER BY r.created_at DESC, r.run_id, s.stage_index;
COMMENT ON VIEW stages IS 'One row per stage of a run, in pipeline order.';
COMMENT ON COLUMN stages.run_id IS 'The run.';
COMMENT ON COLUMN stages.stage IS 'Name of the stage, unique within the run.';
COMMENT ON COLUMN stages.stage_index IS 'Place in the pipeline, from 0.';
COMMENT ON COLUMN stages.kind IS 'graph, exported, edge, lowered, runtime or trace.';
COMMENT ON COLUMN stages.status IS 'complete, partial or failed.';
COMMENT ON COLUMN stages.note IS 'What is missing and why, or NULL.';
