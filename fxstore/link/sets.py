"""Sync sets: for each node, all nodes of the run that are one computation with it.

The rule: the set of a node holds the node, everything that it became (its links followed forward, step by step) and
everything that it came from (followed backward). Never forward after backward: siblings of a decomposition are no
counterparts of each other. Equal sets are stored once; each node is the focus of exactly one set.

Its primary members, one per stage: in its own stage the node itself; in another one the member that holds its value,
where value pairs name one (an operator before what only hands a value on, then the first in program order), else the
last operator that is no quantiser; and behind views of another member, that member.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fxstore.link.pair import Link
from fxstore.link.run import VIEWS, Run
from fxstore.link.values import Classes

Columns = tuple[list[int], list[int], list[bool], list[bool]]
"""Set, ordinal, is_primary, focus: one row per member of each set."""


class _Sets:
    """The sets as they are found; equal ones are one, with several nodes in focus."""

    def __init__(self) -> None:
        self.focus: dict[tuple[tuple[int, ...], frozenset[int]], list[int]] = {}

    def add(self, members: tuple[int, ...], primary: frozenset[int], focus: Iterable[int]) -> None:
        self.focus.setdefault((members, primary), []).extend(focus)

    def columns(self) -> Columns:
        numbers: list[int] = []
        ordinals: list[int] = []
        primaries: list[bool] = []
        focuses: list[bool] = []
        for number, ((members, primary), nodes) in enumerate(self.focus.items()):
            numbers += [number] * len(members)
            ordinals += members
            primaries += [member in primary for member in members] if primary else [True] * len(members)
            focuses += [member in nodes for member in members]
        return numbers, ordinals, primaries, focuses


_ALL: frozenset[int] = frozenset()
"""Stands for all members, where each is alone in its stage."""


def sync_sets(run: Run, links: Iterable[Link], classes: Classes) -> Columns:
    """Returns the sets of all nodes of a run."""
    forward: dict[int, list[int]] = defaultdict(list)
    backward: dict[int, list[int]] = defaultdict(list)
    for link in links:
        forward[link.src].append(link.dst)
        backward[link.dst].append(link.src)
    sets = _Sets()
    for series in _series(len(run), forward, backward):
        first, last = series[0], series[-1]
        alone = first not in backward and last not in forward
        members = tuple(sorted(series if alone else _reach(first, forward) | _reach(first, backward)))
        if len({run.stage[member] for member in members}) == len(members):
            sets.add(members, _ALL, series)
            continue
        stages: dict[int, list[int]] = defaultdict(list)
        for member in members:
            stages[run.stage[member]].append(member)
        for node in series:
            others = (_primary(run, node, found, classes) for home, found in stages.items() if home != run.stage[node])
            sets.add(members, frozenset((node, *others)), (node,))
    return sets.columns()


def _series(size: int, forward: dict[int, list[int]], backward: dict[int, list[int]]) -> list[list[int]]:
    """Returns the nodes in runs of only children: what became one thing that came from nothing else has its set."""
    following = {a: out[0] for a, out in forward.items() if len(out) == 1 and len(backward[out[0]]) == 1}
    inner = set(following.values())
    found = []
    for node in range(size):
        if node not in inner:
            series = [node]
            while (node := following.get(node, -1)) >= 0:
                series.append(node)
            found.append(series)
    return found


def _reach(start: int, steps: dict[int, list[int]]) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for node in steps.get(stack.pop(), ()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def _primary(run: Run, focus: int, candidates: Sequence[int], classes: Classes) -> int:
    """Returns which members of another stage holds the value of the node in focus."""
    if len(candidates) == 1:
        return candidates[0]
    value = classes.find(classes.of(focus))
    holding = [member for member in candidates if classes.find(classes.of(member)) == value]
    if holding:
        best = min(holding, key=lambda member: (_hands_on(run, member), member))
    else:
        best = min(candidates, key=lambda member: (run.quantiser[member], _hands_on(run, member), -member))
    while run.op_type[best] in VIEWS and run.inputs[best] and run.inputs[best][0][0] in candidates:
        best = run.inputs[best][0][0]
    return best


def _hands_on(run: Run, node: int) -> bool:
    """Tells whether a node computes nothing itself: it reads a port, or stands for a value, an output or a call."""
    return run.role[node] not in ("op", "symint") or run.op_type[node] == "getitem"
