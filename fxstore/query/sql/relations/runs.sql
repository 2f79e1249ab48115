CREATE VIEW runs AS
SELECT run_id, name, model, created_at, status, tags, versions, nodes FROM _runs ORDER BY created_at DESC, run_id;
