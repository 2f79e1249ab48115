"""Links of stages that record no provenance: what stands in the same call of the same module, and computes the same."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fxstore.link.lineage import NOTHING
from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run
from fxstore.records import EXECUTED

Key = tuple[str, str, str, int | None, int | None]
_NOTE: Final = "equal module, call and operator, no provenance recorded"
_WRITTEN: Final = {
    "convolution": "conv2d", "native_layer_norm": "layer_norm", "native_batch_norm": "batch_norm",
    "native_group_norm": "group_norm", "native_dropout": "dropout", "max_pool2d_with_indices": "max_pool2d",
    "addmm": "linear", "concat": "cat", "split_with_sizes": "split",
}  # fmt: skip
"""What a decomposed operator is called where it was written."""


def same_place(pair: Pair) -> Iterator[Link]:
    """Operators of one kind in one call of one module, in order, where both stages have equally many of them.

    Only for stages of which nothing is recorded about each other, as for files that other tools wrote. Where one does
    not tell the calls of a module apart, all its calls are one.
    """
    run = pair.run
    if any(run.role[b] == "op" for b in pair.to_earlier):
        return  # one of the two was made of the other, and says so
    yield from _placed(pair, [b for b in pair.open() if run.role[b] == "op" and run.lineage.head[b] == NOTHING], False)


def as_it_ran(pair: Pair) -> Iterator[Link]:
    """The same, between what was run and a program, whatever each of them records: then values are equal, too."""
    if _ran(pair):
        yield from _placed(pair, [b for b in pair.open() if pair.run.role[b] == "op"], True)


def _placed(pair: Pair, waiting: list[int], ran: bool) -> Iterator[Link]:
    run, left = pair.run, pair.gone()
    for calls in (True, False):
        mine, theirs = _groups(run, left, calls, ran), _groups(run, waiting, calls, ran)
        linked: set[int] = set()
        for key in mine.keys() & theirs.keys():
            if len(mine[key]) == len(theirs[key]):
                for a, b in _in_order(run, mine[key], theirs[key]):
                    linked |= {a, b}
                    if not ran and run.name[a] == run.name[b]:
                        continue  # the name says so, too: left to that rule
                    alike = run.shape[a] == run.shape[b] and run.dtype[a] == run.dtype[b]
                    holds = alike and (ran or not (run.has_provenance(a) or run.has_provenance(b)))
                    yield Link(a, b, "structure", True, _NOTE, holds=holds)
        left = [a for a in left if a not in linked]
        waiting = [b for b in waiting if b not in linked]


def _ran(pair: Pair) -> bool:
    """Tells whether one of two stages holds what was run, call by call, and the other a program."""
    run = pair.run
    kinds = [{run.kind_of_stage[run.stage[node]] == EXECUTED for node in nodes} for nodes in (pair.earlier, pair.later)]
    return kinds in ([{True}, {False}], [{False}, {True}])


def _groups(run: Run, nodes: Sequence[int], calls: bool, ran: bool) -> dict[Key, list[int]]:
    found: dict[Key, list[int]] = defaultdict(list)
    for node in nodes:
        operator, output = _operator(run, node) if ran else (node, None)
        path, call = run.module[operator]
        if path is not None and (call is not None) >= calls:
            word = run.op_type[operator]
            if ran:
                word = word.strip("_").removesuffix("_copy")
                word = _WRITTEN.get(word, word)
            key = (run.graphs[run.graph[node]].path, path, word, output, call if calls else None)
            found[key].append(node)
    return found


def _operator(run: Run, node: int) -> tuple[int, int | None]:
    """Returns the operator whose value a node is, and which of several: what reads one stands for it."""
    if run.selects_port(node):
        return run.inputs[node][0][:2]
    if run.kind_of_stage[run.stage[node]] != EXECUTED:
        return node, None
    output = json.loads(run.attrs[node] or "{}").get("output")
    return node, output if isinstance(output, int) else None


def _in_order(run: Run, mine: Sequence[int], theirs: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Pairs two lists of nodes: by name where all names are on both sides, else one after the other."""
    by_name = {run.name[b]: b for b in theirs}
    if by_name.keys() == {run.name[a] for a in mine}:
        return zip(mine, [by_name[run.name[a]] for a in mine], strict=True)
    return zip(mine, theirs, strict=True)
