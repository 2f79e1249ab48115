"""What a backend packs: constants that a program does not name, and layouts that it inserts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

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
