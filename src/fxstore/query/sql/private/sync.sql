-- The focus sets of some nodes of a run, given as a list of ordinals.
CREATE MACRO _sync(p_run, p_ordinals) AS TABLE
WITH asked AS MATERIALIZED (SELECT unnest(p_ordinals)::INTEGER AS ordinal),
focused AS MATERIALIZED (
    SELECT a.ordinal AS asked, s.sync_set
    FROM asked AS a JOIN _run_sync_sets(p_run) AS s ON s.ordinal = a.ordinal AND s.focus
),
members AS MATERIALIZED (
    SELECT f.asked, f.sync_set, s.ordinal, s.is_primary
    FROM focused AS f JOIN _run_sync_sets(p_run) AS s ON s.sync_set = f.sync_set
    UNION ALL
    SELECT a.ordinal, NULL, a.ordinal, true FROM asked AS a WHERE a.ordinal NOT IN (SELECT f.asked FROM focused AS f)
),
inside AS (
    SELECT a.asked, a.ordinal AS src, b.ordinal AS dst, l.evidence
    FROM _run_links(p_run) AS l
    JOIN members AS a ON a.ordinal = l.src
    JOIN members AS b ON b.ordinal = l.dst AND b.asked = a.asked
),
-- A later member is known by its link from before, an earlier one by its link to after.
known AS (
    SELECT i.asked, i.dst AS ordinal, i.evidence FROM inside AS i WHERE i.dst > i.asked
    UNION ALL
    SELECT i.asked, i.src, i.evidence FROM inside AS i WHERE i.src < i.asked
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
