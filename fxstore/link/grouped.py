"""Says who is who in two groups of nodes that carry equal handles, as far as that is certain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from types import MappingProxyType
from typing import Final

from fxstore.link.borders import inner_value
from fxstore.link.pair import Pair
from fxstore.link.run import Run

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
