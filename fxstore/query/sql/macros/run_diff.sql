CREATE MACRO run_diff(base, head) AS TABLE
SELECT c.change, _nid(_key(base), c.base) AS base_nid, _nid(_key(head), c.head) AS head_nid, c.stage, c.name, c.detail,
       c.method, c.path
FROM _run_changes(base, head) AS c
ORDER BY c.change = 'same', coalesce(c.head, c.base), c.base NULLS FIRST;
COMMENT ON MACRO TABLE run_diff IS 'One row per node of either run, those that are the same last. change is changed (operator overload, type, shape, backend or constants), rewired (other inputs), moved (another module or call of it, another graph, another place in the order), renamed (another name, or its whole module has another), same, added or removed; the first that holds. detail says all that differs, old -> new. Nodes are matched within stage and method by structure: operator, type, constants, what is around them, module; names and order only where these leave a choice. A run is named by id or name.
Example: SELECT change, stage, name, detail FROM run_diff({run}, {run}) WHERE change <> ''same''';
