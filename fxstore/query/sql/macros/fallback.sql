CREATE MACRO fallback(run := NULL, stage := NULL, overlay := NULL) AS TABLE
FROM _fallback(run, stage, overlay);
COMMENT ON MACRO TABLE fallback IS 'One row per operator that no backend took, the most expensive first, in the last stage in which a backend took any (the last stage, where none did): op_type, nodes (how many), time (sum of their median latencies; NULL where none is measured), unit (of that time, such as ns), share (of the time of all nodes of the stage), measured (how many of them have a time), nids (which).
Example: SELECT op_type, nodes, time, unit, share FROM fallback(run := {run})';
