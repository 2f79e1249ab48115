CREATE VIEW saved_tensors AS
WITH sizes AS (
    SELECT m.nid,
           max(CASE WHEN m.metric = 'saved_bytes' THEN m.value END) AS bytes,
           max(CASE WHEN m.metric = 'new_bytes' THEN m.value END) AS new_bytes,
           max(CASE WHEN m.metric = 'new_bytes' THEN m.text END) AS what
    FROM metrics AS m JOIN overlays AS o ON o.overlay_id = m.overlay_id
    WHERE o.kind = 'static' AND o.source = 'forward graph' AND m.metric IN ('saved_bytes', 'new_bytes')
    GROUP BY m.nid
),
taken AS (
    SELECT l.src_nid, min(b.nid) AS backward_nid
    FROM links AS l JOIN nodes AS b ON b.nid = l.dst_nid
    WHERE b.op = 'placeholder' AND b.role = 'saved' GROUP BY l.src_nid
),
readers AS (
    SELECT e.src_nid, count(DISTINCT e.dst_nid) AS readers
    FROM edges AS e WHERE e.src_nid IN (SELECT t.backward_nid FROM taken AS t) GROUP BY e.src_nid
)
SELECT n.run_id, n.nid, t.backward_nid, n.stage, n.method, n.name, n.op_type, n.target, n.role, n.dtype, n.shape,
       CAST(s.bytes AS BIGINT) AS bytes, CAST(s.new_bytes AS BIGINT) AS new_bytes,
       CASE WHEN s.what IS NULL THEN 'tensor' WHEN s.what = 'input' THEN 'input'
            WHEN s.what LIKE 'view of input %' THEN 'view of input' ELSE 'view' END AS kind,
       CASE WHEN s.what LIKE 'view of input %' THEN substr(s.what, 15)
            WHEN s.what LIKE 'view of %' THEN substr(s.what, 9) END AS view_of,
       coalesce(r.readers, 0) AS readers, n.module_path, n.source_file, n.source_line
FROM sizes AS s
JOIN nodes AS n ON n.nid = s.nid
LEFT JOIN taken AS t ON t.src_nid = s.nid
LEFT JOIN readers AS r ON r.src_nid = t.backward_nid;
