CREATE MACRO nodes_between(a, b) AS TABLE
WITH down AS MATERIALIZED (
    SELECT x.nid, x.hops FROM descendants(a) AS x UNION ALL SELECT a::BIGINT, 0
),
up AS MATERIALIZED (
    SELECT x.nid FROM ancestors(b) AS x UNION ALL SELECT b::BIGINT
)
SELECT d.nid, d.stage, d.name, f.hops, d.op_type, d.method, d.path
FROM down AS f JOIN up AS t ON t.nid = f.nid
JOIN _run_nodes(_run_of(a)) AS d ON d.nid = f.nid
ORDER BY d.nid;
COMMENT ON MACRO TABLE nodes_between IS 'The nodes on any way from a to b within one graph, both ends included, in program order; none where b is not reached from a. hops counts from a.
Example: SELECT name, hops FROM nodes_between({nid}, {nid})';
