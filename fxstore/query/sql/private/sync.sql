-- The focus sets of some nodes of a run, given as a list of ordinals.
CREATE MACRO _sync(p_run, p_ordinals) AS TABLE
WITH members AS MATERIALIZED (
    SELECT a.asked, f.sync_set, coalesce(s.ordinal, a.asked) AS ordinal, coalesce(s.is_primary, true) AS is_primary
    FROM (SELECT unnest(p_ordinals)::INTEGER AS asked) AS a
    LEFT JOIN _run_sync_sets(p_run) AS f ON f.ordinal = a.asked AND f.focus
    LEFT JOIN _run_sync_sets(p_run) AS s ON s.sync_set = f.sync_set
),
-- A later member is known by its link from before, an earlier one by its link to after.
known AS (
    SELECT a.asked, l.evidence, unnest([l.dst, l.src]) AS ordinal, unnest([l.dst > a.asked, l.src < a.asked]) AS is_known
    FROM members AS a
    JOIN _run_links(p_run) AS l ON l.src = a.ordinal
    JOIN members AS b ON b.ordinal = l.dst AND b.asked = a.asked
),
strongest AS (
    SELECT k.asked, k.ordinal, arg_min(k.evidence, _strength(k.evidence)) AS evidence
    FROM known AS k WHERE k.is_known GROUP BY ALL
)
SELECT d.nid, d.stage, d.stage_index, d.name, d.method, d.path, m.is_primary,
       CASE WHEN m.ordinal <> m.asked THEN k.evidence END AS evidence,
       _nid(d.nid >> 22, m.asked) AS asked_nid, _top(d.nid >> 22, m.sync_set) AS sync_id
FROM members AS m
JOIN _run_nodes(p_run) AS d ON d.ordinal = m.ordinal
LEFT JOIN strongest AS k ON k.asked = m.asked AND k.ordinal = m.ordinal;
