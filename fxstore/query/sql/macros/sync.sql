CREATE MACRO sync(stage, node, run := NULL, method := NULL, path := NULL) AS TABLE
SELECT s.nid, s.stage, s.name, s.method, s.path, s.is_primary, s.evidence, s.asked_nid, s.sync_id
FROM _sync(run, (SELECT list(a.ordinal) FROM _named(run, stage, node, method, path) AS a)) AS s
ORDER BY s.asked_nid, s.stage_index, NOT s.is_primary, s.nid;
COMMENT ON MACRO TABLE sync IS 'The nodes of all stages that are one computation with a node: the set that a click on it shows. A node without a counterpart gives its own row only. Where the name stands in several graphs of the stage, the answer for each (asked_nid tells which), unless method and path choose one. evidence is the strongest for the link to the side of the asked node; NULL for the node itself.
Example: SELECT stage, name, is_primary, evidence FROM sync(''float'', ''conv2d'')';
