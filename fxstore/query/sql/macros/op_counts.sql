CREATE MACRO op_counts(run := NULL, stage := NULL) AS TABLE
FROM _op_counts(run, stage);
COMMENT ON MACRO TABLE op_counts IS 'One row per operator of each stage of a run, or of one stage, the most frequent first: stage, op_type, nodes (how many, nested graphs included), delegated (how many of them in a backend''s graph), nids (which).
Example: SELECT stage, op_type, nodes FROM op_counts(run := {run})';
