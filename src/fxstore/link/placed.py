"""Links of stages that record no provenance: what stands in the same call of the same module, and computes the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fxstore.link.lineage import NOTHING
from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run

Key = tuple[str, str, str, int | None]
_NOTE = "equal module, call and operator, no provenance recorded"


def same_place(pair: Pair) -> Iterator[Link]:
    """Operators of one kind in one call of one module, in order, where both stages have equally many of them.

    Only for stages of which nothing is recorded about each other, as for files that other tools wrote. Where one does
    not tell the calls of a module apart, all its calls are one.
    """
    run = pair.run
    if any(run.role[b] == "op" for b in pair.to_earlier):
        return  # one of the two was made of the other, and says so
    waiting = [b for b in pair.open() if run.role[b] == "op" and run.lineage.head[b] == NOTHING]
    left = pair.gone()
    for calls in (True, False):
        mine, theirs = _groups(run, left, calls), _groups(run, waiting, calls)
        linked: set[int] = set()
        for key in mine.keys() & theirs.keys():
            if len(mine[key]) == len(theirs[key]):
                for a, b in _in_order(run, mine[key], theirs[key]):
                    linked |= {a, b}
                    yield Link(a, b, "structure", True, _NOTE)
        left = [a for a in left if a not in linked]
        waiting = [b for b in waiting if b not in linked]


def _groups(run: Run, nodes: Sequence[int], calls: bool) -> dict[Key, list[int]]:
    found: dict[Key, list[int]] = defaultdict(list)
    for node in nodes:
        path, call = run.module[node]
        if path is not None and (call is not None) >= calls:
            key = (run.graphs[run.graph[node]].path, path, run.op_type[node], call if calls else None)
            found[key].append(node)
    return found


def _in_order(run: Run, mine: Sequence[int], theirs: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Pairs two lists of nodes: by name where all names are on both sides, else one after the other."""
    by_name = {run.name[b]: b for b in theirs}
    if by_name.keys() == {run.name[a] for a in mine}:
        return zip(mine, [by_name[run.name[a]] for a in mine], strict=True)
    return zip(mine, theirs, strict=True)
