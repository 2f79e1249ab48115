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
    numbers: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
    focus: dict[int, list[int]] = defaultdict(list)
    for node in range(len(run)):
        members = tuple(sorted(_reach(node, forward) | _reach(node, backward)))
        key = members, _primary(run, node, members, classes)
        focus[numbers.setdefault(key, len(numbers))].append(node)
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


def _primary(run: Run, node: int, members: tuple[int, ...], classes: Classes) -> frozenset[int]:
    """Returns, per stage, the member that computes the value that ``node`` holds."""
    root = classes.find((node, 0))
    stages: dict[int, list[int]] = defaultdict(list)
    for member in members:
        stages[run.stage(member)].append(member)
    primary = {node}
    for stage, candidates in stages.items():
        if stage == run.stage(node):
            continue
        holding = [m for m in candidates if classes.find((m, 0)) == root]
        best = _computing(run, holding or _plain(run, candidates))
        primary.add(_behind_views(run, best, set(candidates)))
    return frozenset(primary)


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
