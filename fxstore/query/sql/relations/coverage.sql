CREATE VIEW coverage AS
WITH said AS (
    SELECT m.run_key, m.overlay, m.ordinal, bool_or(m.value IS NOT NULL OR m.text IS NOT NULL) AS measured,
           _kind_of_reason(min(m.reason)) AS reason
    FROM _metrics AS m WHERE m.ordinal IS NOT NULL GROUP BY m.run_key, m.overlay, m.ordinal
),
placed AS (
    SELECT s.*, g.stage
    FROM said AS s JOIN _run_graph AS g
      ON g.run_key = s.run_key AND s.ordinal >= g.base AND s.ordinal < g.base + g.nodes
),
expected AS (
    SELECT o.run_key, o.overlay, n.stage, n.ordinal, false AS measured, 'no data' AS reason
    FROM (SELECT DISTINCT p.run_key, p.overlay, p.stage FROM placed AS p) AS o
    JOIN _runs AS r ON r.run_key = o.run_key
    JOIN _structure_nodes AS n ON n.structure_hash = r.structure_hash AND n.stage = o.stage AND n.op LIKE 'call_%'
    ANTI JOIN said AS s ON s.run_key = o.run_key AND s.overlay = o.overlay AND s.ordinal = n.ordinal
),
counted AS (
    SELECT e.run_key, e.overlay, e.stage, e.measured, e.reason, count(*) AS nodes
    FROM (SELECT p.run_key, p.overlay, p.stage, p.measured, CASE WHEN NOT p.measured THEN p.reason END AS reason
          FROM placed AS p
          UNION ALL SELECT x.run_key, x.overlay, x.stage, x.measured, x.reason FROM expected AS x) AS e
    GROUP BY e.run_key, e.overlay, e.stage, e.measured, e.reason
)
SELECT r.run_id, _top(c.run_key, c.overlay) AS overlay_id, c.stage, sum(c.nodes)::BIGINT AS nodes,
       coalesce(sum(c.nodes) FILTER (WHERE c.measured), 0)::BIGINT AS measured,
       coalesce(sum(c.nodes) FILTER (WHERE NOT c.measured), 0)::BIGINT AS not_measured,
       map_from_entries(coalesce(list((c.reason, c.nodes) ORDER BY c.nodes DESC, c.reason) FILTER (WHERE NOT c.measured),
                                 [])) AS reasons
FROM counted AS c JOIN _runs AS r ON r.run_key = c.run_key
GROUP BY c.run_key, r.run_id, c.overlay, c.stage;
