CREATE VIEW unmatched AS
SELECT r.run_id, _nid(r.run_key, u.ordinal) AS nid, n.stage, n.name, u.towards, u.reason
FROM _runs AS r
JOIN _unmatched AS u ON u.structure_hash = r.structure_hash
JOIN _structure_nodes AS n ON n.structure_hash = u.structure_hash AND n.ordinal = u.ordinal;
COMMENT ON VIEW unmatched IS 'One row per node without a link to the stage before or after.';
COMMENT ON COLUMN unmatched.run_id IS 'The run.';
COMMENT ON COLUMN unmatched.nid IS 'The node.';
COMMENT ON COLUMN unmatched.stage IS 'Its stage.';
COMMENT ON COLUMN unmatched.name IS 'Its name.';
COMMENT ON COLUMN unmatched.towards IS 'The neighbouring stage in which it has no counterpart.';
COMMENT ON COLUMN unmatched.reason IS 'Why, as far as it is known.';
