-- All roles of each node of a run's graphs of training steps.
CREATE MACRO _training_roles(p_run) AS TABLE
WITH every AS (SELECT n.graph, n.nid, n.roles FROM _whole_nodes(p_run) AS n),
training AS (
    SELECT DISTINCT e.graph FROM every AS e WHERE list_has_any(e.roles, ['tangent', 'forward', 'backward'])
)
SELECT e.nid, e.roles FROM every AS e SEMI JOIN training AS t ON t.graph = e.graph;

-- Each value that a run's forward graphs save: its node there, and the backward graph's placeholder that takes it.
CREATE MACRO _training_saved(p_run) AS TABLE
WITH every AS (SELECT n.ordinal, n.nid, n.op, n.role, n.roles FROM _whole_nodes(p_run) AS n)
SELECT f.nid, b.nid AS backward_nid
FROM _run_links(p_run) AS l
JOIN every AS f ON f.ordinal = l.src
JOIN every AS b ON b.ordinal = l.dst
WHERE b.op = 'placeholder' AND b.role = 'saved' AND list_contains(f.roles, 'saved')
ORDER BY backward_nid, nid;
