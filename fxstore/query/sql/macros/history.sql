CREATE MACRO history(stage, node, metric, run := NULL, method := NULL, path := NULL) AS TABLE
FROM _history(stage, node, metric, run, method, path);
COMMENT ON MACRO TABLE history IS 'One row per run of the model (of that name, where the run names no model), oldest first: what the metric of one node was. The node is that of the given run; in a run with another graph it is the node with the same operator and, in this order of preference, the same surroundings, module and name; matched_by says which (graph, fingerprint, module, name), nid is NULL where none or no single one is. value is the worst over ports and samples, of a latency the median; reason says why there is none.
Example: SELECT run, created_at, value FROM history(''edge'', ''relu_1'', ''cosine'')';
