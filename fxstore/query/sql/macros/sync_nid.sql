CREATE MACRO sync_nid(nid) AS TABLE
SELECT s.nid, s.stage, s.name, s.method, s.path, s.is_primary, s.evidence, s.asked_nid, s.sync_id
FROM _sync(_run_of(nid), [_ordinal(nid)]) AS s
ORDER BY s.stage_index, NOT s.is_primary, s.nid;
COMMENT ON MACRO TABLE sync_nid IS 'As sync, for the node with that nid.
Example: SELECT stage, name FROM sync_nid({nid})';
