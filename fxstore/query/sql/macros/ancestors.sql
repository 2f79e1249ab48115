CREATE MACRO ancestors(nid, hops := NULL) AS TABLE
FROM _reached(nid, hops, true);
COMMENT ON MACRO TABLE ancestors IS 'The nodes of the same graph from which a node''s value is computed, nearest first; hops is the length of the shortest way. With hops, only those at most that far.
Example: SELECT name, hops FROM ancestors({nid}, hops := 3)';
