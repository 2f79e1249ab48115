"""Modules, and blocks: the boxes of modules, and invisible ones that keep every block small.

Nodes are numbered in drawing order here, and a block is a run of that order::

    order     0  1  2  3  4  5  6  7           root
    module    a  a  a  b  b  b  -  -           ├── a: 0 1 2
    block    └──a───┘ └──b───┘                 ├── b: 3 4 5
             └─────────root────────┘           ├── 6
                                               └── 7

The invariant: an interval of a topological order is convex, that is, no path leaves it and comes back. So blocks that
are drawn as one item each never form a cycle. A module that is entered twice is two blocks.

Ordering a block costs more than linear time in its items, so a block without an end in sight (an unrolled loop, a
graph without modules) is cut where few values are alive. With bounded blocks the whole costs linear time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise

import numpy as np

from fxstore.layout.model import Lists, Longs

MAX_ITEMS = 90
"""A block of more items is cut into invisible blocks; ordering costs more than linear time in its items."""
MAX_ADDED = 200
"""So many items more it may have that are new beside another drawing, so that a pass does not move the cuts."""
PIECE = 60
"""How many items an invisible block should have; half as many or half as many more where the cut is narrower there."""
MAX_FAN, FAN_LEVELS = 8000, 4
"""A block of nodes at no more than so many levels is cut only where it has more than so many."""
MOST_ALIVE, ALIVE_PER_ITEM = 40_000, 20
"""A block is cut only if its values, counted at each place between two items, are no more than so many: each value
that a cut meets becomes a port on both sides of it."""
MIN_NODES = 2
"""A module whose box would hold fewer nodes with a path of their own is drawn without a box."""
MAX_DEPTH = 32
"""Boxes are not nested deeper; what lies deeper is drawn in the box at this depth. No model needs as many."""


@dataclass(slots=True, eq=False)
class Run:
    """A block under construction.

    Attributes:
        module: Module whose box it is, -1 for an invisible block.
        first: Its first node.
        own: How many of its nodes have a path of their own.
        items: Numbers of nodes, and runs.
        aside: Whether its items stand beside each other, each below the one before.
    """

    module: int
    first: int
    own: int = 0
    items: list[int | Run] = field(default_factory=list)
    aside: bool = False


@dataclass(frozen=True)
class Tree:
    """All blocks of a drawing, each before those that it holds.

    Attributes:
        parent: (B) block that holds each block, -1 for the root of a component.
        depth: (B) number of blocks around each block.
        module: (B) module whose box it is, -1 for one without a box.
        items: Per block the numbers of its items: a node's own, or ``n`` + a block's.
        home: (n) block of each node.
        slot: (n + B) place of each item within its block.
        aside: (B) whether its items are the sides of a training graph.
    """

    parent: Longs
    depth: Longs
    module: list[int]
    items: list[Longs]
    home: Longs
    slot: Longs
    aside: list[bool]


def build_tree(
    modules: Modules,
    module: Sequence[int],
    own: Sequence[bool],
    starts: Longs,
    far: Longs,
    level: Longs,
    side: Sequence[int],
    boxes: Sequence[int],
    added: Sequence[bool],
) -> Tree:
    """Returns the blocks of a graph.

    Args:
        modules: All modules.
        module: Module of each node.
        own: Whether that is the node's own.
        starts: First node of each component.
        far: The last consumer of each node, or the node itself.
        level: Length of the longest path to each node.
        side: Side of each node, which does not fall within a component.
        boxes: Module whose box each side is.
        added: Whether each node has no counterpart in a drawing that this one stands beside. Such nodes alone do not
            make a block so long that it is cut.
    """
    n = len(module)
    roots = []
    for lo, hi in pairwise([*starts.tolist(), n]):
        turns = [lo, *(v for v in range(lo + 1, hi) if side[v] != side[v - 1]), hi]
        parts: list[int | Run] = []
        for first, end in pairwise(turns):
            runs = _nest(modules, module, own, first, end)
            _simplify(runs)
            for run in runs:
                _cut(run, far, level, added)
            if len(turns) > 2:
                runs[0].module = boxes[side[first]]
            parts.append(runs[0])
        roots.append(runs[0] if len(parts) == 1 else Run(-1, lo, items=parts, aside=True))
    return _number(roots, n)


def _nest(modules: Modules, module: Sequence[int], own: Sequence[bool], lo: int, hi: int) -> list[Run]:
    """Returns the runs of one component, each before those that it holds."""
    runs = [Run(-1, lo)]
    stack = [runs[0]]
    chain: tuple[int, ...] = (0,)
    for v in range(lo, hi):
        wanted = modules.chains[module[v]]
        if wanted is not chain:
            keep = shared(chain, wanted)
            del stack[keep:]
            for inner in wanted[keep:]:
                run = Run(inner, v)
                stack[-1].items.append(run)
                stack.append(run)
                runs.append(run)
            chain = wanted
        stack[-1].items.append(v)
        stack[-1].own += own[v]
    return runs


def _simplify(runs: list[Run]) -> None:
    """Drops boxes around fewer than two nodes, and those that hold nothing but another box."""
    for run in reversed(runs):
        items: list[int | Run] = []
        for item in run.items:
            if isinstance(item, int):
                items.append(item)
                continue
            run.own += item.own
            if item.own < MIN_NODES:
                items.extend(item.items)
            elif len(item.items) == 1:
                items.append(item.items[0])
            else:
                items.append(item)
        run.items = items


def _first(item: int | Run) -> int:
    return item if isinstance(item, int) else item.first


def _is_fan(run: Run, level: Longs) -> bool:
    """Tells whether a block is wide, not long: its rows are folded, and cuts would only make them uneven."""
    nodes = [item for item in run.items if isinstance(item, int)]
    return len(nodes) == len(run.items) <= MAX_FAN and len(np.unique(level[nodes])) <= FAN_LEVELS


def _cut(run: Run, far: Longs, level: Longs, added: Sequence[bool]) -> None:
    """Cuts a block at narrow points, where few values are alive, until it has few enough items."""
    new = sum(isinstance(item, int) and added[item] for item in run.items) if len(run.items) > MAX_ITEMS else 0
    most = MAX_ITEMS + min(new, MAX_ADDED)
    while len(run.items) > most and not _is_fan(run, level):
        items, count = run.items, len(run.items)
        alive = _alive(run, far)
        if sum(alive) > MOST_ALIVE + ALIVE_PER_ITEM * count:
            return
        pieces: list[int | Run] = []
        at = 0
        while at < count:
            end = count
            if count - at > PIECE * 3 // 2:
                near = range(at + PIECE // 2, at + PIECE * 3 // 2)
                end = min([(alive[k], abs(k - at - PIECE), k) for k in near])[2]
            piece = Run(-1, _first(items[at]))
            piece.items = items[at:end]
            pieces.append(piece)
            at = end
        run.items = pieces


def _alive(run: Run, far: Longs) -> list[int]:
    """Returns for each place between two items how many values that are made before it are used after it."""
    starts = np.array([_first(item) for item in run.items])
    last = run.items[-1]
    while isinstance(last, Run):
        last = last.items[-1]
    nodes = np.arange(starts[0], last + 1)
    made = np.searchsorted(starts, nodes, side="right")
    used = np.searchsorted(starts, far[nodes], side="right")
    change = np.bincount(made, minlength=len(starts) + 1) - np.bincount(used, minlength=len(starts) + 1)
    alive: list[int] = np.cumsum(change).tolist()
    return alive


def _number(roots: list[Run], n: int) -> Tree:
    parent: list[int] = []
    depth: list[int] = []
    module: list[int] = []
    runs: list[Run] = []
    stack = [(run, -1, 0) for run in reversed(roots)]
    number: dict[int, int] = {}
    while stack:
        run, outer, level = stack.pop()
        number[id(run)] = here = len(runs)
        parent.append(outer)
        depth.append(level)
        module.append(run.module)
        runs.append(run)
        stack.extend((item, here, level + 1) for item in reversed(run.items) if isinstance(item, Run))
    items = [np.array([i if isinstance(i, int) else n + number[id(i)] for i in run.items], np.int64) for run in runs]
    home, slot = np.zeros(n, np.int64), np.zeros(n + len(runs), np.int64)
    for block, held in enumerate(items):
        slot[held] = np.arange(len(held))
        home[held[held < n]] = block
    return Tree(
        np.array(parent, np.int64), np.array(depth, np.int64), module, items, home, slot, [run.aside for run in runs]
    )


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
        depth = shared(self.chains[a], self.chains[b])
        return self.chains[a][depth - 1] if depth else 0

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


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Returns how many modules, from the outermost, two chains have in common."""
    depth, most = 0, min(len(one), len(other))
    while depth < most and one[depth] == other[depth]:
        depth += 1
    return depth
