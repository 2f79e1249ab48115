-- What the Python session fills: one row per committed run, one per stage of it.
CREATE TABLE _runs (
    run_key BIGINT, run_id VARCHAR, name VARCHAR, model VARCHAR, created_at TIMESTAMP, status VARCHAR,
    tags MAP(VARCHAR, VARCHAR), versions MAP(VARCHAR, VARCHAR), structure_hash VARCHAR, nodes BIGINT
);
CREATE TABLE _stages (run_key BIGINT, stage VARCHAR, stage_index INTEGER, kind VARCHAR, status VARCHAR, note VARCHAR);
-- The graphs of every structure: small, and in almost every question.
CREATE TABLE _graphs AS FROM read_parquet(getvariable('_all_graphs')) LIMIT 0;
-- The metrics that fxstore itself defines: their direction, and their number for two equal tensors.
CREATE TABLE _known_metrics (metric VARCHAR, better VARCHAR, identical DOUBLE);

-- The rows of these tables, from the JSON texts of runs.
CREATE MACRO _runs_in(p_texts) AS TABLE
SELECT unnest(from_json(t.text, '{"run_key": "BIGINT", "run_id": "VARCHAR", "name": "VARCHAR", "model": "VARCHAR",
    "created_at": "VARCHAR", "status": "VARCHAR", "tags": "MAP(VARCHAR, VARCHAR)", "versions": "MAP(VARCHAR, VARCHAR)",
    "structure_hash": "VARCHAR", "nodes": "BIGINT"}'))
FROM (SELECT unnest(p_texts::VARCHAR[]) AS text) AS t;
CREATE MACRO _stages_in(p_texts) AS TABLE
SELECT s.run.run_key, unnest(s.run.stages, max_depth := 2)
FROM (
    SELECT from_json(t.text, '{"run_key": "BIGINT", "stages": [{"stage": "VARCHAR", "stage_index": "INTEGER",
        "kind": "VARCHAR", "status": "VARCHAR", "note": "VARCHAR"}]}') AS run
    FROM (SELECT unnest(p_texts::VARCHAR[]) AS text) AS t
) AS s;
-- Name or id to run id and structure.
CREATE MACRO _places(p_names, p_run_ids) AS (
    SELECT map(list(n.name), list({'run_id': r.run_id, 'structure': r.structure_hash}))
    FROM (SELECT unnest(p_names::VARCHAR[]) AS name, unnest(p_run_ids::VARCHAR[]) AS run_id) AS n JOIN main._runs AS r ON r.run_id = n.run_id
);

-- A node's number in the store: 31 bits of run key, 22 bits of ordinal.
CREATE MACRO _nid(run_key, ordinal) AS (run_key::BIGINT << 22) | ordinal;
-- Ids of what is no node count down from the top of the run's range, so that none is ever the nid of a node.
CREATE MACRO _top(run_key, index) AS (run_key::BIGINT << 22) | (4194303 - index);
CREATE MACRO _ordinal(p_nid) AS (p_nid::BIGINT & 4194303)::INTEGER;
CREATE MACRO _run_of(p_nid) AS printf('%08x', p_nid::BIGINT >> 22);

-- Run id and structure of a run named by id or name; the latest for NULL; NULL where there is none.
CREATE MACRO _run(p_run) AS getvariable('_names')[coalesce(p_run::VARCHAR, getvariable('_latest'))];
CREATE MACRO _structure(p_run) AS coalesce(_run(p_run).structure, '?');
CREATE MACRO _key(p_run) AS ('0x' || _run(p_run).run_id)::BIGINT;
CREATE MACRO _no_run(p_run) AS ['fxstore: no run ' || coalesce(p_run::VARCHAR, '')];

-- Strength of an evidence, the strongest first.
CREATE MACRO _strength(evidence) AS coalesce(list_position(
    ['identity', 'from_node', 'handle', 'signature', 'delegate', 'observer', 'structure', 'name'], evidence), 9);
