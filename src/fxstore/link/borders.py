"""Links of what stands at the border of a graph: its inputs and outputs, its weights, and the ports of delegates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.pair import Link, Pair
from fxstore.link.recorded import through_delegate
from fxstore.link.run import Run


def signature(pair: Pair) -> Iterator[Link]:
    """Parameters, buffers and constants by their FQN, inputs and outputs by position, whatever they are called."""
    run = pair.run
    index: dict[str, list[int]] = defaultdict(list)
    for a in pair.earlier:
        if key := _signature_key(run, a):
            index[key].append(a)
    for b in pair.open():
        if key := _signature_key(run, b):
            yield from (Link(a, b, "signature") for a in index.get(key, ()))


def _signature_key(run: Run, ordinal: int) -> str | None:
    graph = run.graphs[run.graph[ordinal]]
    if run.role[ordinal] == "output":
        return "output" if not graph.path else None
    return graph.signature.get(run.name[ordinal])


def delegate_port(pair: Pair) -> Iterator[Link]:
    """What reads a delegate's port is the inner value of that port; an inner input is what the call passes."""
    run = pair.run
    passed = _passed(run)
    for b in pair.open():
        if run.role[b] == "subgraph":
            yield from _same_argument(pair, b)
            continue
        outer = {link.src for link in pair.to_earlier.get(passed.get(b, -1), ())}
        for a in sorted(outer | through_delegate(pair, b)):
            yield Link(a, b, "delegate")


def _passed(run: Run) -> dict[int, int]:
    """Returns, for each input of a delegate's graph, the node whose value the call passes there."""
    return {
        inner: src
        for call, graph in run.calls.items()
        if run.role[call] == "delegate"
        for inner, (src, _) in run.passed(call, graph)
    }


def _same_argument(pair: Pair, b: int) -> Iterator[Link]:
    """Links the attribute that holds a nested graph to the one that the counterpart of its caller uses in its place."""
    run = pair.run
    for user in run.users[b]:
        places = {arg for src, _, arg in run.inputs[user] if src == b}
        for link in pair.to_earlier.get(user, ()):
            for src, _, arg in run.inputs[link.src]:
                if arg in places and run.role[src] == "subgraph":
                    yield Link(src, b, "delegate")


def memberships(run: Run) -> list[Link]:
    """Links each operator inside a delegate to the call that runs it."""
    return [
        Link(node, call, "delegate")
        for call, graph in run.calls.items()
        if run.role[call] == "delegate"
        for node in range(run.base[graph], run.base[graph] + len(run.graphs[graph].nodes))
        if run.role[node] in ("op", "symint", "delegate")
    ]
