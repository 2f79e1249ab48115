CREATE VIEW runs AS
SELECT run_id, name, model, created_at, status, tags, versions, nodes FROM _runs ORDER BY created_at DESC, run_id;
COMMENT ON VIEW runs IS 'One row per run: one compile (and, where there is one, execution) of one model, newest first.';
COMMENT ON COLUMN runs.run_id IS 'Eight hexadecimal digits that name the run.';
COMMENT ON COLUMN runs.name IS 'Name given at ingest; several runs may share one.';
COMMENT ON COLUMN runs.model IS 'Name of the model, or NULL.';
COMMENT ON COLUMN runs.created_at IS 'When the run was committed, UTC.';
COMMENT ON COLUMN runs.status IS 'complete, or partial where the recording was left by an error.';
COMMENT ON COLUMN runs.tags IS 'Tags given at ingest.';
COMMENT ON COLUMN runs.versions IS 'Versions of the packages that compiled it.';
COMMENT ON COLUMN runs.nodes IS 'Number of nodes in all its graphs.';
