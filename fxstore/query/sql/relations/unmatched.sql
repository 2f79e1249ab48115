CREATE VIEW unmatched AS
SELECT r.run_id, _nid(r.run_key, u.ordinal) AS nid, n.stage, n.name, u.towards, u.reason
FROM _runs AS r
JOIN _unmatched AS u ON u.structure_hash = r.structure_hash
JOIN _structure_nodes AS n ON n.structure_hash = u.structure_hash AND n.ordinal = u.ordinal;
