-- Pairs of equal graphs of two runs, stage by stage: all their nodes correspond, position by position.
CREATE MACRO _equal_graphs(p_base, p_head) AS TABLE
WITH b AS (SELECT g.*, row_number() OVER (PARTITION BY g.stage, g.method, g.graph_hash ORDER BY g.graph) AS place
           FROM _run_graphs(p_base) AS g),
h AS (SELECT g.*, row_number() OVER (PARTITION BY g.stage, g.method, g.graph_hash ORDER BY g.graph) AS place
      FROM _run_graphs(p_head) AS g)
SELECT b.graph AS base_graph, h.graph AS head_graph, b.base AS base_start, h.base AS head_start, b.nodes
FROM b JOIN h ON b.stage = h.stage AND b.method = h.method AND b.graph_hash = h.graph_hash AND b.place = h.place;

-- The nodes of some graphs of a run with their keys for matching against another run, from the surest to the weakest.
CREATE MACRO _keyed_nodes(p_run, p_without) AS TABLE
SELECT n.ordinal, [
    hash(n.stage, n.method, n.path, n.op_type, n.role, n.fingerprint, n.module_path, n.module_call, n.name),
    hash(n.stage, n.method, n.path, n.op_type, n.role, n.fingerprint, n.module_path, n.module_call),
    hash(n.stage, n.method, n.path, n.op_type, n.role, n.module_path, n.module_call, n.name),
    hash(n.stage, n.method, n.path, n.op_type, n.role, n.module_path, n.module_call),
    hash(n.stage, n.method, n.path, n.op_type, n.role, n.fingerprint)] AS keys
FROM _run_nodes(p_run) AS n
WHERE n.graph NOT IN (SELECT unnest(p_without));

-- One row per pair of nodes that are the same node in two runs; equal is true where their whole graphs are equal. Each
-- step pairs what the surer ones left: equal keys, in program order.
CREATE MACRO _matched(p_base, p_head) AS TABLE
WITH RECURSIVE equals AS MATERIALIZED (FROM _equal_graphs(p_base, p_head)),
steps(step, side, ordinal, keys, partner) AS (
    SELECT 0, 0, b.ordinal, b.keys, NULL::INTEGER
    FROM _keyed_nodes(p_base, (SELECT list(e.base_graph) FROM equals AS e)) AS b
    UNION ALL
    SELECT 0, 1, h.ordinal, h.keys, NULL::INTEGER
    FROM _keyed_nodes(p_head, (SELECT list(e.head_graph) FROM equals AS e)) AS h
    UNION ALL
    SELECT p.step + 1, p.side, p.ordinal, p.keys,
           CASE p.side WHEN 0 THEN max(p.ordinal) FILTER (p.side = 1) OVER same
                       ELSE max(p.ordinal) FILTER (p.side = 0) OVER same END
    FROM (
        SELECT s.*, s.keys[s.step + 1] AS key,
               row_number() OVER (PARTITION BY s.side, s.keys[s.step + 1] ORDER BY s.ordinal) AS place
        FROM steps AS s WHERE s.partner IS NULL AND s.step < 5
    ) AS p
    WINDOW same AS (PARTITION BY p.key, p.place)
)
SELECT s.ordinal AS base, s.partner AS head, false AS equal FROM steps AS s WHERE s.side = 0 AND s.partner IS NOT NULL
UNION ALL
SELECT e.base_start + i.range, e.head_start + i.range, true FROM equals AS e, range(e.nodes) AS i;
