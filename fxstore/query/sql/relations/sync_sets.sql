CREATE VIEW sync_sets AS
SELECT r.run_id, _top(r.run_key, s.sync_set) AS sync_id, _nid(r.run_key, s.ordinal) AS nid, n.stage, n.name, s.is_primary,
       s.focus
FROM _runs AS r
JOIN _sync_sets AS s ON s.structure_hash = r.structure_hash
JOIN _structure_nodes AS n ON n.structure_hash = s.structure_hash AND n.ordinal = s.ordinal;
