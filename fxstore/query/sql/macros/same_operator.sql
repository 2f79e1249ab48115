CREATE MACRO same_operator(operator) AS TABLE
FROM _same_operator(operator);
COMMENT ON MACRO TABLE same_operator IS 'One row per node of an operator (op_type) in the newest complete run of each model, a run''s name standing for its model where it names none: model, run_id, stage, nid, name, target, dtype, shape, module_path, backend, source_file, source_line.
Example: SELECT model, stage, name, shape FROM same_operator(''relu'')';
