"""What a backend packs: constants that a program does not name, and layouts that it inserts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fxstore.link.pair import Link, Pair
from fxstore.link.run import STATE, Run


def constant(pair: Pair) -> Iterator[Link]:
    """A constant without a name is what the counterpart of its reader reads, where only one node can be meant.

    Its value may have been edited on the way (a batch-norm folded into a weight): the link is of origin alone.
    """
    run = pair.run
    waiting = [b for b in pair.open() if is_unnamed(run, b)]
    inner: dict[int, list[int]] = defaultdict(list)
    for node, (source, _) in run.given.items() if waiting else ():
        inner[source].append(node)
    for b in waiting:
        found: set[int] | None = None
        reader = ""
        for user, places in _readers(run, b, inner):
            if may_be := _read_there(pair, b, user, places):
                found = may_be if found is None else found & may_be
                reader = reader or run.name[user]
        if found is not None and len(found) == 1:
            yield Link(found.pop(), b, "structure", True, f"read by {reader} in its place")


def is_unnamed(run: Run, node: int) -> bool:
    """Tells whether a node stands for a constant of which its graph says nothing but the value."""
    return run.role[node] in STATE and run.name[node] not in run.graphs[run.graph[node]].signature


def _readers(run: Run, b: int, inner: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, set[str]]]:
    """Yields what reads a value, also inside of the delegates that it is passed to, and the arguments that it is."""
    for node in (b, *inner.get(b, ())):
        for user in dict.fromkeys(run.users[node]):
            if run.role[user] != "delegate" and not run.quantiser[user]:
                yield user, {arg for src, _, arg in run.inputs[user] if src == node}


def _read_there(pair: Pair, b: int, user: int, places: set[str]) -> set[int]:
    """Returns the constants that the counterparts of ``user`` read and ``b`` may be: of one shape and dtype."""
    run = pair.run
    uses = [
        (src, arg)
        for link in pair.to_earlier.get(user, ())
        if not link.inferred
        for src, _, arg in run.inputs[link.src]
        if run.role[src] in STATE and src not in pair.to_later
        if (run.shape[src], run.dtype[src]) == (run.shape[b], run.dtype[b])
    ]
    in_place = {src for src, arg in uses if arg in places}
    return in_place or ({src for src, _ in uses} if run.target[user].startswith("xnnpack.") else set())


def layout(pair: Pair) -> Iterator[Link]:
    """A transpose that XNNPACK inserted gives its input's value in the layout in which the counterpart has it."""
    run = pair.run
    for b in pair.open():
        if b not in run.inserted_layouts:
            continue
        source = run.inputs[b][0][0]
        same = [link.src for link in pair.to_earlier.get(source, ()) if run.shape[link.src] == run.shape[b]]
        if same and b not in run.otherwise_laid:
            note = f"lays the value of {run.name[source]} out as it was"
            yield Link(max(same), b, "structure", True, note, holds=True)


# Links of what observes and quantises a value: it belongs to that value.


def observer(pair: Pair) -> Iterator[Link]:
    """An observer, and what quantises its value, belongs to the value that it observes."""
    run = pair.run
    found: dict[int, list[int]] = {}
    waiting = pair.open()
    for b in waiting:
        if run.quantiser[b] and run.inputs[b]:
            source = run.inputs[b][0][0]
            partners = [link.src for link in pair.to_earlier.get(source, ())] or found.get(source, [])
            found[b] = partners
            guess = f"quantises {run.name[source]}"
            for a in partners:
                yield Link(a, b, "observer") if run.is_observer(b) else Link(a, b, "structure", True, guess)
    for b in waiting:
        if run.role[b] in ("parameter", "buffer", "constant") and run.users[b]:
            yield from _quantised_state(pair, b)


def _quantised_state(pair: Pair, b: int) -> Iterator[Link]:
    """Codes, scales and zero points of a weight, through the observer that became the node that dequantises them."""
    run = pair.run
    partners = {
        run.inputs[link.src][0][0]
        for user in run.users[b]
        if run.quantiser[user]
        for link in pair.to_earlier.get(user, ())
        if run.quantiser[link.src] and run.inputs[link.src]
    }
    for a in sorted(partners):
        yield Link(a, b, "observer")


# The outputs of an operator that takes a value apart, among the slices that it was decomposed into.


_TAKES_APART: Final = frozenset(
    {
        "unbind", "split", "split_with_sizes", "chunk", "tensor_split",
        "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes",
    }
)  # fmt: skip
_TAKES_ONE: Final = {"slice": "start", "slice_copy": "start", "select": "index", "select_copy": "index"}
_KEEPS_ORDER: Final = frozenset({"squeeze", "view", "reshape", "alias", "clone", "_clone_dim_order"})


def pieces(pair: Pair) -> Iterator[Link]:
    """What reads an output of an operator that was split up became the slice that is this output.

    Each output is one slice of the input, in order: the one that begins first is output 0. Only where each output has
    its slice, all of one value along one axis, from places that the graph says.
    """
    run = pair.run
    for a in pair.earlier:
        readers = [user for user in run.users[a] if run.selects_port(user) and user not in pair.to_later]
        if not readers or not takes_apart(run.op_type[a]):
            continue
        found = _slices(pair, a)
        for reader in readers if len(found) == run.ports[a] else ():
            port = run.inputs[reader][0][1]
            note = f"output {port} of {run.name[a]}, by where it begins"
            yield Link(reader, found[port], "structure", True, note, holds=True)


def takes_apart(kind: str) -> bool:
    """Tells whether an operator's outputs are parts of its input."""
    return kind.removesuffix("_copy") in _TAKES_APART


def _slices(pair: Pair, a: int) -> list[int]:
    """Returns the slices that an operator became, as they follow each other; none where that is not certain."""
    run = pair.run
    members = {link.dst for link in pair.to_later.get(a, ()) if not link.inferred}
    last = [b for b in members if not any(user in members for user in run.users[b])]
    places = {b: place for b in last if (place := _place(run, b, members)) is not None}
    cuts = {(value, axis) for value, axis, _ in places.values()}
    begins = {begin: b for b, (_, _, begin) in places.items()}
    return [begins[begin] for begin in sorted(begins)] if len(cuts) == 1 and len(begins) == len(last) else []


def _place(run: Run, b: int, members: set[int]) -> tuple[tuple[int, int], int, int] | None:
    """Returns the value that a node is a slice of, along which axis, and where it begins; None where none says."""
    while run.op_type[b].removesuffix("_copy") in _KEEPS_ORDER and run.inputs[b] and run.inputs[b][0][0] in members:
        b = run.inputs[b][0][0]
    begin = _TAKES_ONE.get(run.op_type[b])
    if begin is None or len(run.inputs[b]) != 1:
        return None  # more inputs: a place that is computed
    given = json.loads(run.attrs[b] or "{}").get("args", {})
    axis, start = given.get("1", given.get("dim", 0)), given.get("2", given.get(begin, 0)) or 0
    if not isinstance(axis, int) or not isinstance(start, int) or start < 0:
        return None
    return run.inputs[b][0][:2], axis, start
