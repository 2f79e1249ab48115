CREATE VIEW sync_sets AS
SELECT r.run_id, _top(r.run_key, s.sync_set) AS sync_id, _nid(r.run_key, s.ordinal) AS nid, n.stage, n.name, s.is_primary,
       s.focus
FROM _runs AS r
JOIN _sync_sets AS s ON s.structure_hash = r.structure_hash
JOIN _structure_nodes AS n ON n.structure_hash = s.structure_hash AND n.ordinal = s.ordinal;
COMMENT ON VIEW sync_sets IS 'One row per member of a set: all nodes of a run that are one computation. Sets may overlap.';
COMMENT ON COLUMN sync_sets.run_id IS 'The run.';
COMMENT ON COLUMN sync_sets.sync_id IS 'The set; never equal to a nid.';
COMMENT ON COLUMN sync_sets.nid IS 'The member.';
COMMENT ON COLUMN sync_sets.stage IS 'Stage of the member.';
COMMENT ON COLUMN sync_sets.name IS 'Name of the member.';
COMMENT ON COLUMN sync_sets.is_primary IS 'True for the member that holds the value of the computation in its stage.';
COMMENT ON COLUMN sync_sets.focus IS 'True in the one set that a click on the node shows.';
