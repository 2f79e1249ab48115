-- The rows of _runs and _stages for the runs that came: new_runs has one per run, new_groups one per group of runs that have
-- stages, versions and structure in common, new_stages one per stage of such a group.
CREATE MACRO _runs_in() AS TABLE
SELECT r.run_key, r.run_id, r.name, r.model, r.created_at::TIMESTAMP AS created_at, r.status, r.tags, g.versions,
       g.structure_hash, g.nodes
FROM new_runs AS r JOIN new_groups AS g ON g.place = r.place;

CREATE MACRO _stages_in() AS TABLE
SELECT r.run_key, s.stage, s.stage_index, s.kind, s.status, s.note
FROM new_runs AS r JOIN new_stages AS s ON s.place = r.place;
