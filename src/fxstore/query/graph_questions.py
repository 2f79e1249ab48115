"""Questions about the graphs of a store, as methods: each asks the table macro of its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fxstore.errors import UsageError

if TYPE_CHECKING:
    from fxstore.query.result import Result


class GraphQuestions(ABC):
    """What a store can be asked about ways, neighbours and patterns."""

    @abstractmethod
    def _call(self, macro: str, required: Sequence[object], **optional: object) -> Result: ...

    @abstractmethod
    def _check_nids(self, *nids: int) -> None: ...

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

    def _around(self, macro: str, nid: int, hops: int | None) -> Result:
        if hops is not None and (type(hops) is not int or hops < 1):
            raise UsageError(f"hops must be a whole number from 1, not {hops!r}")
        self._check_nids(nid)
        return self._call(macro, [nid], hops=hops)

    def _of_two(self, macro: str, a: int, b: int) -> Result:
        self._check_nids(a, b)
        return self._call(macro, [a, b])
