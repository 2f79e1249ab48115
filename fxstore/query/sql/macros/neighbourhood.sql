CREATE MACRO neighbourhood(nid, hops := 1) AS TABLE
FROM _reached(nid, hops, NULL);
COMMENT ON MACRO TABLE neighbourhood IS 'The nodes of the same graph at most so many uses away from a node, in either direction, nearest first; hops is the length of the shortest way.
Example: SELECT name, hops FROM neighbourhood({nid}, hops := 2)';
