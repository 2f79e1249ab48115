-- The tables of one run, named by id or name (NULL: the latest). The path of each file that _read_… opens is computed from
-- the argument, so only that run's files are opened, however many runs there are. _run_… gives the same rows, from memory
-- where they are kept there: _source(run, relation) is the statement (fxstore.query.run_cache). Overlays and metrics may stand in
-- one file with those of other runs: _own(run, relation) is the statement that gives the run's.
CREATE MACRO _read_graphs(p_run) AS TABLE
SELECT _key(p_run) AS run_key, g.* FROM read_parquet(_files(p_run, 'graphs')) AS g;
CREATE MACRO _run_graphs(p_run) AS TABLE FROM query(_source(p_run, 'graphs'));

-- Every column of a node.
CREATE MACRO _whole_nodes(p_run) AS TABLE
SELECT _nid(g.run_key, g.base + n.position) AS nid, g.base + n.position AS ordinal,
       g.graph, g.stage, g.stage_index, g.method, g.path, n.*
FROM _read_graphs(p_run) AS g JOIN read_parquet(_files(p_run, 'nodes')) AS n ON n.graph_hash = g.graph_hash;

CREATE MACRO _read_nodes(p_run) AS TABLE
SELECT n.nid, n.ordinal, n.graph, n.stage, n.stage_index, n.method, n.path, n.name, n.op, n.target, n.op_type, n.role,
       n.dtype, n.module_path, n.module_type, n.module_call, n.backend, n.source_file, n.source_line
FROM _whole_nodes(p_run) AS n;
CREATE MACRO _run_nodes(p_run) AS TABLE FROM query(_source(p_run, 'nodes'));

CREATE MACRO _read_edges(p_run) AS TABLE
SELECT g.graph, g.base + e.src AS src, e.src_port, g.base + e.dst AS dst, e.dst_arg, e.position
FROM _read_graphs(p_run) AS g JOIN read_parquet(_files(p_run, 'edges')) AS e ON e.graph_hash = g.graph_hash;
CREATE MACRO _run_edges(p_run) AS TABLE FROM query(_source(p_run, 'edges'));

CREATE MACRO _read_links(p_run) AS TABLE FROM read_parquet(_files(p_run, 'links'));
CREATE MACRO _run_links(p_run) AS TABLE FROM query(_source(p_run, 'links'));

CREATE MACRO _read_sync_sets(p_run) AS TABLE FROM read_parquet(_files(p_run, 'sync_sets'));
CREATE MACRO _run_sync_sets(p_run) AS TABLE FROM query(_source(p_run, 'sync_sets'));

CREATE MACRO _run_sources(p_run) AS TABLE FROM read_parquet(_files(p_run, 'sources'));
CREATE MACRO _run_origins(p_run) AS TABLE
SELECT n.graph_hash, n.position, unnest(n.origins, recursive := true) FROM read_parquet(_files(p_run, 'nodes')) AS n;
CREATE MACRO _run_ancestors(p_run) AS TABLE FROM read_parquet(_files(p_run, 'ancestors'));
CREATE MACRO _run_unmatched(p_run) AS TABLE FROM read_parquet(_files(p_run, 'unmatched'));
CREATE MACRO _run_overlays(p_run) AS TABLE FROM query(_own(p_run, 'overlays'));
CREATE MACRO _run_metrics(p_run) AS TABLE FROM query(_own(p_run, 'metrics'));

-- Where values flow, as ordinals: within graphs, from a call's arguments to the placeholders of the graph that it
-- calls, and from that graph's output back to the call.
CREATE MACRO _read_flow(p_run) AS TABLE
WITH uses AS MATERIALIZED (SELECT e.src, e.dst FROM _run_edges(p_run) AS e),
called AS (SELECT g.graph, g.parent FROM _run_graphs(p_run) AS g WHERE g.parent IS NOT NULL),
border AS (
    SELECT n.ordinal, n.op, c.parent
    FROM _run_nodes(p_run) AS n JOIN called AS c ON c.graph = n.graph
    WHERE n.op IN ('placeholder', 'output')
)
SELECT src, dst FROM uses
UNION
SELECT e.src, b.ordinal FROM uses AS e JOIN border AS b ON b.parent = e.dst AND b.op = 'placeholder'
UNION
SELECT b.ordinal, b.parent FROM border AS b WHERE b.op = 'output';
CREATE MACRO _run_flow(p_run) AS TABLE FROM query(_source(p_run, 'flow'));
