CREATE MACRO shortest_path(a, b) AS TABLE
WITH RECURSIVE far AS MATERIALIZED (
    SELECT x.nid, x.hops FROM descendants(a) AS x UNION ALL SELECT a::BIGINT, 0
),
steps AS MATERIALIZED (FROM _graph_steps(a)),
-- From b back to a, each step to a node that is one nearer to a; of several, the first in program order.
way(nid, hops) AS (
    SELECT f.nid, f.hops FROM far AS f WHERE f.nid = b
    UNION ALL
    SELECT min(p.nid), w.hops - 1
    FROM way AS w JOIN steps AS s ON s.dst = w.nid JOIN far AS p ON p.nid = s.src AND p.hops = w.hops - 1
    GROUP BY w.hops
)
SELECT d.nid, d.stage, d.name, w.hops, d.op_type, d.method, d.path
FROM way AS w JOIN _run_nodes(_run_of(a)) AS d ON d.nid = w.nid
ORDER BY w.hops;
COMMENT ON MACRO TABLE shortest_path IS 'The nodes on a shortest way from a to b within one graph, both ends included, in order; none where b is not reached from a. Of several ways of that length, the one that comes first in program order.
Example: SELECT name, hops FROM shortest_path({nid}, {nid})';
