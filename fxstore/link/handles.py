"""Links by debug handle: only inside one program and method, within one numbering, where nothing better is recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from types import MappingProxyType
from typing import Final

from fxstore.link.boundary import inner_value
from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run

# Says who is who in two groups of nodes that carry equal handles, as far as that is certain.


Group = tuple[list[int], list[int]]
"""Nodes of the earlier stage and of the later one."""

_MEANING: Final = MappingProxyType(
    {
        "fully_connected": ("linear", "addmm", "mm"), "batch_matrix_multiply": ("bmm", "mm", "matmul"),
        "static_transpose": ("permute", "transpose", "t"), "static_reshape": ("view", "unsqueeze", "squeeze"),
        "clamp": ("relu", "hardtanh", "clamp"), "conv2d": ("convolution",), "depthwise_conv2d": ("convolution",),
        "conv_transpose_2d": ("convolution",), "avg_pooling_2d": ("avg_pool2d",), "global_avg_pooling_2d": ("mean",),
        "max_pooling_2d": ("max_pool2d", "max_pool2d_with_indices"), "static_constant_pad": ("constant_pad_nd",),
        "static_resize_bilinear_2d": ("upsample_bilinear2d",), "static_slice": ("slice",), "multiply": ("mul",),
        "subtract": ("sub",), "convert": ("quantize_per_tensor", "dequantize_per_tensor", "_to_copy"),
        "concatenate2": ("cat",), "concatenate3": ("cat",), "concatenate4": ("cat",), "concatenate5": ("cat",),
        "negate": ("neg",), "square": ("pow",), "square_root": ("sqrt",), "reciprocal_square_root": ("rsqrt",),
        "softmax": ("_softmax",), "hardswish": ("hardswish",), "ceiling": ("ceil",), "copy": ("clone",),
    }
)  # fmt: skip
"""Operators that XNNPACK names otherwise; any other name is taken for the operator's own."""
_LARGEST = 1 << 12
"""Pairs of nodes that are compared by what they read, at most."""
_FARTHEST = 64
"""Nodes that are looked at on the way to the nearest counterparts, at most."""


def same_operator(run: Run, a: int, b: int) -> bool:
    """Tells whether two nodes compute the same, as far as their names tell."""
    if _is_translated(run, a) or _is_translated(run, b):
        return not _names(run, a).isdisjoint(_names(run, b))
    return run.kind(a) == run.kind(b) and (None in (run.shape[a], run.shape[b]) or run.shape[a] == run.shape[b])


def _is_translated(run: Run, node: int) -> bool:
    return run.target[node].startswith("xnnpack.")


def _names(run: Run, node: int) -> frozenset[str]:
    kind = run.kind(node)[0]
    return frozenset((kind, *(_MEANING.get(kind, ()) if _is_translated(run, node) else ())))


def matches(pair: Pair, groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Returns the pairs of nodes that correspond; none, where that is not certain.

    A group of one matches all of the other. Else equal operators match: one and one; by what they read and what reads
    them; in order, where there are equally many and no backend has ordered them anew. What quantises a value belongs to
    the operator that gives the value, if the backend keeps none of its own for it.
    """
    found = Found(pair)
    waiting: list[Group] = []
    for earlier, later in groups:
        alone = 1 in (len(earlier), len(later))
        for mine, theirs in [(earlier, later)] if alone else _parts(pair.run, earlier, later):
            if alone or len(mine) == len(theirs) == 1 or _is_one_conversion(pair.run, mine, theirs):
                found.add((a, b) for a in mine for b in theirs)
            else:
                waiting.append((mine, theirs))
    while waiting:
        _by_flow(found, waiting)
        waiting = [part for part in map(found.open, waiting) if part[0] and part[1]]
        ordered = next((part for part in waiting if _is_in_order(pair.run, *part)), None)
        if ordered is None:
            break
        found.add(zip(*ordered, strict=True))
    for a in (a for earlier, _ in groups for a in earlier):
        if a not in found.later and pair.run.quantiser[a] and pair.run.inputs[a]:
            found.add([(a, b) for b in found.later.get(pair.run.inputs[a][0][0], ())])
    return [(a, b) for a, ends in found.later.items() for b in ends]


def _is_one_conversion(run: Run, mine: list[int], theirs: list[int]) -> bool:
    return len(theirs) == 1 and all(run.quantiser[a] for a in mine)


def _is_in_order(run: Run, mine: list[int], theirs: list[int]) -> bool:
    return len(mine) == len(theirs) and not any(_is_translated(run, node) for node in (*mine, *theirs))


def _parts(run: Run, earlier: list[int], later: list[int]) -> Iterator[Group]:
    """Yields the parts of two groups that compute the same."""
    parts: list[tuple[set[str], Group]] = []
    for side, nodes in enumerate((earlier, later)):
        for node in nodes:
            port = run.port(node)
            names = set(_names(run, node)) if port is None else {f"getitem {port}"}
            joined: Group = ([], [])
            joined[side].append(node)
            for part in [part for part in parts if not part[0].isdisjoint(names)]:
                parts.remove(part)
                names |= part[0]
                joined = (part[1][0] + joined[0], part[1][1] + joined[1])
            parts.append((names, joined))
    yield from ((sorted(mine), sorted(theirs)) for _, (mine, theirs) in parts if mine and theirs)


class Found:
    """What is known of who is who, and how values flow between the nodes of two stages."""

    def __init__(self, pair: Pair) -> None:
        self.run = pair.run
        self.later: dict[int, list[int]] = {}
        self._earlier: set[int] = set()
        self._linked = set(pair.to_earlier)
        self._known = {a: [link.dst for link in links] for a, links in pair.to_later.items()}
        self._reads: dict[int, list[int]] = {}
        self._users: dict[int, list[int]] = defaultdict(list)
        passed = pair.run.given
        for node in (*pair.earlier, *pair.later):
            sources = [passed[node]] if node in passed else pair.run.inputs[node]
            self._reads[node] = [inner_value(pair.run, src, port) for src, port, *_ in sources]
            for source in self._reads[node]:
                self._users[source].append(node)

    def add(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Takes counterparts in."""
        for a, b in pairs:
            self.later.setdefault(a, []).append(b)
            self._earlier.add(b)

    def open(self, part: Group) -> Group:
        """Returns those nodes of a part that have no counterpart yet."""
        return [a for a in part[0] if a not in self.later], [b for b in part[1] if b not in self._earlier]

    def near(self, node: int, rivals: Set[int], *, up: bool, mine: bool) -> tuple[frozenset[int], int]:
        """Returns the nearest nodes before, or behind, a node that have counterparts, as nodes of the later stage.

        With them the number of rivals on the way there: of two in a row, one is the first.
        """
        found: set[int] = set()
        seen = {node}
        stack = [node]
        while stack and len(seen) < _FARTHEST:
            here = stack.pop()
            for other in self._reads.get(here, ()) if up else self._users.get(here, ()):
                if other in seen or (self.run.boundary[other] and self.run.role[other] not in ("input", "output")):
                    continue
                seen.add(other)
                ends = self._ends(other, mine=mine)
                found.update(ends)
                if not ends:
                    stack.append(other)
        return frozenset(found), len(seen & rivals)

    def _ends(self, node: int, *, mine: bool) -> Iterable[int]:
        if mine:
            return self.later.get(node) or self._known.get(node, [])
        return (node,) if node in self._earlier or node in self._linked else ()


def _by_flow(found: Found, parts: Sequence[Group]) -> None:
    """Matches nodes that alone read what their counterparts read, or are read by theirs, while there are any."""
    changed = True
    while changed:
        changed = False
        for part in parts:
            mine, theirs = found.open(part)
            if len(mine) * len(theirs) > _LARGEST:
                continue
            for up in (True, False):
                one = _by_border(found, mine, up=up, mine=True)
                other = _by_border(found, theirs, up=up, mine=False)
                pairs = [
                    (one[border][0], other[border][0])
                    for border in one.keys() & other.keys()
                    if border[0] and len(one[border]) == len(other[border]) == 1
                ]
                found.add(pairs)
                changed |= bool(pairs)
                mine, theirs = found.open(part)


def _by_border(
    found: Found, nodes: Sequence[int], *, up: bool, mine: bool
) -> dict[tuple[frozenset[int], int], list[int]]:
    groups: dict[tuple[frozenset[int], int], list[int]] = defaultdict(list)
    rivals = set(nodes)
    for node in nodes:
        groups[found.near(node, rivals, up=up, mine=mine)].append(node)
    return groups


Handles = dict[int, frozenset[int]]
"""The handles of each node that has any, in one namespace."""

_INSTRUCTION, _DEBUG_HANDLE = "instruction", "debug_handle"
_IN_CALL = "run by this call, which keeps no operator of its own for it"
_AGREEING = 0.9
"""Share of nodes that must stand for the same on both sides; a re-numbered program agrees on far fewer."""


def handle(pair: Pair) -> Iterator[Link]:
    """Nodes that carry the same handles, where both stages number the same program.

    Handles are coarse: what was decomposed shares the handle of its origin. So equal handles say which *groups*
    correspond; :func:`fxstore.link.handles.matches` says who is who in two groups, or that nobody can tell.
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
