CREATE VIEW metrics AS
SELECT _top(m.run_key, m.overlay) AS overlay_id, r.run_id, _nid(m.run_key, m.ordinal) AS nid, m.port, m.metric, m.value,
       m.text, m.status, m.reason, m.scope, _nid(m.run_key, m.ref) AS ref_nid, m.sample, coalesce(m.unit, o.unit) AS unit,
       _better(m.better, o.better, d.better, o.kind) AS better, m.threshold, m.verdict, _aggregation(o.kind, coalesce(m.unit, o.unit)) AS aggregation
FROM _metrics AS m
JOIN _runs AS r ON r.run_key = m.run_key
JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
LEFT JOIN _known_metrics AS d ON d.metric = m.metric
WHERE m.metric <> 'sample_name';
