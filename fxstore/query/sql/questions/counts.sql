-- One row per operator of each stage of each model (of each name, where runs name no model): in how many of its runs the
-- operator stands there, and how often at least and at most.
SELECT coalesce(r.model, r.name) AS model, s.stage, s.op_type, count(*) AS runs, min(s.nodes) AS fewest, max(s.nodes) AS most
FROM operators AS s JOIN _runs AS r ON r.run_id = s.run_id
GROUP BY coalesce(r.model, r.name), s.stage, s.op_type
ORDER BY model, stage, runs DESC, op_type;
