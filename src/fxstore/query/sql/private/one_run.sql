-- The tables of one run, named by id or name (NULL: the latest). The path of each file is computed from the argument,
-- so only that run's files are opened, however many runs there are.
CREATE MACRO _run_graphs(p_run) AS TABLE
SELECT ('0x' || _run(p_run).run_id)::BIGINT AS run_key, g.*
FROM main._graphs AS g WHERE g.structure_hash = _structure(p_run);

CREATE MACRO _run_nodes(p_run) AS TABLE
SELECT _nid(g.run_key, g.base + n.position) AS nid, g.base + n.position AS ordinal,
       g.graph, g.stage, g.stage_index, g.method, g.path, n.*
FROM _run_graphs(p_run) AS g
JOIN read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).nodes, _no_run(p_run))) AS n
  ON n.graph_hash = g.graph_hash;

CREATE MACRO _run_edges(p_run) AS TABLE
SELECT g.graph, g.base + e.src AS src, e.src_port, g.base + e.dst AS dst, e.dst_arg, e.position
FROM _run_graphs(p_run) AS g
JOIN read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).edges, _no_run(p_run))) AS e
  ON e.graph_hash = g.graph_hash;

CREATE MACRO _run_sources(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).sources, _no_run(p_run)));

CREATE MACRO _run_origins(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).origins, _no_run(p_run)));

CREATE MACRO _run_links(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).links, _no_run(p_run)));

CREATE MACRO _run_sync_sets(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).sync_sets, _no_run(p_run)));

CREATE MACRO _run_ancestors(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).ancestors, _no_run(p_run)));

CREATE MACRO _run_unmatched(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_files_' || _structure(p_run)).unmatched, _no_run(p_run)));

CREATE MACRO _run_overlays(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_runs_directory') || _run(p_run).run_id || '/overlays.parquet', _no_run(p_run)[1]));

CREATE MACRO _run_metrics(p_run) AS TABLE
FROM read_parquet(coalesce(getvariable('_runs_directory') || _run(p_run).run_id || '/metrics.parquet', _no_run(p_run)[1]));

-- Where values flow, as ordinals: within graphs, from a call's arguments to the placeholders of the graph that it
-- calls, and from that graph's output back to the call.
CREATE MACRO _run_flow(p_run) AS TABLE
WITH edges AS MATERIALIZED (SELECT e.src, e.dst FROM _run_edges(p_run) AS e),
called AS (SELECT g.graph, g.parent FROM _run_graphs(p_run) AS g WHERE g.parent IS NOT NULL),
border AS (
    SELECT n.ordinal, n.op, c.parent
    FROM _run_nodes(p_run) AS n JOIN called AS c ON c.graph = n.graph
    WHERE n.op IN ('placeholder', 'output')
)
SELECT src, dst FROM edges
UNION
SELECT e.src, b.ordinal FROM edges AS e JOIN border AS b ON b.parent = e.dst AND b.op = 'placeholder'
UNION
SELECT b.ordinal, b.parent FROM border AS b WHERE b.op = 'output';
