-- What a node shows in Model Explorer, of some stages of one run; graph by graph, in order.
CREATE MACRO _explorer_nodes(p_run, p_stages) AS TABLE
SELECT n.graph, n.nid, n.name, n.op, n.target, n.op_type, n.role, n.dtype, n.shape, n.ports, n.device, n.module_path,
       n.module_type, n.module_call, n.backend, n.source_file, n.source_line, n.source_code, n.attrs, u.reasons AS unmatched,
       h.handles
FROM _whole_nodes(p_run) AS n
LEFT JOIN (
    SELECT x.ordinal, string_agg(concat(x.towards, ': ', x.reason), '; ' ORDER BY x.towards) AS reasons
    FROM _run_unmatched(p_run) AS x GROUP BY x.ordinal
) AS u ON u.ordinal = n.ordinal
LEFT JOIN _debugger_handles(p_run) AS h ON h.nid = n.nid
WHERE n.stage IN (SELECT unnest(p_stages)) ORDER BY n.ordinal;
