CREATE VIEW overlays AS
SELECT _top(o.run_key, o.overlay) AS overlay_id, r.run_id, o.name, o.kind, o.source, o.unit, o.better
FROM _overlays AS o JOIN _runs AS r ON r.run_key = o.run_key;
