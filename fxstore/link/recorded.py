"""Links that the compiler recorded about the nodes themselves: a graph that was kept, and chains of provenance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.lineage import NOTHING
from fxstore.link.pair import LARGEST_GUESS, Link, Pair, by_kind
from fxstore.link.run import Run


def identity(pair: Pair) -> Iterator[Link]:
    """Same name and target, and the same nearest ancestor: a graph that was kept, copied or partitioned."""
    run, nearest = pair.run, pair.run.lineage.nearest
    index: dict[object, int] = {}
    for a in pair.earlier:
        if run.lineage.head[a] != NOTHING and not run.boundary[a]:
            index.setdefault((nearest(a), run.name[a], run.target[a], run.port(a)), a)
    kept = _kept(pair)
    for b in pair.open():
        found = None
        if run.lineage.head[b] != NOTHING and not run.boundary[b]:
            found = index.get((nearest(b), run.name[b], run.target[b], run.port(b)))
        if found is None and run.graph[b] in kept:
            same = kept[run.graph[b]].get((run.name[b], run.target[b]))
            found = same if same is not None and nearest(same) == nearest(b) else None
        if found is not None:
            yield Link(found, b, "identity")


def _kept(pair: Pair) -> dict[int, dict[tuple[str, str], int]]:
    """Returns the earlier nodes of each later graph that may be an earlier one, edited: their identities agree."""
    run = pair.run
    earlier = {run.graph[a] for a in pair.earlier}
    found: dict[int, dict[tuple[str, str], int]] = {}
    for later in {run.graph[b] for b in pair.later}:
        same = [g for g in earlier if run.graphs[g].identities & run.graphs[later].identities]
        if same:
            nodes = (range(run.base[g], run.base[g] + len(run.graphs[g].nodes)) for g in sorted(same, reverse=True))
            found[later] = {(run.name[a], run.target[a]): a for part in nodes for a in reversed(part)}
    return found


def exact_source(pair: Pair) -> Iterator[Link]:
    """A hop of the chain names a node of the earlier stage: its graph, its name and its target."""
    run, lineage = pair.run, pair.run.lineage
    index: dict[int, list[int]] = defaultdict(list)
    copied = copies(pair)
    for a in pair.earlier:
        for number in run.graphs[run.graph[a]].identities | copied.get(run.graph[a], set()):
            hop = lineage.hops.get((number, run.name[a]))
            if hop is not None:
                index[hop].append(a)
    for b in pair.open() if index else ():
        for source in lineage.chain(b):
            cited, target = index.get(lineage.hop[source], ()), lineage.target[source]
            found = [a for a in cited if same_target(run.target[a], target)]
            if found:
                if _same_side(run, found[0], b):
                    yield Link(_reader_of_port(run, found[0], b), b, "from_node")
                break


def copies(pair: Pair) -> dict[int, set[int]]:
    """Returns, by index of an earlier graph, the identities under which the later stage cites a copy of it.

    A deep copy has a number of its own, but names, targets and provenance are the original's: all that is cited of it
    must agree, and be at least half of the graph, together with what the later stage kept as it was. A copy that was
    edited in place cites itself. A graph that is cited by its own number needs no such search.
    """
    run = pair.run
    earlier, later = ({run.graph[node] for node in nodes} for nodes in (pair.earlier, pair.later))
    own = {number for graph in later for number in run.graphs[graph].identities}
    numbers = {number for graph in later for number in run.graphs[graph].source_graphs}
    if own.isdisjoint(numbers) and all(numbers & run.graphs[graph].identities for graph in earlier):
        return {}
    known = {number for graph in run.graphs for number in graph.identities} - own
    cited = _cited(pair)
    uncited = {graph for graph in earlier if cited.keys().isdisjoint(run.graphs[graph].identities)}
    originals: dict[int, dict[str, int]] = defaultdict(dict)
    for a in pair.earlier:
        if run.graph[a] in uncited and not run.boundary[a]:
            originals[run.graph[a]].setdefault(run.name[a], a)
    found: dict[int, set[int]] = defaultdict(set)
    for graph, nodes in originals.items():
        kept = {name for name, node in nodes.items() if node in pair.to_later}
        for number, names in cited.items():
            if number not in known and 2 * len(kept | names.keys()) >= len(nodes) and _agree(run, nodes, names):
                found[graph].add(number)
    return found


def _cited(pair: Pair) -> dict[int, dict[str, int]]:
    """Returns the sources that operators of the later stage cite, by graph and name."""
    run, lineage = pair.run, pair.run.lineage
    cited: dict[int, dict[str, int]] = defaultdict(dict)
    seen: set[int] = set()
    for b in pair.later:
        for source in lineage.chain(b) if not run.boundary[b] else ():
            if source not in seen:
                seen.add(source)
                number, name = lineage.ancestor[lineage.hop[source]]
                cited[number].setdefault(name, source)
    return cited


def _agree(run: Run, nodes: dict[str, int], names: dict[str, int]) -> bool:
    lineage = run.lineage
    return all(
        name in nodes
        and same_target(run.target[nodes[name]], lineage.target[source])
        and lineage.head[nodes[name]] == lineage.parent[source]
        for name, source in names.items()
    )


def common_source(pair: Pair) -> Iterator[Link]:
    """The nearest ancestor that both sides name; of several candidates, those with the same operator."""
    run, lineage = pair.run, pair.run.lineage
    waiting = [
        b for b in pair.open() if lineage.head[b] != NOTHING and not run.boundary[b] and run.role[b] != "subgraph"
    ]
    if not waiting:
        return
    index: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a in pair.earlier:
        if not run.boundary[a]:
            for depth, source in enumerate(lineage.chain(a)):
                index[lineage.hop[source]].append((depth, a))
    groups: dict[int, list[int]] = defaultdict(list)
    for b in waiting:
        hop = next((h for h in (lineage.hop[source] for source in lineage.chain(b)) if h in index), None)
        if hop is not None:
            groups[hop].append(b)
    for hop, later in groups.items():
        nearest = min(depth for depth, _ in index[hop])
        earlier = [a for depth, a in index[hop] if depth == nearest]
        yield from _by_operator(pair, lineage.ancestor[hop][1], earlier, later)


def _by_operator(pair: Pair, ancestor: str, earlier: list[int], later: list[int]) -> Iterator[Link]:
    """Links what comes from one source: equal operators in order; what was fused from all of it, or split into all.

    Where neither tells who is who, the link says no more than the common source, and is inferred.
    """
    run = pair.run
    through = {b: of_port(pair, b, earlier) for b in later}
    for b, candidates in through.items():
        yield from (Link(a, b, "from_node") for a in candidates)
    later = [b for b in later if not through[b]]
    earlier = [a for a in earlier if a not in pair.to_later] or earlier
    pairs, left, rest = by_kind(run, earlier, later)
    yield from (Link(a, b, "from_node") for a, b in pairs)
    for b in rest:
        if run.selects_port(b) and run.ports[run.inputs[b][0][0]] > 1 and any(run.port(a) is not None for a in earlier):
            continue  # a port that nothing read before
        candidates = [a for a in left if run.kind(a) == run.kind(b)] or left or earlier
        if len(candidates) == 1 or (len(rest) == 1 and left):
            yield from (Link(a, b, "from_node") for a in candidates)
        elif len(candidates) * len(rest) > LARGEST_GUESS:
            pair.undecided[b] = f"comes from {ancestor}, as {len(rest) - 1} others do: which is which is not recorded"
        else:
            yield from (Link(a, b, "structure", True, f"comes from {ancestor}, too") for a in candidates)


def of_port(pair: Pair, b: int, earlier: list[int]) -> list[int]:
    """Returns, for what reads a delegate's port, what reads that port already, else the counterparts of its value."""
    run = pair.run
    if not port_value(run, b):
        return []
    readers = [a for a in earlier if run.port(a) == run.port(b) and port_value(run, a) and a not in pair.to_later]
    return readers or [a for a in earlier if a in through_delegate(pair, b)]


def through_delegate(pair: Pair, b: int) -> set[int]:
    """Returns the counterparts of the inner value that a delegate gives at the port that ``b`` reads."""
    return {link.src for inner in port_value(pair.run, b) for link in pair.to_earlier.get(inner, ())}


def port_value(run: Run, b: int) -> list[int]:
    """Returns, for what reads a delegate's port, the inner node that the delegate's graph returns there."""
    if run.op_type[b] != "getitem" or not run.inputs[b]:
        return []
    call, port, _ = run.inputs[b][0]
    graph = run.calls.get(call)
    values = run.outputs(graph) if graph is not None else []
    return [values[port][0]] if port < len(values) else []


def _reader_of_port(run: Run, a: int, b: int) -> int:
    """Returns what stands for an operator of several outputs where ``b`` reads one: the ``getitem`` of that port."""
    port = run.port(b)
    if port is None or run.ports[a] < 2 or run.ports[run.inputs[b][0][0]] != run.ports[a]:
        return a
    return next((user for user in run.users[a] if run.port(user) == port and run.shape[user] == run.shape[b]), a)


def same_target(recorded: str, cited: str) -> bool:
    """Compares a node's target with one that provenance cites; of a Python function it cites the bare name."""
    return recorded == cited or ("." not in cited and recorded.endswith(f".{cited}"))


def _same_side(run: Run, a: int, b: int) -> bool:
    """Tells whether both nodes are operators, or both values that come from outside, or both nested graphs.

    From the edge stage on, a placeholder carries the chain of an operator that consumes it.
    """
    return run.boundary[a] == run.boundary[b] and (run.role[a] == "subgraph") == (run.role[b] == "subgraph")
