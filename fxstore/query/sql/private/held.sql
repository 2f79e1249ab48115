-- What a run holds, for checking a name before it is asked for.
CREATE MACRO _held_nodes(p_run, p_stage) AS TABLE
SELECT n.name FROM _run_nodes(p_run) AS n WHERE n.stage = p_stage ORDER BY n.ordinal;

-- One row per overlay and metric in it; metric is NULL for an overlay without any; better where nobody has said.
CREATE MACRO _held_metrics(p_run) AS TABLE
SELECT DISTINCT o.name AS overlay, m.metric, _better(m.better, o.better, d.better, o.kind) AS better
FROM _run_overlays(p_run) AS o
LEFT JOIN _run_metrics(p_run) AS m ON m.overlay = o.overlay AND m.metric <> 'sample_name'
LEFT JOIN main._known_metrics AS d ON d.metric = m.metric;

-- The samples of a run by number and, where they have one, name.
CREATE MACRO _held_samples(p_run) AS TABLE
SELECT DISTINCT m.sample, n.text AS name
FROM _run_metrics(p_run) AS m LEFT JOIN _run_samples(p_run) AS n ON n.overlay = m.overlay AND n.sample = m.sample
WHERE m.sample IS NOT NULL ORDER BY ALL;

CREATE MACRO _held_modules(p_run) AS TABLE
SELECT DISTINCT n.module_path AS module FROM _run_nodes(p_run) AS n WHERE n.module_path IS NOT NULL ORDER BY ALL;
