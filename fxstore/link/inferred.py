"""Links that are concluded from the structure around a node, not recorded: each is marked so, and says why."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from fxstore.link.pair import LARGEST_GUESS, Link, Pair, consumers
from fxstore.link.run import NOTHING, VIEWS, Run
from fxstore.records import EXECUTED

_NOT_REPEATABLE = ("rand", "bernoulli", "dropout", "normal", "multinomial", "exponential", "alloc", "empty", "delegate")


def folded(pair: Pair) -> Iterator[Link]:
    """Batch-norms that vanished behind an operator which stayed, and is read in their place, were folded into it."""
    run = pair.run
    norms = {a for a in pair.gone() if "batch_norm" in run.op_type[a] and run.inputs[a]}
    for last in sorted(norms):
        series, source = [last], run.inputs[last][0][0]
        while source in norms or (run.op_type[source] == "getitem" and run.inputs[source][0][0] in norms):
            series += [source] if source in norms else []
            source = run.inputs[source][0][0]
        for link in list(pair.to_later.get(source, ())):
            b = link.dst
            if run.op_type[b] == run.op_type[source] and _read_instead(pair, last, b):
                note = f"folded into {run.name[b]}"
                yield from (Link(a, b, "structure", True, note, holds=a == last) for a in sorted(series))


def _read_instead(pair: Pair, a: int, b: int) -> bool:
    """Tells whether what used ``a`` uses ``b`` now, itself or through what observes it."""
    run = pair.run
    own = [u for user in run.users[a] for u in (run.users[user] if run.op_type[user] == "getitem" else [user])]
    users = pair.became(own)
    return any(user in users for user in consumers(run, b)) or not run.users[a]


def merged(pair: Pair) -> Iterator[Link]:
    """An operator that vanished while its equal stayed, and is read in its place, was merged with it.

    Equal means: the same target, constant arguments and inputs, so that both hold one value.
    """
    run = pair.run
    gone = pair.gone()
    if not gone:
        return
    number = _value_numbers(pair)
    stayed: dict[int, int] = {}
    for a, value in number.items():
        if a in pair.to_later:
            stayed.setdefault(value, a)
    absent = set(gone)
    for a in gone:
        twin = stayed.get(number.get(a, -1))
        for link in pair.to_later.get(twin, ()) if twin is not None else ():
            read = not absent.isdisjoint(run.users[a]) or _read_instead(pair, a, link.dst)
            if not link.inferred and run.users[a] and read:
                yield Link(a, link.dst, "structure", True, f"merged with {run.name[link.src]}", holds=True)


def _value_numbers(pair: Pair) -> dict[int, int]:
    """Numbers the values of the earlier stage's operators: equal computations have equal numbers.

    Nothing is said of what is random, or is edited in place.
    """
    run = pair.run
    edited = {_memory(run, run.inputs[a][0][0]) for a in pair.earlier if _edits(run.op_type[a]) and run.inputs[a]}
    found: dict[int, int] = {}
    numbers: dict[object, int] = {}
    for a in pair.earlier:
        if run.role[a] != "op" or _is_random(run.op_type[a]):
            continue
        if edited and any(_memory(run, node) in edited for node in (a, *(src for src, _, _ in run.inputs[a]))):
            continue
        reads = tuple((found.get(src, ~src), port, arg) for src, port, arg in run.inputs[a])
        found[a] = numbers.setdefault((run.graph[a], run.target[a], run.attrs[a], reads), len(numbers))
    return found


def _memory(run: Run, node: int) -> int:
    """Returns the node whose memory a value may share: what views and edits in place start from."""
    while (run.op_type[node] in VIEWS or _edits(run.op_type[node])) and run.inputs[node]:
        node = run.inputs[node][0][0]
    return node


@cache
def _edits(kind: str) -> bool:
    return kind.endswith("_") and not kind.endswith("__")


@cache
def _is_random(kind: str) -> bool:
    return any(word in kind for word in _NOT_REPEATABLE)


def read_in_place(pair: Pair) -> Iterator[Link]:
    """A port of an operator that was split up is what is read in its place now, of all that the operator became."""
    run = pair.run
    for a in pair.earlier:
        if a in pair.to_later or not run.selects_port(a):
            continue
        source, port, _ = run.inputs[a][0]
        parts = pair.became([source])
        found = {read for user in run.users[a] for read in _in_place_of(pair, a, user)}
        if len(found) == 1 and (there := found.pop())[0] in parts:
            note = f"output {port} of {run.name[source]}, read in its place"
            yield Link(a, there[0], "structure", True, note, holds=True, port=there[1])


def _in_place_of(pair: Pair, a: int, user: int) -> Iterator[tuple[int, int]]:
    """Yields the values that the counterparts of a user of ``a`` read where it reads ``a``."""
    run = pair.run
    places = {arg for src, _, arg in run.inputs[user] if src == a}
    for link in pair.to_later.get(user, ()):
        if run.kind(link.dst) == run.kind(user) and not link.inferred:
            yield from ((src, port) for src, port, arg in run.inputs[link.dst] if arg in places)


def rewritten(pair: Pair) -> Iterator[Link]:
    """A region that vanished and one that appeared between the same borders: one replaced the other.

    Both regions are connected, nothing in them has a counterpart, what the new one reads are counterparts of what the
    old one read, and what used the old one's values uses the new one's. Nodes with a namesake are no part of them.
    """
    run = pair.run
    appeared = [b for b in pair.open() if run.role[b] == "op"]
    gone = pair.gone() if appeared else []
    if not gone:
        return
    namesakes = {node for link in same_name(pair) for node in (link.src, link.dst)}
    by_users: dict[frozenset[int], list[tuple[list[int], set[int]]]] = defaultdict(list)
    for region in _regions(run, [a for a in gone if a not in namesakes]):
        reads, users = _borders(run, region)
        by_users[frozenset(pair.became(users))].append((region, pair.became(reads)))
    for region in _regions(run, [b for b in appeared if b not in namesakes]):
        reads, users = _borders(run, region)
        for old, known in by_users.get(frozenset(users), ()):
            if users and reads and reads <= known and len(old) * len(region) <= LARGEST_GUESS:
                note = f"{', '.join(run.name[a] for a in old)} became {', '.join(run.name[b] for b in region)}"
                yield from (Link(a, b, "structure", True, note) for a in old for b in region)


def _regions(run: Run, nodes: list[int]) -> list[list[int]]:
    """Returns the connected parts of some nodes, each in order."""
    left, found = set(nodes), []
    for start in nodes:
        if start not in left:
            continue
        left.discard(start)
        region, stack = [], [start]
        while stack:
            node = stack.pop()
            region.append(node)
            for other in (*(src for src, _, _ in run.inputs[node]), *run.users[node]):
                if other in left:
                    left.discard(other)
                    stack.append(other)
        found.append(sorted(region))
    return found


def _borders(run: Run, region: list[int]) -> tuple[set[int], set[int]]:
    """Returns what a region reads from outside, and what uses its values there."""
    inside = set(region)
    reads = {src for node in region for src, _, _ in run.inputs[node]} - inside
    return reads, {user for node in region for user in run.users[node]} - inside


def same_name(pair: Pair) -> Iterator[Link]:
    """Equal name and operator, where neither side has anything better."""
    run = pair.run
    waiting = [b for b in pair.open() if run.lineage.head[b] == NOTHING]
    if not waiting:
        return
    index = {
        (run.graphs[run.graph[a]].path, run.name[a], run.op_type[a]): a for a in pair.earlier if a not in pair.to_later
    }
    for b in waiting:
        a = index.get((run.graphs[run.graph[b]].path, run.name[b], run.op_type[b]))
        if a is not None and not (run.op_type[b] == "output" and run.role[a] != run.role[b]):
            yield Link(a, b, "name", True, "equal name and operator, no provenance recorded")


# Links of stages that record no provenance: what stands in the same call of the same module, and computes the same.


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
