-- The focus sets of some nodes of a run, given as a list of ordinals.
CREATE MACRO _sync(p_run, p_ordinals) AS TABLE
WITH sets AS MATERIALIZED (FROM read_parquet(_files(p_run, 'sync_sets'))),
members AS MATERIALIZED (
    SELECT a.asked, f.sync_set, coalesce(s.ordinal, a.asked) AS ordinal, coalesce(s.is_primary, true) AS is_primary
    FROM (SELECT unnest(p_ordinals)::INTEGER AS asked) AS a
    LEFT JOIN sets AS f ON f.ordinal = a.asked AND f.focus
    LEFT JOIN sets AS s ON s.sync_set = f.sync_set
),
-- A later member is known by its link from before, an earlier one by its link to after.
known AS (
    SELECT a.asked, l.evidence,
           unnest([CASE WHEN l.dst > a.asked THEN l.dst END, CASE WHEN l.src < a.asked THEN l.src END]) AS ordinal
    FROM read_parquet(_files(p_run, 'links')) AS l
    JOIN members AS a ON a.ordinal = l.src
    JOIN members AS b ON b.ordinal = l.dst AND b.asked = a.asked
),
strongest AS (
    SELECT k.asked, k.ordinal, arg_min(k.evidence, _strength(k.evidence)) AS evidence FROM known AS k GROUP BY ALL
)
SELECT d.nid, d.stage, d.stage_index, d.name, d.method, d.path, m.is_primary,
       CASE WHEN m.ordinal <> m.asked THEN k.evidence END AS evidence,
       _nid(d.nid >> 22, m.asked) AS asked_nid, _top(d.nid >> 22, m.sync_set) AS sync_id
FROM members AS m
JOIN _run_nodes(p_run) AS d ON d.ordinal = m.ordinal
LEFT JOIN strongest AS k ON k.asked = m.asked AND k.ordinal = m.ordinal;
