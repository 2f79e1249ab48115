-- All roles of each node of a run's graphs of training steps.
CREATE MACRO _training_roles(p_run) AS TABLE
WITH every AS (SELECT n.graph, n.nid, n.roles FROM _whole_nodes(p_run) AS n),
training AS (
    SELECT DISTINCT e.graph FROM every AS e WHERE list_has_any(e.roles, ['tangent', 'forward', 'backward'])
)
SELECT e.nid, e.roles FROM every AS e SEMI JOIN training AS t ON t.graph = e.graph;
