"""Links by debug handle: only inside one program and method, within one numbering, where nothing better is recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.pair import Link, Pair, by_kind
from fxstore.link.run import Run

Handles = dict[int, frozenset[int]]
"""The handles of each node that has any."""

_AGREEING = 0.9
"""Share of handles that must stand for the same on both sides; a re-numbered program agrees on far fewer."""


def handle(pair: Pair) -> Iterator[Link]:
    """Nodes that carry the same handles, where both stages number the same program.

    Handles are coarse: what was decomposed shares the handle of its origin. So equal handles say which *groups*
    correspond. Within them equal operators match in order where there are equally many; a group of one matches all of
    the other; of two groups without such an order nothing is said.
    """
    for namespace in sorted(_namespaces(pair, pair.earlier) & _namespaces(pair, pair.later)):
        mine, theirs = (_handles(pair.run, nodes, namespace) for nodes in (pair.earlier, pair.later))
        waiting = {b: handles for b, handles in theirs.items() if b not in pair.to_earlier}
        if waiting and _one_numbering(pair, mine, theirs):
            yield from _same_handles(pair, mine, waiting)


def _namespaces(pair: Pair, nodes: list[int]) -> set[str]:
    run = pair.run
    return {
        name
        for graph in {run.graph[node] for node in nodes}
        for name in run.graphs[graph].tables["handles"]["namespace"].unique().to_pylist()
    }


def _handles(run: Run, nodes: list[int], namespace: str) -> Handles:
    """Returns the handles of operators; a call whose graph is known is left to its content."""
    found: dict[int, set[int]] = defaultdict(set)
    for graph in dict.fromkeys(run.graph[node] for node in nodes):
        table = run.graphs[graph].tables["handles"]
        columns = (table[c].to_pylist() for c in ("position", "namespace", "handle"))
        for position, home, number in zip(*columns, strict=True):
            node = run.base[graph] + position
            if home == namespace and run.role[node] in ("op", "symint", "delegate") and node not in run.calls:
                found[node].add(number)
    wanted = set(nodes)
    return {node: frozenset(numbers) for node, numbers in found.items() if node in wanted}


def _one_numbering(pair: Pair, mine: Handles, theirs: Handles) -> bool:
    """Tells whether both stages number one program: that both count from 1 is no sign of it.

    Nodes whose counterpart is known must share a handle; where there are none, the nodes of each handle must share an
    operator and a shape.
    """
    known = [
        not mine[link.src].isdisjoint(theirs[b])
        for b in theirs
        for link in pair.to_earlier.get(b, ())
        if link.src in mine and not link.inferred
    ]
    votes = known or _alike(pair.run, mine, theirs)
    return bool(votes) and sum(votes) >= _AGREEING * len(votes)


def _alike(run: Run, mine: Handles, theirs: Handles) -> list[bool]:
    """Tells, for each handle of both sides whose operators are known, whether an operator with its shape is on both."""
    ours, others = _by_handle(mine), _by_handle(theirs)
    votes = []
    for number in ours.keys() & others.keys():
        sides = [{node for node in side[number] if run.role[node] != "delegate"} for side in (ours, others)]
        if all(sides):
            votes.append(any(_same_operator(run, a, b) for a in sides[0] for b in sides[1]))
    return votes


def _same_operator(run: Run, a: int, b: int) -> bool:
    return run.kind(a) == run.kind(b) and (None in (run.shape[a], run.shape[b]) or run.shape[a] == run.shape[b])


def _by_handle(handles: Handles) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for node in sorted(handles):
        for number in handles[node]:
            found[number].append(node)
    return found


def _same_handles(pair: Pair, mine: Handles, waiting: Handles) -> Iterator[Link]:
    """First groups of equal handles, then what shares a part of its handles."""
    groups: dict[frozenset[int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, handles in enumerate((mine, waiting)):
        for node in sorted(handles):
            if side or node not in pair.to_later:
                groups[handles[node]][side].append(node)
    matched: set[int] = set()
    for earlier, later in groups.values():
        pairs, left, rest = by_kind(pair.run, earlier, later)
        if len(earlier) == 1 or len(later) == 1:
            pairs, left, rest = [(a, b) for a in earlier for b in later], [], []
        elif len(left) == 1 or len(rest) == 1:
            pairs += [(a, b) for a in left for b in rest]
        matched.update(b for _, b in pairs)
        yield from (Link(a, b, "handle") for a, b in pairs)
    yield from _sharing(pair, mine, {b: numbers for b, numbers in waiting.items() if b not in matched})


def _sharing(pair: Pair, mine: Handles, waiting: Handles) -> Iterator[Link]:
    """What carries several handles is made of all that they stand for; the note says how many of them are known."""
    ours, others = _by_handle(mine), _by_handle(waiting)
    for b in sorted(waiting):
        numbers = waiting[b]
        sources = {a: numbers & mine[a] for number in numbers for a in ours.get(number, ())}
        rivals = {other for number in numbers for other in others[number]}
        if len(numbers) == 1 and len(sources) > 1 and len(rivals) > 1:
            continue  # two groups, and no order between them
        known = frozenset().union(*sources.values()) if sources else frozenset()
        whole = max([len(numbers), *(len(mine[a]) for a in sources)])
        part = f"{len(known)} of {whole} handles: {', '.join(map(str, sorted(known)))}"
        yield from (Link(a, b, "handle", note=part if len(known) < whole else None) for a in sorted(sources))
