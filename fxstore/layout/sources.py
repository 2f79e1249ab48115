"""Inputs, parameters and what is computed from them alone, moved from the program's start to where they are used."""

from __future__ import annotations

from fxstore.layout.modules import Modules
from fxstore.layout.order import Lists


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
            keep = 0
            while keep < min(len(chain), len(wanted)) and chain[keep] == wanted[keep]:
                keep += 1
            opened[keep:] = [v] * (len(wanted) - keep)
            chain = wanted
        for source in awaited.get(v, ()):
            depth = len(modules.chains[module[source]])
            inside = depth < len(chain) and modules.holds(module[source], module[v])
            ahead.setdefault(opened[depth] if inside else v, []).append(source)
    for sources in ahead.values():
        sources.sort(key=lambda source: len(modules.chains[module[source]]))
    return ahead
