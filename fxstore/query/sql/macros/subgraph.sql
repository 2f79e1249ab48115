CREATE MACRO subgraph(module, run := NULL, stage := NULL) AS TABLE
WITH inside AS MATERIALIZED (
    SELECT n.* FROM _run_nodes(run) AS n
    WHERE (n.module_path = module OR starts_with(n.module_path, module || '.')) AND (stage IS NULL OR n.stage = stage)
),
borders AS (
    SELECT coalesce(s.ordinal, t.ordinal) AS ordinal, bool_or(s.ordinal IS NULL) AS enters, bool_or(t.ordinal IS NULL) AS leaves
    FROM _run_edges(run) AS e
    LEFT JOIN inside AS s ON s.ordinal = e.src
    LEFT JOIN inside AS t ON t.ordinal = e.dst
    WHERE (s.ordinal IS NULL) <> (t.ordinal IS NULL)
    GROUP BY ALL
)
SELECT i.nid, i.stage, i.name, i.op_type, i.module_path, i.module_call, coalesce(b.enters, false) AS enters,
       coalesce(b.leaves, false) AS leaves, i.method, i.path
FROM inside AS i LEFT JOIN borders AS b ON b.ordinal = i.ordinal
ORDER BY i.ordinal;
COMMENT ON MACRO TABLE subgraph IS 'The nodes of a module and of the modules in it, in every stage or in one, in program order. enters is true where a value comes in from outside of the module, leaves where one goes out.
Example: SELECT name, enters, leaves FROM subgraph(''c'')';
