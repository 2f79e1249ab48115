-- The accuracy numbers of a run: of each node the newest overlay, of that the first scope in which it was measured,
-- and of each metric there the worst sample, aggregated as in a ranking. verdict is 'fail' where any of these fails.
CREATE MACRO _debugger_numbers(p_run) AS TABLE
WITH newest AS (
    SELECT m.* FROM _aggregated(p_run, NULL) AS m WHERE m.kind = 'accuracy'
    QUALIFY dense_rank() OVER (PARTITION BY m.ordinal ORDER BY m.overlay DESC, m.scope_order) = 1
)
SELECT _nid(_key(p_run), n.ordinal) AS nid, n.overlay_name AS overlay, n.scope, n.metric, n.value, n.status, n.reason,
       min(n.verdict) OVER (PARTITION BY n.ordinal, n.metric) AS verdict,
       count(DISTINCT n.sample) OVER (PARTITION BY n.ordinal) AS samples
FROM newest AS n
QUALIFY row_number() OVER (PARTITION BY n.ordinal, n.metric ORDER BY n.value IS NULL, n.broken, n.cost, n.sample) = 1
ORDER BY nid, n.metric;

CREATE MACRO _debugger_handles(p_run) AS TABLE
SELECT _nid(g.run_key, g.base + h.position) AS nid, array_to_string(list_sort(list(DISTINCT h.handle)), ' ') AS handles
FROM _run_graphs(p_run) AS g JOIN _handles AS h ON h.graph_hash = g.graph_hash
WHERE h.namespace = 'debug_handle' GROUP BY ALL ORDER BY nid;
