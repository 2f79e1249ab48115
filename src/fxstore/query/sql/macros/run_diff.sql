CREATE MACRO run_diff(base, head) AS TABLE
WITH matched AS MATERIALIZED (SELECT m.base::INTEGER AS before, m.head::INTEGER AS after, m.equal FROM _matched(base, head) AS m),
b AS MATERIALIZED (SELECT n.* FROM _run_nodes(base) AS n),
h AS MATERIALIZED (SELECT n.* FROM _run_nodes(head) AS n),
-- Inputs of each matched node, those of the base named by what they became.
inputs_before AS (
    SELECT m.after, list((e.dst_arg, s.after, e.src_port) ORDER BY e.position) AS inputs
    FROM _run_edges(base) AS e
    JOIN matched AS m ON m.before = e.dst AND NOT m.equal
    LEFT JOIN matched AS s ON s.before = e.src
    GROUP BY m.after
),
inputs_after AS (
    SELECT e.dst AS after, list((e.dst_arg, e.src, e.src_port) ORDER BY e.position) AS inputs
    FROM _run_edges(head) AS e SEMI JOIN matched AS m ON m.after = e.dst AND NOT m.equal GROUP BY e.dst
),
compared AS (
    SELECT b.nid AS base_nid, h.nid AS head_nid, h.stage, h.name, h.method, h.path, h.stage_index, h.ordinal,
        concat_ws('; ',
            CASE WHEN b.target IS DISTINCT FROM h.target AND b.op LIKE 'call_%' THEN concat('target ', b.target, ' -> ', h.target) END,
            CASE WHEN b.dtype IS DISTINCT FROM h.dtype THEN concat('dtype ', b.dtype, ' -> ', h.dtype) END,
            CASE WHEN b.shape IS DISTINCT FROM h.shape THEN concat('shape ', b.shape::VARCHAR, ' -> ', h.shape::VARCHAR) END,
            CASE WHEN b.backend IS DISTINCT FROM h.backend THEN concat('backend ', b.backend, ' -> ', h.backend) END,
            CASE WHEN b.attrs IS DISTINCT FROM h.attrs THEN concat('attrs ', b.attrs, ' -> ', h.attrs) END) AS changed,
        coalesce(i.inputs, []) IS DISTINCT FROM coalesce(j.inputs, []) AS rewired,
        concat_ws('; ',
            CASE WHEN b.module_path IS DISTINCT FROM h.module_path OR b.module_call IS DISTINCT FROM h.module_call
                 THEN concat('module ', b.module_path, ' -> ', h.module_path) END,
            CASE WHEN b.path <> h.path THEN concat('graph ', b.path, ' -> ', h.path) END) AS moved,
        CASE WHEN b.name <> h.name THEN concat('name ', b.name, ' -> ', h.name) END AS renamed
    FROM (FROM matched AS x WHERE NOT x.equal) AS m
    JOIN b ON b.ordinal = m.before
    JOIN h ON h.ordinal = m.after
    LEFT JOIN inputs_before AS i ON i.after = m.after
    LEFT JOIN inputs_after AS j ON j.after = m.after
)
SELECT d.* EXCLUDE (stage_index, ordinal) FROM (
    SELECT CASE WHEN c.changed <> '' THEN 'changed' WHEN c.rewired THEN 'rewired' WHEN c.moved <> '' THEN 'moved'
                WHEN c.renamed IS NOT NULL THEN 'renamed' ELSE 'same' END AS change,
           c.base_nid, c.head_nid, c.stage, c.name,
           nullif(concat_ws('; ', nullif(c.changed, ''), CASE WHEN c.rewired THEN 'other inputs' END, nullif(c.moved, ''), c.renamed), '') AS detail,
           c.method, c.path, c.stage_index, c.ordinal
    FROM compared AS c
    UNION ALL
    SELECT CASE WHEN b.path = h.path THEN 'same' ELSE 'moved' END, b.nid, h.nid, h.stage, h.name,
           CASE WHEN b.path <> h.path THEN concat('graph ', b.path, ' -> ', h.path) END, h.method, h.path, h.stage_index, h.ordinal
    FROM (FROM matched AS x WHERE x.equal) AS m JOIN b ON b.ordinal = m.before JOIN h ON h.ordinal = m.after
    UNION ALL
    SELECT 'removed', b.nid, NULL, b.stage, b.name, NULL, b.method, b.path, b.stage_index, b.ordinal
    FROM b ANTI JOIN matched AS m ON m.before = b.ordinal
    UNION ALL
    SELECT 'added', NULL, h.nid, h.stage, h.name, NULL, h.method, h.path, h.stage_index, h.ordinal
    FROM h ANTI JOIN matched AS m ON m.after = h.ordinal
) AS d
ORDER BY d.stage_index, d.ordinal, d.change;
COMMENT ON MACRO TABLE run_diff IS 'One row per node of either run. change is same, moved (to another module or graph), renamed, rewired (other inputs), changed (operator overload, type, shape, backend or constants), added or removed; the first that holds, in the order changed, rewired, moved, renamed. detail says what, old -> new. Nodes are matched within stage and method by equal graph, then by operator with fingerprint, module and name, in program order; a run is named by id or name.
Example: SELECT change, stage, name, detail FROM run_diff({run}, {run}) WHERE change <> ''same''';
