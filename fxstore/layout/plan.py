"""The order in which a graph is drawn: cycles opened, sources next to their users, one component after the other.

Program order is topological and what a reader knows, so it is kept as far as it can be:

1. Edges that close a cycle are turned round (``against_flow``); all others then go forwards.
2. Each node gets a module, and each source moves to just before its first user (``beside_consumers``)::

       program:  w1  w2  x  mm1  mm2           drawn:  x  w1  mm1  w2  mm2

3. Components, and the sides of a training graph, are separated; each keeps its order.
4. The longest path of each component, its *spine*, is marked: it is what is drawn straight.

The invariant: of each distinct edge the tail's place is less than the head's. All steps are linear in nodes and edges,
but for a heap where program order is not topological.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fxstore.layout.blocks import Modules, Tree, build_tree, shared
from fxstore.layout.model import Lists, Longs, Marks, Sides


@dataclass(frozen=True)
class Plan:
    """A graph in drawing order.

    Attributes:
        order: (n) node at each place.
        tails, heads: (D) places of the ends of each distinct edge, ``tails < heads``.
        line: (E) distinct edge of each given one, -1 for a self loop.
        feedback: (E) whether a given edge is drawn against its direction.
        tree: The blocks.
        modules: What they are called.
        spine: (D) edges of the longest path of each component.
        ends: (E, 2) source and target of each given edge, as given.
    """

    order: Longs
    tails: Longs
    heads: Longs
    line: Longs
    feedback: Marks
    tree: Tree
    modules: Modules
    spine: Marks
    ends: Longs


def make_plan(
    n: int,
    ends: Longs,
    paths: Sequence[str | None],
    sides: Sides | None,
    added: Sequence[bool],
) -> Plan:
    """Puts a graph in drawing order and cuts it into blocks; all but ``added`` is as ``draw`` has it."""
    tails, heads, line, feedback = _acyclic(n, ends.copy())
    modules = Modules(paths)
    order, module, part, side = _drawing_order(n, tails, heads, modules, sides)
    places = np.empty(n, np.int64)
    places[order] = np.arange(n)
    tails, heads = places[tails], places[heads]

    starts = np.flatnonzero(np.diff(part, prepend=-1)).astype(np.int64)
    far = np.arange(n, dtype=np.int64)
    np.maximum.at(far, tails, heads)
    level, spine = _longest_paths(part, tails, heads)
    own = [modules.own[v] >= 0 for v in order]
    boxes = [modules.title(name) for name in sides.names] if sides else []
    new = [added[v] for v in order]
    tree = build_tree(modules, [module[v] for v in order], own, starts, far, level, side, boxes, new)
    return Plan(np.array(order, np.int64), tails, heads, line, feedback, tree, modules, spine, ends)


def _acyclic(n: int, ends: Longs) -> tuple[Longs, Longs, Longs, Marks]:
    """Returns tails and heads of the distinct edges, which of them each given one is, and which are turned round."""
    feedback = against_flow(n, ends[:, 0], ends[:, 1])
    ends[feedback] = ends[feedback, ::-1]
    joins = ends[:, 0] != ends[:, 1]
    distinct, number = np.unique(ends[joins, 0] * n + ends[joins, 1], return_inverse=True)
    line = np.full(len(ends), -1, np.int64)
    line[joins] = number
    return distinct // n, distinct % n, line, feedback


def _drawing_order(
    n: int, tails: Longs, heads: Longs, modules: Modules, sides: Sides | None
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns the nodes in drawing order, the module of each node, and of each place its component and side."""
    succ, pred = adjacency(n, tails, heads), adjacency(n, heads, tails)
    order = topological(n, tails, heads, succ)
    module = modules.settle(order, succ, pred)
    order = beside_consumers(order, succ, pred, modules, module)
    part = components(n, zip(tails.tolist(), heads.tolist(), strict=True))
    rank: dict[int, int] = {}
    for v in order:
        rank.setdefault(part[v], len(rank))
    side = _later(order, succ, pred, sides.of) if sides else [0] * n
    order.sort(key=lambda v: (rank[part[v]], side[v]))
    modules.smooth(order, module)
    return order, module, [part[v] for v in order], [side[v] for v in order]


def _later(order: Sequence[int], succ: Lists, pred: Lists, wanted: Sequence[int]) -> list[int]:
    """Returns each node's side: its own, or that of what it follows from; a source is on its first consumer's."""
    side = list(wanted)
    for v in order:
        side[v] = max([side[v], *(side[u] for u in pred[v])])
    for v in order:
        if not pred[v] and succ[v]:
            side[v] = max(side[v], min(side[w] for w in succ[v]))
    return side


def _longest_paths(part: Sequence[int], tails: Longs, heads: Longs) -> tuple[Longs, Marks]:
    """Returns the length of the longest path to each node, and marks the edges of each component's longest path."""
    length, via = [0] * len(part), [-1] * len(part)
    a, b = tails.tolist(), heads.tolist()
    for edge in np.lexsort((heads, tails)).tolist():
        if length[a[edge]] + 1 > length[b[edge]]:
            length[b[edge]], via[b[edge]] = length[a[edge]] + 1, edge
    marked = np.zeros(len(tails), np.bool_)
    ends: dict[int, int] = {}
    for v, component in enumerate(part):
        if length[v] > length[ends.setdefault(component, v)]:
            ends[component] = v
    for v in ends.values():
        while via[v] >= 0:
            marked[via[v]] = True
            v = a[via[v]]
    return np.array(length, np.int64), marked


def adjacency(n: int, tails: Longs, heads: Longs) -> Lists:
    """Returns the heads of each of ``n`` nodes, in the order of the edges."""
    out: Lists = [[] for _ in range(n)]
    for a, b in zip(tails.tolist(), heads.tolist(), strict=True):
        out[a].append(b)
    return out


def against_flow(n: int, tails: Longs, heads: Longs) -> Marks:
    """Marks the edges to reverse: those that lie on a cycle and do not go forwards in program order.

    Without them the graph is acyclic: edges between strongly connected parts cannot close a cycle, and those left
    inside a part all go forwards.
    """
    if not np.any(tails >= heads):
        return np.zeros(len(tails), np.bool_)
    part = _strong_parts(adjacency(n, tails, heads))
    marked: Marks = (part[tails] == part[heads]) & (tails >= heads)
    return marked


def _strong_parts(succ: Lists) -> Longs:
    """Tarjan's strongly connected components (SIAM J. Comput. 1972), without recursion."""
    n = len(succ)
    index, low, part = [-1] * n, [0] * n, [-1] * n
    pending: list[int] = []
    count = parts = 0
    for start in range(n):
        if index[start] >= 0:
            continue
        index[start] = low[start] = count
        count += 1
        pending.append(start)
        calls = [(start, iter(succ[start]))]
        while calls:
            v, rest = calls[-1]
            for w in rest:
                if index[w] < 0:
                    index[w] = low[w] = count
                    count += 1
                    pending.append(w)
                    calls.append((w, iter(succ[w])))
                    break
                if part[w] < 0:
                    low[v] = min(low[v], index[w])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[v])
                if low[v] == index[v]:
                    while part[v] < 0:
                        part[pending.pop()] = parts
                    parts += 1
    return np.array(part, np.int64)


def topological(n: int, tails: Longs, heads: Longs, succ: Lists) -> list[int]:
    """Returns an order of an acyclic graph that stays as close to program order as it can."""
    if not np.any(tails > heads):
        return list(range(n))
    missing = np.bincount(heads, minlength=n).tolist()
    ready = [v for v in range(n) if not missing[v]]
    order = []
    while ready:
        v = heapq.heappop(ready)
        order.append(v)
        for w in succ[v]:
            missing[w] -= 1
            if not missing[w]:
                heapq.heappush(ready, w)
    return order


def components(n: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Returns the least node of each node's connected component (union-find with path halving)."""
    up = list(range(n))

    def top(v: int) -> int:
        while up[v] != v:
            up[v] = up[up[v]]
            v = up[v]
        return v

    for a, b in edges:
        a, b = top(a), top(b)
        if a != b:
            up[max(a, b)] = min(a, b)
    return [top(v) for v in range(n)]


def beside_consumers(order: list[int], succ: Lists, pred: Lists, modules: Modules, module: list[int]) -> list[int]:
    """Returns the order with every source, and every tree of sources, just before its first consumer.

    A source that several modules use comes before the whole module of its first consumer instead: in the midst of that
    it would cut it in two.
    """
    free, size = _trees(order, succ, pred, module)
    ahead = _shared(order, succ, pred, modules, module, free)
    waiting = {v for sources in ahead.values() for v in sources}
    out: list[int] = []
    done = [False] * len(order)
    for v in order:
        if free[v] or v in waiting:
            continue
        stack = [(v, False)]
        while stack:
            u, ready = stack.pop()
            if done[u]:
                continue
            if ready:
                done[u] = True
                out.append(u)
                continue
            stack.append((u, True))
            side = [w for w in pred[u] if free[w] and not done[w]]
            stack.extend((w, False) for w in sorted(side, key=lambda w: (size[w], -w)))
            stack.extend((w, False) for w in reversed(ahead.get(u, ())))
    return out


def _trees(order: list[int], succ: Lists, pred: Lists, module: list[int]) -> tuple[list[bool], list[int]]:
    """Marks what depends on sources only and has one consumer, or several in one module; counts what it depends on."""
    free, size = [False] * len(order), [1] * len(order)
    for v in order:
        users, inputs = succ[v], pred[v]
        if inputs:
            free[v] = len(users) == 1 and all(free[u] for u in inputs)
            if free[v]:
                size[v] += sum(size[u] for u in inputs)
        elif users:
            free[v] = len(users) == 1 or all(module[w] == module[users[0]] for w in users)
    return free, size


def _shared(
    order: list[int], succ: Lists, pred: Lists, modules: Modules, module: list[int], free: list[bool]
) -> dict[int, list[int]]:
    """Returns the shared sources to put before each node, those of outer modules first."""
    anchor = list(range(len(order)))
    for v in reversed(order):
        if free[v] and len(succ[v]) == 1:
            anchor[v] = anchor[succ[v][0]]
    place = [0] * len(order)
    for i, v in enumerate(order):
        place[v] = i
    awaited: dict[int, list[int]] = {}
    for v in order:
        if succ[v] and not pred[v] and not free[v] and modules.own[v] < 0:
            awaited.setdefault(min((anchor[w] for w in succ[v]), key=place.__getitem__), []).append(v)

    ahead: dict[int, list[int]] = {}
    chain: tuple[int, ...] = ()
    opened: list[int] = []
    for v in order:
        if free[v] or (not pred[v] and modules.own[v] < 0):
            continue
        wanted = modules.chains[module[v]]
        if wanted is not chain:
            keep = shared(chain, wanted)
            opened[keep:] = [v] * (len(wanted) - keep)
            chain = wanted
        for source in awaited.get(v, ()):
            depth = len(modules.chains[module[source]])
            inside = depth < len(chain) and modules.holds(module[source], module[v])
            ahead.setdefault(opened[depth] if inside else v, []).append(source)
    for sources in ahead.values():
        sources.sort(key=lambda source: len(modules.chains[module[source]]))
    return ahead
