CREATE MACRO nested_descendants(nid, hops := NULL) AS TABLE
FROM _reached_nested(nid, hops, false);
COMMENT ON MACRO TABLE nested_descendants IS 'As descendants, but through nested graphs, as in nested_ancestors.
Example: SELECT name, path, hops FROM nested_descendants({nid}, hops := 3)';
