CREATE VIEW metrics AS
SELECT _top(m.run_key, m.overlay) AS overlay_id, r.run_id, _nid(m.run_key, m.ordinal) AS nid, m.port, m.metric, m.value,
       m.text, m.status, m.reason, m.scope, _nid(m.run_key, m.ref) AS ref_nid, m.sample, coalesce(m.unit, o.unit) AS unit,
       coalesce(m.better, o.better, d.better) AS better, m.threshold, m.verdict
FROM _metrics AS m
JOIN _runs AS r ON r.run_key = m.run_key
JOIN _overlays AS o ON o.run_key = m.run_key AND o.overlay = m.overlay
LEFT JOIN _known_metrics AS d ON d.metric = m.metric;
COMMENT ON VIEW metrics IS 'One row per measured value of a (node, port), or the reason why there is none.';
COMMENT ON COLUMN metrics.overlay_id IS 'Its overlay.';
COMMENT ON COLUMN metrics.run_id IS 'The run.';
COMMENT ON COLUMN metrics.nid IS 'The node; NULL for what belongs to the run, such as a framework event.';
COMMENT ON COLUMN metrics.port IS 'Output of the node, from 0.';
COMMENT ON COLUMN metrics.metric IS 'Name of the metric: cosine, mse, sqnr, p90_ms, ...';
COMMENT ON COLUMN metrics.value IS 'The number, NaN and infinity included; NULL only where there is none.';
COMMENT ON COLUMN metrics.text IS 'The category, for an overlay of categories; else NULL.';
COMMENT ON COLUMN metrics.status IS 'ok, non_finite or not_measured.';
COMMENT ON COLUMN metrics.reason IS 'Why there is no number, or why it is not finite; else NULL.';
COMMENT ON COLUMN metrics.scope IS 'local (this operator alone), cumulative (all up to it), or NULL.';
COMMENT ON COLUMN metrics.ref_nid IS 'Node that it was compared with, or NULL.';
COMMENT ON COLUMN metrics.sample IS 'Which input it was measured on, from 0, or NULL.';
COMMENT ON COLUMN metrics.unit IS 'Its unit: 1 for a ratio, dB, ns, bytes, value for the tensor''s own; or NULL.';
COMMENT ON COLUMN metrics.better IS 'higher or lower; NULL where neither is.';
COMMENT ON COLUMN metrics.threshold IS 'The last number that is still good; NULL where none was set.';
COMMENT ON COLUMN metrics.verdict IS 'pass or fail by the threshold, a number that is not finite fails; NULL without a threshold or a number.';
