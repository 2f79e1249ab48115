CREATE VIEW links AS
SELECT r.run_id, _nid(r.run_key, l.src) AS src_nid, _nid(r.run_key, l.dst) AS dst_nid, l.evidence, l.inferred, l.note
FROM _runs AS r JOIN _links AS l ON l.structure_hash = r.structure_hash;
COMMENT ON VIEW links IS 'One row per correspondence: this node became that node.';
COMMENT ON COLUMN links.run_id IS 'The run.';
COMMENT ON COLUMN links.src_nid IS 'Node in the earlier stage.';
COMMENT ON COLUMN links.dst_nid IS 'Node in the later stage.';
COMMENT ON COLUMN links.evidence IS 'identity, from_node, handle, signature, delegate, observer, structure or name.';
COMMENT ON COLUMN links.inferred IS 'True where the compiler did not record it: structure and name.';
COMMENT ON COLUMN links.note IS 'Remark, or NULL.';
