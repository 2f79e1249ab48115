-- What the Python session fills; it also defines the functions _key(run), _files(run, relation), _own(run, relation),
-- _model_files(run, relation) and _all_files(relation), where a run is named by id or name, and NULL is the latest: one row per committed run, one per stage of it.
CREATE TABLE _runs (
    run_key BIGINT, run_id VARCHAR, name VARCHAR, model VARCHAR, created_at TIMESTAMP, status VARCHAR,
    tags MAP(VARCHAR, VARCHAR), versions MAP(VARCHAR, VARCHAR), structure_hash VARCHAR, nodes BIGINT
);
CREATE TABLE _stages (run_key BIGINT, stage VARCHAR, stage_index INTEGER, kind VARCHAR, status VARCHAR, note VARCHAR);
-- The metrics that fxstore itself defines: their direction, and their number for two equal tensors.
CREATE TABLE _known_metrics (metric VARCHAR, better VARCHAR, identical DOUBLE);

-- The direction of a metric: the row's, the overlay's, else what is known of the name, or of the kind: less time is better.
CREATE MACRO _better(of_row, of_overlay, of_name, kind) AS
    coalesce(of_row, of_overlay, of_name, CASE WHEN kind = 'latency' THEN 'lower' END);
-- The same for what ranks or judges: a metric of which nobody has said what is better is refused.
CREATE MACRO _directed(better, metric) AS CASE
    WHEN better IS NULL THEN error(concat('fxstore: no direction "', metric, '"')) ELSE better END;

-- A node's number in the store: 31 bits of run key, 22 bits of ordinal.
CREATE MACRO _nid(run_key, ordinal) AS (run_key::BIGINT << 22) | ordinal;
-- Ids of what is no node count down from the top of the run's range, so that none is ever the nid of a node.
CREATE MACRO _top(run_key, index) AS (run_key::BIGINT << 22) | (4194303 - index);
CREATE MACRO _ordinal(p_nid) AS (p_nid::BIGINT & 4194303)::INTEGER;
CREATE MACRO _run_of(p_nid) AS printf('%08x', p_nid::BIGINT >> 22);
