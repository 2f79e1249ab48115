CREATE VIEW overlays AS
SELECT _top(o.run_key, o.overlay) AS overlay_id, r.run_id, o.name, o.kind, o.source, o.unit, o.better
FROM _overlays AS o JOIN _runs AS r ON r.run_key = o.run_key;
COMMENT ON VIEW overlays IS 'One row per overlay: a named set of metrics or categories with one source. The largest of a run''s overlay_id is its oldest overlay.';
COMMENT ON COLUMN overlays.overlay_id IS 'The overlay; never equal to a nid.';
COMMENT ON COLUMN overlays.run_id IS 'The run.';
COMMENT ON COLUMN overlays.name IS 'Name, as the macros take it.';
COMMENT ON COLUMN overlays.kind IS 'accuracy, latency, category, static or statistics.';
COMMENT ON COLUMN overlays.source IS 'Where its numbers come from.';
COMMENT ON COLUMN overlays.unit IS 'Unit of its values, or NULL.';
COMMENT ON COLUMN overlays.better IS 'higher or lower; NULL where neither is, or each metric has its own direction.';
