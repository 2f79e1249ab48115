CREATE VIEW links AS
SELECT r.run_id, _nid(r.run_key, l.src) AS src_nid, _nid(r.run_key, l.dst) AS dst_nid, l.evidence, l.inferred, l.note
FROM _runs AS r JOIN _links AS l ON l.structure_hash = r.structure_hash;
