-- The nodes of that name in a stage of a run, of one method or path where these are given; with their place in the graph.
CREATE MACRO _named(p_run, p_stage, p_node, p_method, p_path) AS TABLE
SELECT n.*, g.graph_hash, n.ordinal - g.base AS position
FROM _run_nodes(p_run) AS n JOIN _run_graphs(p_run) AS g ON g.graph = n.graph
WHERE n.stage = p_stage AND n.name = p_node
  AND (p_method IS NULL OR n.method = p_method) AND (p_path IS NULL OR n.path = p_path);
