-- The tables of all runs, each file once. Views over these join on hashes; nothing here is per run.
-- Other engines run these views and the relations, too: fxstore.engines.portable says what of SQL may stand in them.
CREATE VIEW _graphs AS FROM read_parquet(_all_files('graphs'));
CREATE VIEW _nodes AS FROM read_parquet(_all_files('nodes'));
CREATE VIEW _edges AS FROM read_parquet(_all_files('edges'));
CREATE VIEW _sources AS FROM read_parquet(_all_files('sources'));
CREATE VIEW _origins AS
SELECT o.graph_hash, o.position, o.origin.branch AS branch, o.origin.source AS source
FROM (SELECT n.graph_hash, n.position, unnest(n.origins) AS origin FROM _nodes AS n) AS o;
CREATE VIEW _handles AS
SELECT h.graph_hash, h.position, h.held.namespace AS namespace, h.held.handle AS handle
FROM (SELECT n.graph_hash, n.position, unnest(n.handles) AS held FROM _nodes AS n) AS h;
CREATE VIEW _roles AS SELECT n.graph_hash, n.position, unnest(n.roles) AS role FROM _nodes AS n;
CREATE VIEW _links AS FROM read_parquet(_all_files('links'));
CREATE VIEW _sync_sets AS FROM read_parquet(_all_files('sync_sets'));
CREATE VIEW _value_classes AS FROM read_parquet(_all_files('value_classes'));
CREATE VIEW _ancestors AS FROM read_parquet(_all_files('ancestors'));
CREATE VIEW _unmatched AS FROM read_parquet(_all_files('unmatched'));
CREATE VIEW _overlays AS FROM read_parquet(_all_files('overlays'));
CREATE VIEW _metrics AS FROM read_parquet(_all_files('metrics'));

-- One row per graph of a run.
CREATE VIEW _run_graph AS
SELECT r.run_key, r.run_id, g.*
FROM _runs AS r JOIN _graphs AS g ON g.structure_hash = r.structure_hash;

-- One row per node of a structure: joined to runs by structure_hash, to what is keyed by ordinal by both.
CREATE VIEW _structure_nodes AS
SELECT g.structure_hash, g.base + n.position AS ordinal, g.graph, g.stage, g.stage_index, g.method, g.path, n.*
FROM _graphs AS g JOIN _nodes AS n ON n.graph_hash = g.graph_hash;

-- Of each source at most one parent, and one that stands before it, as it is written: so every chain ends.
CREATE VIEW _parents AS
SELECT s.graph_hash, s.source, max(CASE WHEN s.parent < s.source THEN s.parent END) AS parent
FROM _sources AS s GROUP BY s.graph_hash, s.source;

-- One row per hop of each chain of ancestors.
CREATE VIEW _chain AS
WITH RECURSIVE chain AS (
    SELECT o.graph_hash, o.position, o.branch, 1 AS hop, o.source FROM _origins AS o
    UNION ALL
    SELECT c.graph_hash, c.position, c.branch, c.hop + 1 AS hop, s.parent AS source
    FROM chain AS c JOIN _parents AS s ON s.graph_hash = c.graph_hash AND s.source = c.source
    WHERE s.parent IS NOT NULL
)
SELECT c.graph_hash, c.position, c.branch, c.hop::INTEGER AS hop, c.source FROM chain AS c;
