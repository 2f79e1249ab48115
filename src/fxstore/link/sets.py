"""Sync sets: for each node, all nodes of the run that are one computation with it.

The rule: the set of a node holds the node, everything that it became (its links followed forward, step by step) and
everything that it came from (followed backward). Never forward after backward: siblings of a decomposition are no
counterparts of each other. Equal sets are stored once; each node is the focus of exactly one set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fxstore.link.rules import Link
from fxstore.link.run import VIEWS, Run
from fxstore.link.values import Classes


def sync_sets(run: Run, links: Sequence[Link], classes: Classes) -> tuple[list[tuple[int, int, bool, bool]], int]:
    """Returns one row (set, ordinal, is_primary, focus) per member of each set, and the number of sets."""
    forward: dict[int, list[int]] = defaultdict(list)
    backward: dict[int, list[int]] = defaultdict(list)
    for link in links:
        forward[link.src].append(link.dst)
        backward[link.dst].append(link.src)
    stage = [run.stage(node) for node in range(len(run))]
    value = [classes.find((node, 0)) for node in range(len(run))]
    holders: dict[tuple[tuple[int, ...], tuple[int, int]], dict[int, int]] = {}
    numbers: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
    focus: dict[int, set[int]] = defaultdict(set)
    for node in range(len(run)):
        members = tuple(sorted(_reach(node, forward) | _reach(node, backward)))
        key = members, value[node]
        if key not in holders:
            holders[key] = _holders(run, members, value[node], stage, value)
        others = (member for home, member in holders[key].items() if home != stage[node])
        primary = frozenset((node, *others))
        focus[numbers.setdefault((members, primary), len(numbers))].add(node)
    rows = [
        (number, member, member in primary, member in focus[number])
        for (members, primary), number in numbers.items()
        for member in members
    ]
    return rows, len(numbers)


def _reach(start: int, steps: dict[int, list[int]]) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for node in steps.get(stack.pop(), ()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def _holders(
    run: Run, members: tuple[int, ...], root: tuple[int, int], stage: Sequence[int], value: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Returns, per stage, the member that computes the value of the class ``root``."""
    stages: dict[int, list[int]] = defaultdict(list)
    for member in members:
        stages[stage[member]].append(member)
    found = {}
    for home, candidates in stages.items():
        if len(candidates) == 1:
            found[home] = candidates[0]
            continue
        holding = [member for member in candidates if value[member] == root]
        best = _computing(run, holding or _plain(run, candidates))
        found[home] = _behind_views(run, best, set(candidates))
    return found


def _computing(run: Run, candidates: list[int]) -> int:
    """Prefers an operator to what only passes its value on."""
    ops = [m for m in candidates if run.op_type[m] != "getitem" and run.role[m] != "delegate"]
    return max(ops or candidates)


def _plain(run: Run, candidates: list[int]) -> list[int]:
    return [m for m in candidates if not run.is_quantiser(m)] or candidates


def _behind_views(run: Run, node: int, members: set[int]) -> int:
    while run.op_type[node] in VIEWS and run.inputs[node] and run.inputs[node][0][0] in members:
        node = run.inputs[node][0][0]
    return node
