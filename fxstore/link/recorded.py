"""Links that the compiler recorded about the nodes themselves: a graph that was kept, and chains of provenance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from fxstore.link.flow import Groups, counterparts, is_alike
from fxstore.link.pair import LARGEST_GUESS, Link, Pair, by_kind
from fxstore.link.run import NOTHING, Run


def identity(pair: Pair) -> Iterator[Link]:
    """Same operator and nearest ancestor, of several what reads the same: a graph that was kept, copied or partitioned.

    ``identity`` is what has its name still; what was given another one is linked by its ancestor, ``from_node``.
    """
    run, lineage = pair.run, pair.run.lineage
    kept = _kept(pair)
    found: dict[int, int] = {}
    for b in pair.open():
        same = kept.get(run.graph[b], {}).get((run.name[b], run.target[b]))
        if same is not None and lineage.nearest(same) == lineage.nearest(b) and is_alike(run, same, b):
            found[b] = same
            yield Link(same, b, "identity")
    groups: Groups = defaultdict(lambda: ([], []))
    for side, nodes in enumerate((pair.earlier, pair.later)):
        for node in nodes:
            if lineage.head[node] != NOTHING and _is_operator(run, node) and node not in found:
                groups[lineage.nearest(node), run.kind(node)[0]][side].append(node)
    for a, b in counterparts(pair, groups):
        is_kept = run.name[a] == run.name[b] and run.target[a] == run.target[b] and is_alike(run, a, b)
        yield Link(a, b, "identity" if is_kept else "from_node")


def _is_operator(run: Run, node: int) -> bool:
    """Tells whether a node computes: neither a value from outside, nor a nested graph, nor what reads an output."""
    return not (run.boundary[node] or run.role[node] == "subgraph" or run.selects_port(node))


def _kept(pair: Pair) -> dict[int, dict[tuple[str, str], int]]:
    """Returns the earlier nodes of each later graph that may be an earlier one, edited: their identities agree.

    An identity may be used again, a name within a graph is not: no name may stand for another operator in the other,
    and one of both must be kept for the most part.
    """
    run = pair.run
    earlier = {run.graph[a] for a in pair.earlier}
    found: dict[int, dict[tuple[str, str], int]] = {}
    for later in {run.graph[b] for b in pair.later}:
        for graph in sorted(earlier):
            if run.graphs[graph].identities & run.graphs[later].identities and _is_edited(run, graph, later):
                for a in run.nodes_of(graph):
                    found.setdefault(later, {}).setdefault((run.name[a], run.target[a]), a)
    return found


def _is_edited(run: Run, earlier: int, later: int) -> bool:
    mine, theirs = ({run.name[node]: run.target[node] for node in run.nodes_of(graph)} for graph in (earlier, later))
    both = mine.keys() & theirs.keys()
    return all(mine[name] == theirs[name] for name in both) and 2 * len(both) >= min(len(mine), len(theirs))


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
            cited = index.get(lineage.hop[source], ())
            found = [a for a in cited if _is_cited(run, a, source)]
            if found:
                if _same_side(run, found[0], b):
                    yield Link(_reader_of_port(run, found[0], b), b, "from_node")
                break


def _is_cited(run: Run, a: int, source: int) -> bool:
    """Tells whether a source names this node: its target and what it came from agree, too.

    The number of its graph alone may be another graph's by now. Values from outside are told apart by their signature.
    """
    same = same_target(run.target[a], run.lineage.target[source])
    return same and (run.boundary[a] or run.lineage.head[a] == run.lineage.parent[source])


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
    waiting = [b for b in pair.open() if lineage.head[b] != NOTHING and _is_operator(run, b)]
    if not waiting:
        return
    index: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a in pair.earlier:
        if not run.boundary[a]:
            for depth, source in enumerate(lineage.chain(a)):
                index[lineage.origin[source]].append((depth, a))
    groups: dict[int, list[int]] = defaultdict(list)
    ancestor: dict[int, str] = {}
    for b in waiting:
        known = next((source for source in lineage.chain(b) if lineage.origin[source] in index), None)
        if known is not None:
            groups[lineage.origin[known]].append(b)
            ancestor[lineage.origin[known]] = lineage.ancestor[lineage.hop[known]][1]
    near: dict[int, list[int]] = {}
    kinds: Groups = defaultdict(lambda: ([], []))
    for origin, later in groups.items():
        nearest, _ = min(index[origin])
        earlier = [a for depth, a in index[origin] if depth == nearest]
        near[origin] = [a for a in earlier if a not in pair.to_later] or earlier
        for side, nodes in enumerate((near[origin], later)):
            for node in filter(partial(_is_operator, run), nodes):
                kinds[origin, run.kind(node)[0]][side].append(node)
    pairs = counterparts(pair, kinds)
    yield from (Link(a, b, "from_node") for a, b in pairs)
    found = {node for both in pairs for node in both}
    for origin, later in groups.items():
        left = [a for a in near[origin] if a not in found] or near[origin]
        yield from _by_operator(pair, ancestor[origin], left, [b for b in later if b not in found])


def _by_operator(pair: Pair, ancestor: str, earlier: list[int], later: list[int]) -> Iterator[Link]:
    """Links what comes from one source: equal operators in order; what was fused from all of it, or split into all.

    Where neither tells who is who, the link says no more than the common source, and is inferred.
    """
    run = pair.run
    pairs, left, rest = by_kind(run, earlier, later)
    yield from (Link(a, b, "from_node") for a, b in pairs)
    for b in rest:
        candidates = [a for a in left if run.kind(a) == run.kind(b)] or left or earlier
        if len(candidates) == 1 or (len(rest) == 1 and left):
            yield from (Link(a, b, "from_node") for a in candidates)
        elif len(candidates) * len(rest) > LARGEST_GUESS:
            pair.undecided[b] = f"comes from {ancestor}, as {len(rest) - 1} others do: which is which is not recorded"
        else:
            yield from (Link(a, b, "structure", True, f"comes from {ancestor}, too") for a in candidates)


def _reader_of_port(run: Run, a: int, b: int) -> int:
    """Returns what stands for an operator of several outputs where ``b`` reads one: the ``getitem`` of that port."""
    giver, port = run.value(b)
    if not run.selects_port(b) or run.ports[giver] != run.ports[a]:
        return a
    readers = (user for user in run.users[a] if run.selects_port(user) and run.port(user) == port)
    return next((reader for reader in readers if run.shape[reader] == run.shape[b]), a)


def same_target(recorded: str, cited: str) -> bool:
    """Compares a node's target with one that provenance cites; of a Python function it cites the bare name."""
    return recorded == cited or ("." not in cited and recorded.endswith(f".{cited}"))


def _same_side(run: Run, a: int, b: int) -> bool:
    """Tells whether both nodes are operators, or both values that come from outside, or both nested graphs.

    From the edge stage on, a placeholder carries the chain of an operator that consumes it.
    """
    return run.boundary[a] == run.boundary[b] and (run.role[a] == "subgraph") == (run.role[b] == "subgraph")


# Forward operators and the backward operators that autograd ran for them, by sequence number.
#
# A backward operator is no counterpart of the forward one: it computes something else. So these links are told, and
# take no part in sync sets and value pairs.


_NAMESPACE = "seq_nr"
_PASSES = ("forward", "backward")


def sequence_links(run: Run) -> Iterator[Link]:
    """Yields a link for each forward and backward operator of one sequence number, method by method.

    Sequence numbers are torch's: autograd gives a backward operator that of the forward operator whose gradient it
    computes. A node that is recomputed has its own copy in the forward graph, and is none of these.
    """
    forward: dict[tuple[str, int], list[int]] = defaultdict(list)
    backward: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, graph in enumerate(run.graphs):
        handles = graph.tables["handles"]
        if _NAMESPACE not in handles["namespace"].unique().to_pylist():
            continue
        passes = _passes(run, index)
        for position, space, number in zip(*(handles[c].to_pylist() for c in handles.column_names), strict=True):
            if space == _NAMESPACE and passes.get(position) is not None:
                found = forward if passes[position] == "forward" else backward
                found[graph.method, number].append(run.base[index] + position)
    for key, nodes in backward.items():
        for later in nodes:
            for earlier in forward.get(key, ()):
                if run.stage[earlier] < run.stage[later]:
                    yield Link(earlier, later, "handle", note=f"seq_nr {key[1]}")


def _passes(run: Run, index: int) -> dict[int, str]:
    """Returns, for the nodes of a graph that are of one pass only, which it is; none for a joint graph."""
    roles = run.graphs[index].tables["roles"]
    given: dict[int, set[str]] = defaultdict(set)
    for position, role in zip(roles["position"].to_pylist(), roles["role"].to_pylist(), strict=True):
        given[position].add(role)
    found = {position: [one for one in _PASSES if one in names] for position, names in given.items()}
    is_joint = {"forward", "backward"} <= {one for names in found.values() if len(names) == 1 for one in names}
    return {} if is_joint else {position: names[0] for position, names in found.items() if len(names) == 1}
