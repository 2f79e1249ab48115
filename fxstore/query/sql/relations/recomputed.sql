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
COMMENT ON VIEW recomputed IS 'One row per operator of a training step that runs in its forward graph and again in its backward graph.';
COMMENT ON COLUMN recomputed.run_id IS 'The run.';
COMMENT ON COLUMN recomputed.nid IS 'The operator in the forward graph.';
COMMENT ON COLUMN recomputed.backward_nid IS 'The operator in the backward graph.';
COMMENT ON COLUMN recomputed.stage IS 'Stage of the forward graph.';
COMMENT ON COLUMN recomputed.method IS 'Its method.';
COMMENT ON COLUMN recomputed.name IS 'Name in the forward graph.';
COMMENT ON COLUMN recomputed.op_type IS 'The operator.';
COMMENT ON COLUMN recomputed.target IS 'Its target.';
COMMENT ON COLUMN recomputed.dtype IS 'Element type of its value.';
COMMENT ON COLUMN recomputed.shape IS 'Sizes as text; symbols keep their name.';
COMMENT ON COLUMN recomputed.bytes IS 'Size of its value, which is not kept; NULL where the shape is symbolic.';
COMMENT ON COLUMN recomputed.flops IS 'Floating-point operations that the second run costs; NULL where they are not known.';
COMMENT ON COLUMN recomputed.module_path IS 'Module that computes it.';
COMMENT ON COLUMN recomputed.source_file IS 'File of the line that computes it.';
COMMENT ON COLUMN recomputed.source_line IS 'That line.';
