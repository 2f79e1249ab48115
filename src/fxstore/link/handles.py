"""Links by debug handle: only inside one program and method, within one numbering, where nothing better is recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from fxstore.link.pair import Link, Pair, by_kind
from fxstore.link.run import Run

Handles = dict[int, frozenset[int]]
"""The handles of each node that has any, in one namespace."""

_AGREEING = 0.9
"""Share of nodes that must stand for the same on both sides; a re-numbered program agrees on far fewer."""
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
    }
)  # fmt: skip
"""Operators that XNNPACK names otherwise; any other name is taken for the operator's own."""


def handle(pair: Pair) -> Iterator[Link]:
    """Nodes that carry the same handles, where both stages number the same program.

    Handles are coarse: what was decomposed shares the handle of its origin. So equal handles say which *groups*
    correspond. Within them equal operators match in order where there are equally many; a group of one matches all of
    the other; of two groups without such an order nothing is said.
    """
    mine, theirs = (_handles(pair.run, nodes) for nodes in (pair.earlier, pair.later))
    spaces = [space for space in sorted(mine.keys() & theirs.keys()) if theirs[space].keys() - pair.to_earlier.keys()]
    if spaces and _one_program(pair, mine, theirs):
        for space in spaces:
            waiting = {b: handles for b, handles in theirs[space].items() if b not in pair.to_earlier}
            yield from _same_handles(pair, mine[space], waiting)


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
        alike = any(_same_operator(run, a, b) for a in sides[0] for b in sides[1])
        small, large = sorted(sides, key=len)
        if alike or len(large) == 1 or len(small) > 1 or run.shape[small[0]] not in {run.shape[b] for b in large}:
            yield alike


def _same_operator(run: Run, a: int, b: int) -> bool:
    if _is_translated(run, a) or _is_translated(run, b):
        return not _names(run, a).isdisjoint(_names(run, b))
    return run.kind(a) == run.kind(b) and (None in (run.shape[a], run.shape[b]) or run.shape[a] == run.shape[b])


def _is_translated(run: Run, node: int) -> bool:
    return run.target[node].startswith("xnnpack.")


def _names(run: Run, node: int) -> frozenset[str]:
    kind = run.kind(node)[0]
    return frozenset((kind, *(_MEANING.get(kind, ()) if _is_translated(run, node) else ())))


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
        for a, b in _matches(pair.run, earlier, later):
            matched.add(b)
            yield Link(a, b, "handle")
    yield from _sharing(pair, mine, {b: numbers for b, numbers in waiting.items() if b not in matched})


def _matches(run: Run, earlier: list[int], later: list[int]) -> Iterator[tuple[int, int]]:
    """Yields who is who in two groups of one handle; nothing, where that is not certain."""
    pairs, left, rest = by_kind(run, earlier, later)
    for b in list(rest):
        alike = [a for a in left if _same_operator(run, a, b)]
        rivals = [other for other in rest if any(_same_operator(run, a, other) for a in alike)]
        if len(alike) == len(rivals) == 1:
            pairs.append((alike[0], b))
    taken = {node for one in pairs for node in one}
    left, rest = ([node for node in side if node not in taken] for side in (left, rest))
    if left and rest:
        pairs += [(a, b) for a in left for b in rest] if 1 in (len(left), len(rest)) else []
    elif earlier and later and 1 in (len(earlier), len(later)):
        pairs += [(a, later[0]) for a in left] + [(earlier[0], b) for b in rest]
    yield from (one for one in pairs if _may_match(run, *one))


def _may_match(run: Run, a: int, b: int) -> bool:
    """A call whose graph is known has its counterparts through its content; only a call may be its own."""
    calls = [run.role[node] == "delegate" and node in run.calls for node in (a, b)]
    return True not in calls or (run.role[a] == run.role[b] == "delegate")


def _sharing(pair: Pair, mine: Handles, waiting: Handles) -> Iterator[Link]:
    """What carries several handles is made of all that they stand for; the note says how many of them are known."""
    run = pair.run
    ours, others = _by_handle(mine), _by_handle(waiting)
    for b in sorted(waiting):
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
