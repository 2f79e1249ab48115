"""Questions about the graphs of a store, as methods: each asks the table macro of its name."""

from __future__ import annotations

from fxstore.query import guard
from fxstore.query.hints import literal
from fxstore.query.motif import Statement
from fxstore.query.named import Named
from fxstore.query.result import Result


class GraphQuestions(Named):
    """What a store can be asked about ways, neighbours and patterns."""

    def ancestors(self, nid: int, hops: int | None = None, nested: bool = False) -> Result:
        """Returns the nodes from which a node's value is computed.

        Args:
            hops: At most that far; default: any distance.
            nested: Go on into and out of nested graphs.

        Raises:
            QueryError: No node has that nid.
        """
        return self._around("nested_ancestors" if nested else "ancestors", nid, hops)

    def descendants(self, nid: int, hops: int | None = None, nested: bool = False) -> Result:
        """Returns the nodes that a node's value goes into; arguments as in :meth:`ancestors`.

        Raises:
            QueryError: No node has that nid.
        """
        return self._around("nested_descendants" if nested else "descendants", nid, hops)

    def neighbourhood(self, nid: int, hops: int = 1) -> Result:
        """Returns the nodes at most so many uses away from a node, in either direction.

        Raises:
            QueryError: No node has that nid.
        """
        return self._around("neighbourhood", nid, hops)

    def nodes_between(self, a: int, b: int) -> Result:
        """Returns the nodes on any way from ``a`` to ``b``, both included.

        Raises:
            QueryError: No node has that nid.
        """
        return self._of_two("nodes_between", a, b)

    def shortest_path(self, a: int, b: int) -> Result:
        """Returns the nodes on a shortest way from ``a`` to ``b``, both included, in order.

        Raises:
            QueryError: No node has that nid.
        """
        return self._of_two("shortest_path", a, b)

    def common_ancestors(self, a: int, b: int) -> Result:
        """Returns the nodes from which both ``a`` and ``b`` are computed, the nearest first.

        Raises:
            QueryError: No node has that nid.
        """
        return self._of_two("common_ancestors", a, b)

    def subgraph(self, module: str, run: str | None = None, stage: str | None = None) -> Result:
        """Returns the nodes of a module and of the modules in it.

        Raises:
            QueryError: The run has no such stage, or no such module.
        """
        return self._call("subgraph", [module], run=run, stage=stage)

    def match(self, pattern: str, stage: str | None = None, run: str | None = None, nested: bool = False) -> Result:
        """Returns one row per match of a pattern of operators, such as ``conv* -> *batch_norm*? -> relu``.

        Args:
            pattern: As ``docs/query.md`` describes it.
            stage: Where to look; default: in every stage.
            nested: Follow values into and out of nested graphs.

        Returns:
            nids and names (the matched nodes, in the order of the pattern), stage, method, path (of the first node).

        Raises:
            QueryError: The text is no pattern, or the run has no such stage or metric.
        """
        statement = Statement(pattern, nested)
        for metric in statement.metrics or (None,):
            self._check_call("match", {"metric": metric, "stage": stage, "run": run})
        found = self.existing_run(run)
        params = {"run": found.run_id, "stage": stage, **statement.params}
        given = {"stage": stage, "run": run, "nested": nested or None}
        options = "".join(f", {name} := {literal(value)}" for name, value in given.items() if value is not None)
        shown = f"match({literal(pattern)}{options})"
        terms = [("op_type", kind) for kind in statement.kinds]

        def why_empty() -> str:
            apart = "each operator of the pattern is there, but nowhere connected so, with these conditions"
            return self._why_empty(terms, found, stage) or apart

        return self._result(guard.Checked(statement.text, gives_few=True), params, shown, why_empty)

    def _around(self, macro: str, nid: int, hops: int | None) -> Result:
        return self._call(macro, [nid], hops=hops)

    def _of_two(self, macro: str, a: int, b: int) -> Result:
        return self._call(macro, [a, b])
