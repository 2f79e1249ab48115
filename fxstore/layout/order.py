"""Cycles opened: which edges point against the flow, and an order in which all others point forwards."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
Lists = list[list[int]]


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


def components(n: int, tails: Longs, heads: Longs) -> list[int]:
    """Returns the least node of each node's connected component."""
    up = list(range(n))

    def top(v: int) -> int:
        while up[v] != v:
            up[v] = up[up[v]]
            v = up[v]
        return v

    for a, b in zip(tails.tolist(), heads.tolist(), strict=True):
        a, b = top(a), top(b)
        if a != b:
            up[max(a, b)] = min(a, b)
    return [top(v) for v in range(n)]
