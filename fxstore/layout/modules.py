"""Module paths as numbers, and a module for every node that has none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from fxstore.layout.order import Lists

MAX_DEPTH = 32
"""Boxes are not nested deeper; what lies deeper is drawn in the box at this depth."""


class Modules:
    """Every module that a graph's paths name; 0 is the root.

    Attributes:
        paths: Full path of each module.
        chains: Each module's ancestors, the root first, itself last.
        own: Module of each node, -1 where its path is None.
    """

    def __init__(self, paths: Sequence[str | None]) -> None:
        """Numbers the modules of all nodes, given each node's path."""
        self.paths = [""]
        self.chains: list[tuple[int, ...]] = [(0,)]
        self._known = {"": 0}
        numbers: dict[str | None, int] = {None: -1}
        for path in paths:
            if path not in numbers:
                numbers[path] = self._add(str(path))
        self.own = [numbers[path] for path in paths]

    def _add(self, path: str) -> int:
        number, prefix = 0, ""
        for depth, name in enumerate(path.split(".", MAX_DEPTH)[:MAX_DEPTH]):
            prefix = f"{prefix}.{name}" if depth else name
            child = self._known.get(prefix)
            if child is None:
                child = self._known[prefix] = len(self.paths)
                self.paths.append(prefix)
                self.chains.append((*self.chains[number], child))
            number = child
        return number

    def title(self, name: str) -> int:
        """Adds a box that no path names, and returns its number."""
        self.paths.append(name)
        self.chains.append((len(self.chains),))
        return len(self.paths) - 1

    def common(self, modules: Iterable[int]) -> int:
        """Returns the innermost module that holds all of the given ones."""
        return reduce(self._meet, modules)

    def _meet(self, a: int, b: int) -> int:
        if a == b:
            return a
        last = 0
        for x, y in zip(self.chains[a], self.chains[b], strict=False):
            if x != y:
                break
            last = x
        return last

    def holds(self, outer: int, inner: int) -> bool:
        """Tells whether ``inner`` is ``outer`` or lies inside it."""
        chain = self.chains[inner]
        depth = len(self.chains[outer]) - 1
        return depth < len(chain) and chain[depth] == outer

    def settle(self, order: Sequence[int], succ: Lists, pred: Lists) -> list[int]:
        """Returns a module for every node: its own, else that of its consumers, else that of its producers.

        What nothing consumes at the end of the program, as its output, belongs to the root.
        """
        module = list(self.own)
        tail = True
        for v in reversed(order):
            if module[v] < 0 and succ[v]:
                module[v] = self._of(succ[v], module)
            if module[v] < 0 and tail:
                module[v] = 0
            tail = tail and self.own[v] < 0
        for v in order:
            if module[v] < 0:
                module[v] = max(self._of(pred[v], module), 0)
        return module

    def _of(self, nodes: Sequence[int], module: Sequence[int]) -> int:
        known = [module[w] for w in nodes if module[w] >= 0]
        return self.common(known) if known else -1

    def smooth(self, order: Sequence[int], module: list[int]) -> None:
        """Puts a node without a path of its own into the module whose run it would otherwise cut in two."""
        after = [0] * (len(order) + 1)
        following = 0
        for i in range(len(order) - 1, -1, -1):
            if self.own[order[i]] >= 0:
                following = module[order[i]]
            after[i] = following
        before = 0
        for i, v in enumerate(order):
            if self.own[v] >= 0:
                before = module[v]
                continue
            between = self._meet(before, after[i])
            if between != module[v] and self.holds(module[v], between):
                module[v] = between
