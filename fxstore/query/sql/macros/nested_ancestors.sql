CREATE MACRO nested_ancestors(nid, hops := NULL) AS TABLE
FROM _reached_nested(nid, hops, true);
COMMENT ON MACRO TABLE nested_ancestors IS 'As ancestors, but through nested graphs: a value flows from a call''s arguments into the placeholders of the graph that it calls, and from that graph''s output back to the call.
Example: SELECT name, path, hops FROM nested_ancestors({nid}, hops := 3)';
