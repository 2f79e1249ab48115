CREATE VIEW samples AS
SELECT _top(m.run_key, m.overlay) AS overlay_id, r.run_id, m.sample, m.text AS name
FROM _metrics AS m JOIN _runs AS r ON r.run_key = m.run_key
WHERE m.metric = 'sample_name' AND m.ordinal IS NULL;
