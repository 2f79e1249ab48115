CREATE VIEW recomputed AS
WITH roles AS (SELECT r.nid FROM node_roles AS r WHERE r.role = 'recomputed'),
step AS (SELECT DISTINCT n.graph_id FROM nodes AS n WHERE n.role = 'tangent'),
costs AS (
    SELECT m.nid, max(CASE WHEN m.metric = 'flops' THEN m.value END) AS flops,
           max(CASE WHEN m.metric = 'activation_bytes' THEN m.value END) AS bytes
    FROM metrics AS m JOIN overlays AS o ON o.overlay_id = m.overlay_id
    WHERE o.kind = 'static' AND o.source = 'shapes' AND m.metric IN ('flops', 'activation_bytes')
      AND m.nid IN (SELECT r.nid FROM roles AS r)
    GROUP BY m.nid
)
SELECT f.run_id, f.nid, b.nid AS backward_nid, f.stage, f.method, f.name, f.op_type, f.target, f.dtype, f.shape,
       CAST(c.bytes AS BIGINT) AS bytes, CAST(c.flops AS BIGINT) AS flops,
       f.module_path, f.source_file, f.source_line
FROM nodes AS f
JOIN roles AS fr ON fr.nid = f.nid
JOIN links AS l ON l.src_nid = f.nid
JOIN nodes AS b ON b.nid = l.dst_nid
JOIN roles AS br ON br.nid = b.nid
LEFT JOIN costs AS c ON c.nid = f.nid
WHERE f.graph_id NOT IN (SELECT s.graph_id FROM step AS s);
