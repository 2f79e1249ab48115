CREATE VIEW stages AS
SELECT r.run_id, s.stage, s.stage_index, s.kind, s.status, s.note
FROM _stages AS s JOIN _runs AS r ON r.run_key = s.run_key
ORDER BY r.created_at DESC, r.run_id, s.stage_index;
