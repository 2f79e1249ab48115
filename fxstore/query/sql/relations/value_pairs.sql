CREATE VIEW value_pairs AS
WITH staged AS (
    SELECT v.structure_hash, v.value_class, v.ordinal, v.port, v.evidence, g.stage_index
    FROM _value_classes AS v
    JOIN _graphs AS g ON g.structure_hash = v.structure_hash AND v.ordinal >= g.base AND v.ordinal < g.base + g.nodes
)
SELECT r.run_id, _nid(r.run_key, a.ordinal) AS ref_nid, a.port AS ref_port, _nid(r.run_key, b.ordinal) AS nid, b.port,
       CASE WHEN _strength(a.evidence) > _strength(b.evidence) AND a.evidence IS NOT NULL
            THEN a.evidence ELSE coalesce(b.evidence, a.evidence) END AS evidence
FROM _runs AS r
JOIN staged AS a ON a.structure_hash = r.structure_hash
JOIN staged AS b ON b.structure_hash = a.structure_hash AND b.value_class = a.value_class AND b.stage_index > a.stage_index;
