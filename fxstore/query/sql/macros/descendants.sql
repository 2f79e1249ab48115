CREATE MACRO descendants(nid, hops := NULL) AS TABLE
FROM _reached(nid, hops, false);
COMMENT ON MACRO TABLE descendants IS 'The nodes of the same graph that a node''s value goes into, nearest first; hops is the length of the shortest way. With hops, only those at most that far.
Example: SELECT name, hops FROM descendants({nid}, hops := 3)';
