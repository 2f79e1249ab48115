"""Two neighbouring stages, and the links found between them so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fxstore.link.run import Run

LARGEST_GUESS = 64
"""Inferred links of one group at most; a larger one says nothing about who became whom."""


class Link(NamedTuple):
    """The node ``src`` became the node ``dst``; ``src`` is in the earlier stage.

    ``holds`` says that the values of both must be equal although the link is inferred, ``port`` which output of ``dst``
    has the value.
    """

    src: int
    dst: int
    evidence: str
    inferred: bool = False
    note: str | None = None
    holds: bool = False
    port: int = 0


@dataclass
class Pair:
    """Two stages of one method, and the links found between them so far.

    ``undecided`` says of nodes of the later stage what is known, where that is not enough for a link.
    """

    run: Run
    earlier: list[int]
    later: list[int]
    to_earlier: dict[int, list[Link]] = field(default_factory=lambda: defaultdict(list))
    to_later: dict[int, list[Link]] = field(default_factory=lambda: defaultdict(list))
    undecided: dict[int, str] = field(default_factory=dict)

    def add(self, links: Iterable[Link]) -> None:
        """Takes links in."""
        for link in links:
            self.to_earlier[link.dst].append(link)
            self.to_later[link.src].append(link)

    def open(self) -> list[int]:
        """Returns the nodes of the later stage that have no link yet."""
        return [b for b in self.later if b not in self.to_earlier]

    def gone(self) -> list[int]:
        """Returns the operators of the earlier stage that have no link yet."""
        return [a for a in self.earlier if a not in self.to_later and self.run.role[a] == "op"]

    def became(self, nodes: Iterable[int]) -> set[int]:
        """Returns what some nodes of the earlier stage became."""
        return {link.dst for node in nodes for link in self.to_later.get(node, ())}


def consumers(run: Run, node: int) -> set[int]:
    """Returns the nodes that use a value, looking through what observes or quantises it."""
    found: set[int] = set()
    stack = [node]
    while stack:
        for user in run.users[stack.pop()]:
            if not run.quantiser[user]:
                found.add(user)
            elif user not in found:
                stack.append(user)
    return found


def by_kind(
    run: Run, earlier: Sequence[int], later: Sequence[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Matches nodes of two groups that have one origin: equal operators in order, where there are equally many.

    Returns:
        The pairs, and what is left on either side.
    """
    if len(earlier) == len(later) == 1 and run.kind(earlier[0]) == run.kind(later[0]):
        return [(earlier[0], later[0])], [], []
    groups: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, nodes in enumerate((earlier, later)):
        for node in nodes:
            groups[run.kind(node)][side].append(node)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    rest: list[int] = []
    for mine, theirs in groups.values():
        if len(mine) == len(theirs) and _have_shapes_in_order(run, mine, theirs):
            pairs += zip(mine, theirs, strict=True)
        else:
            left += mine
            rest += theirs
    return pairs, sorted(left), sorted(rest)


def _have_shapes_in_order(run: Run, mine: Sequence[int], theirs: Sequence[int]) -> bool:
    shapes = ((run.shape[a], run.shape[b]) for a, b in zip(mine, theirs, strict=True))
    return len(mine) == 1 or all(None in both or both[0] == both[1] for both in shapes)
