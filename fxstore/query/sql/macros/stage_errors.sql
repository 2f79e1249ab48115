CREATE MACRO stage_errors(metric, threshold, run := NULL, scope := NULL) AS TABLE
FROM _stage_errors(metric, threshold, run, scope);
COMMENT ON MACRO TABLE stage_errors IS 'Which stage introduced an error: one row per measured stage of a run, in pipeline order. introduced is true where nodes are bad (as in first_bad) and no bad stage lies between this one and the stage that it was compared with; the row then names the node where it starts, with its source line and its counterparts. reference is that other stage, output the worst number of what the stage returns, worst the worst of all, bad and measured count nodes. Of each stage the newest accuracy overlay counts.
Example: SELECT stage, introduced, name, value FROM stage_errors(''cosine'', 0.99)';
