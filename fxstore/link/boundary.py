"""Links of what stands at the border of a graph: its inputs and outputs, its weights, and the ports of delegates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.pair import Link, Pair
from fxstore.link.run import NOTHING, Run


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


def ports(pair: Pair) -> Iterator[Link]:
    """What reads an output, of an operator or a delegate, is what reads that output of the operator's counterpart.

    Its own name and ancestor say nothing: names are given anew, and all parts of a composite have one ancestor.
    """
    run = pair.run
    waiting = [b for b in pair.open() if run.selects_port(b)]
    readers: dict[tuple[tuple[int, int], bool], list[int]] = defaultdict(list)
    for a in pair.earlier if waiting else ():
        if run.selects_port(a):
            readers[run.value(a), _of_delegate(run, a)].append(a)
    for b in waiting:
        node, port = run.value(b)
        for link in pair.to_earlier.get(node, ()):
            value, of_delegate = (link.src, port if run.ports[link.src] > 1 else 0), _of_delegate(run, b)
            found = readers.get((value, of_delegate)) or readers.get((value, not of_delegate), [])
            found = [a for a in found if run.shape[a] == run.shape[b]]
            found = [a for a in found if run.name[a] == run.name[b]] or found[:1]
            if not found and run.ports[link.src] <= 1:
                found = [link.src]
            yield from (_as_giver(run, link, a, b) for a in found)


def _as_giver(run: Run, giver: Link, a: int, b: int) -> Link:
    """Returns the link of two nodes that read an output, by the evidence that there is for what gives it."""
    evidence = giver.evidence
    if evidence in ("identity", "from_node"):
        kept = run.name[a] == run.name[b] and run.op_type[a] == run.op_type[b] and run.dtype[a] == run.dtype[b]
        crosses = _of_delegate(run, b) and run.lineage.head[b] == NOTHING
        evidence = "delegate" if crosses else "identity" if kept else "from_node"
    return giver._replace(src=a, dst=b, evidence=evidence)


def delegate_call(pair: Pair) -> Iterator[Link]:
    """A call is the one that runs the counterparts of what it runs: delegates are numbered anew, as names are."""
    run = pair.run
    for b in pair.open():
        if run.role[b] != "delegate" or b not in run.calls:
            continue
        inner = [node for node in run.nodes_of(run.calls[b]) if run.role[node] == "op"]
        homes = {
            run.parents.get(run.graph[link.src]) for node in inner for link in pair.to_earlier.get(node, ())
            if not link.inferred
        }  # fmt: skip
        if len(homes) == 1 and (a := homes.pop()) is not None and run.role[a] == "delegate":
            yield Link(a, b, "delegate")


def _of_delegate(run: Run, node: int) -> bool:
    return run.role[run.inputs[node][0][0]] == "delegate"


def delegate_input(pair: Pair) -> Iterator[Link]:
    """An input of a delegate's graph is what the call passes."""
    run = pair.run
    for b in pair.open():
        if run.role[b] == "subgraph":
            yield from _same_argument(pair, b)
        elif b in run.given:
            guess = _is_guess(pair, *run.given[b])
            for a in sorted(_giving(pair, *run.given[b])):
                yield (
                    Link(a, b, "structure", True, "passed on as it is", holds=True) if guess else Link(a, b, "delegate")
                )


def body_input(pair: Pair) -> Iterator[Link]:
    """An input of a branch or a loop's body is the one in its place of that graph's counterpart."""
    run = pair.run
    bodies = _bodies(run)
    for attribute in [b for b in pair.later if b in bodies]:
        inner = _inputs(run, bodies[attribute])
        for link in pair.to_earlier.get(attribute, ()):
            outer = _inputs(run, bodies[link.src]) if link.src in bodies else []
            if len(inner) == len(outer):
                yield from (
                    Link(a, b, "signature")
                    for a, b in zip(outer, inner, strict=True)
                    if b not in pair.to_earlier and (run.dtype[a], run.shape[a]) == (run.dtype[b], run.shape[b])
                )


def _bodies(run: Run) -> dict[int, int]:
    """Returns the index of each nested graph that is no delegate's, by the attribute that holds it."""
    return {
        src: graph
        for graph, call in run.parents.items()
        if run.role[call] != "delegate"
        for src, _, _ in run.inputs[call]
        if run.role[src] == "subgraph" and run.target[src] == run.graphs[graph].path.rpartition("/")[2]
    }


def _inputs(run: Run, graph: int) -> list[int]:
    base = run.base[graph]
    return [base + i for i in range(len(run.graphs[graph].nodes)) if run.role[base + i] == "input"]


def inner_value(run: Run, node: int, port: int) -> int:
    """Returns the node that gives a value: of a delegate's port, the inner node that its graph returns there."""
    if run.role[node] == "delegate" and node in run.calls:
        values = run.outputs(run.calls[node])
        return values[port][0] if port < len(values) else node
    return node


def _is_guess(pair: Pair, node: int, port: int) -> bool:
    return all(link.inferred for link in pair.to_earlier.get(inner_value(pair.run, node, port), ()))


def _giving(pair: Pair, node: int, port: int) -> set[int]:
    """Returns the counterparts of a node that give its value at a port: of several outputs, what reads that one."""
    run = pair.run
    found = {link.src for link in pair.to_earlier.get(inner_value(run, node, port), ())}
    return {a for a in found if run.selects_port(a) and run.port(a) == port} or {
        a for a in found if not run.selects_port(a)
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
