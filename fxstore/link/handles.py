"""Links by debug handle: only inside one program and method, within one numbering, where nothing better is recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.grouped import matches, same_operator
from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run

Handles = dict[int, frozenset[int]]
"""The handles of each node that has any, in one namespace."""

_INSTRUCTION, _DEBUG_HANDLE = "instruction", "debug_handle"
_IN_CALL = "run by this call, which keeps no operator of its own for it"
_AGREEING = 0.9
"""Share of nodes that must stand for the same on both sides; a re-numbered program agrees on far fewer."""


def handle(pair: Pair) -> Iterator[Link]:
    """Nodes that carry the same handles, where both stages number the same program.

    Handles are coarse: what was decomposed shares the handle of its origin. So equal handles say which *groups*
    correspond; :func:`fxstore.link.grouped.matches` says who is who in two groups, or that nobody can tell.
    """
    mine, theirs = (_handles(pair.run, nodes) for nodes in (pair.earlier, pair.later))
    _translate(pair.run, theirs, mine)
    _translate(pair.run, mine, theirs)
    spaces = [space for space in sorted(mine.keys() & theirs.keys()) if theirs[space].keys() - pair.to_earlier.keys()]
    if not spaces or not _one_program(pair, mine, theirs):
        return
    found: list[Link] = []
    for space in spaces:
        waiting = {b: handles for b, handles in theirs[space].items() if b not in pair.to_earlier}
        found += _same_handles(pair, mine[space], waiting)
    yield from found
    linked = {link.src for link in found}
    yield from _run_by_calls(pair, mine, theirs, linked)


def _handles(run: Run, nodes: list[int]) -> dict[str, Handles]:
    """Returns the handles of operators, by namespace."""
    found: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    wanted = set(nodes)
    for graph in dict.fromkeys(run.graph[node] for node in nodes):
        table = run.graphs[graph].tables["handles"]
        columns = (table[c].to_pylist() for c in ("position", "namespace", "handle"))
        for position, space, number in zip(*columns, strict=True):
            node = run.base[graph] + position
            if run.role[node] in ("op", "symint", "delegate") and node in wanted:
                found[space][node].add(number)
    return {space: {node: frozenset(numbers) for node, numbers in one.items()} for space, one in found.items()}


def _translate(run: Run, own: dict[str, Handles], other: dict[str, Handles]) -> None:
    """Gives operators whose instruction alone is known the debug handles that the other side records for it.

    A program's file knows the instruction of an operator outside of delegates, and the debug handle of one inside; its
    record knows both. A call keeps its instruction: it runs some of what carries each handle, not all of it.
    """
    meaning: dict[int, set[int]] = defaultdict(set)
    for node, numbers in other.get(_INSTRUCTION, {}).items():
        for number in numbers:
            meaning[number].update(other.get(_DEBUG_HANDLE, {}).get(node, ()))
    instructions, handles = own.get(_INSTRUCTION, {}), own.get(_DEBUG_HANDLE, {})
    translated = {
        node: known
        for node, numbers in instructions.items()
        if node not in handles and run.role[node] != "delegate"
        if (known := frozenset(handle for number in numbers for handle in meaning[number]))
    }
    if translated:
        own[_INSTRUCTION] = {node: numbers for node, numbers in instructions.items() if node not in translated}
        own[_DEBUG_HANDLE] = {**handles, **translated}


def _one_program(pair: Pair, mine: dict[str, Handles], theirs: dict[str, Handles]) -> bool:
    """Tells whether both stages number one program: that both count from 1 is no sign of it.

    Nodes whose counterpart is recorded must share a handle; where there are none, the nodes of each handle must share
    an operator.
    """
    shared = mine.keys() & theirs.keys()
    votes = [
        not mine[space][link.src].isdisjoint(theirs[space][b])
        for space in shared
        for b in theirs[space]
        for link in pair.to_earlier.get(b, ())
        if link.src in mine[space] and not link.inferred
    ]
    if not votes:
        votes = [vote for space in shared for vote in _alike(pair.run, mine[space], theirs[space])]
    return bool(votes) and sum(votes) >= _AGREEING * len(votes)


def _alike(run: Run, mine: Handles, theirs: Handles) -> Iterator[bool]:
    """Tells, for each handle of both sides, whether an operator is on both.

    Nothing is said about delegates, which may hold any, and about what may be the decomposition of one node.
    """
    ours, others = _by_handle(mine), _by_handle(theirs)
    for number in ours.keys() & others.keys():
        sides = ours[number], others[number]
        if len({run.role[node] == "delegate" for side in sides for node in side}) > 1:
            continue
        alike = any(same_operator(run, a, b) for a in sides[0] for b in sides[1])
        small, large = sorted(sides, key=len)
        if alike or len(large) == 1 or len(small) > 1 or run.shape[small[0]] not in {run.shape[b] for b in large}:
            yield alike


def _by_handle(handles: Handles) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for node in sorted(handles):
        for number in handles[node]:
            found[number].append(node)
    return found


def _same_handles(pair: Pair, mine: Handles, waiting: Handles) -> list[Link]:
    """First groups of equal handles, then what shares a part of its handles."""
    groups: dict[frozenset[int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, handles in enumerate((mine, waiting)):
        for node in sorted(handles):
            if side or node not in pair.to_later:
                groups[handles[node]][side].append(node)
    both = [(earlier, later) for earlier, later in groups.values() if earlier and later]
    found = [Link(a, b, "handle") for a, b in matches(pair, both) if _may_match(pair.run, a, b)]
    return [*found, *_sharing(pair, mine, waiting, {link.dst for link in found})]


def _may_match(run: Run, a: int, b: int) -> bool:
    """A call whose graph is known has its counterparts through its content; only a call may be its own."""
    calls = [run.role[node] == "delegate" and node in run.calls for node in (a, b)]
    return True not in calls or (run.role[a] == run.role[b] == "delegate")


def _run_by_calls(pair: Pair, mine: dict[str, Handles], theirs: dict[str, Handles], linked: set[int]) -> Iterator[Link]:
    """Links what only one call can run, and what has no counterpart inside of it, to that call.

    A backend fuses operators, and keeps the handle of one of them; which call runs the others is recorded.
    """
    run = pair.run
    for space in sorted(mine.keys() & theirs.keys()):
        calls = {numbers: b for b, numbers in theirs[space].items() if run.role[b] == "delegate" and b in run.calls}
        for a, numbers in mine[space].items():
            if numbers in calls and len(numbers) == 1 and a not in linked and a not in pair.to_later:
                yield Link(
                    a, calls[numbers], "delegate", note="run by this call, which keeps no operator of its own for it"
                )


def _sharing(pair: Pair, mine: Handles, waiting: Handles, matched: set[int]) -> Iterator[Link]:
    """What carries several handles is made of all that they stand for; the note says how many of them are known."""
    run = pair.run
    ours, others = _by_handle(mine), _by_handle(waiting)
    for b in sorted(waiting.keys() - matched):
        numbers = waiting[b]
        sources = {a: numbers & mine[a] for number in numbers for a in ours.get(number, ()) if _may_match(run, a, b)}
        rivals = {other for number in numbers for other in others[number]}
        if len(numbers) == 1 and len(sources) > 1 and len(rivals) > 1:
            company = f"shares handle {min(numbers)} with {len(rivals) - 1} others"
            pair.undecided[b] = f"{company}: which is which is not recorded"
            continue
        known: frozenset[int] = frozenset().union(*sources.values())
        whole = max([len(numbers), *(len(mine[a]) for a in sources)])
        part = f"{len(known)} of {whole} handles: {', '.join(map(str, sorted(known)))}"
        yield from (Link(a, b, "handle", note=part if len(known) < whole else None) for a in sorted(sources))
