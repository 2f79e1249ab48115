"""The rules that link two stages, in the order of their strength. A lower rule never overrides a higher one.

Each rule returns links for nodes of the later stage that have none yet; see :data:`RULES`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fxstore.link.run import Hop, Run

_LARGEST_REWRITE = 64
"""Links of one rewritten region at most; a larger one says nothing about who became whom."""


@dataclass(frozen=True)
class Link:
    """The node ``src`` became the node ``dst``; ``src`` is in the earlier stage."""

    src: int
    dst: int
    evidence: str
    inferred: bool = False
    note: str | None = None


@dataclass
class Pair:
    """Two stages of one method, and the links found between them so far."""

    run: Run
    earlier: list[int]
    later: list[int]
    to_earlier: dict[int, list[Link]] = field(default_factory=lambda: defaultdict(list))
    to_later: dict[int, list[Link]] = field(default_factory=lambda: defaultdict(list))

    def add(self, link: Link) -> None:
        """Takes a link in."""
        self.to_earlier[link.dst].append(link)
        self.to_later[link.src].append(link)

    def open(self) -> list[int]:
        """Returns the nodes of the later stage that have no link yet."""
        return [b for b in self.later if b not in self.to_earlier]


def link_pair(run: Run, earlier: Iterable[int], later: Iterable[int], *, recorded_only: bool = False) -> Pair:
    """Links two stages; every rule sees what the rules before it found.

    Args:
        recorded_only: Follow only what the compiler recorded about the nodes themselves.
    """
    pair = Pair(run, list(earlier), list(later))
    for rule in RECORDED if recorded_only else RULES:
        for link in list(rule(pair)):
            pair.add(link)
    return pair


def identity(pair: Pair) -> Iterator[Link]:
    """Same name and target, and the same nearest ancestor: a graph that was kept, copied or partitioned."""
    run = pair.run
    index: dict[object, int] = {}
    for a in pair.earlier:
        if run.chain[a] and not run.is_boundary(a):
            index.setdefault((run.chain[a][0][0], run.name[a], run.target[a], run.port(a)), a)
    same_graph: dict[object, int] = {}
    for a in pair.earlier:
        for number in run.graphs[run.graph[a]].identities:
            same_graph.setdefault((number, run.name[a], run.target[a]), a)
    for b in pair.open():
        nearest = run.chain[b][0][0] if run.chain[b] else None
        found = None
        if nearest is not None and not run.is_boundary(b):
            found = index.get((nearest, run.name[b], run.target[b], run.port(b)))
        for number in run.graphs[run.graph[b]].identities if found is None else ():
            kept = same_graph.get((number, run.name[b], run.target[b]))
            if kept is not None and run.chain[kept][:1] == run.chain[b][:1]:
                found = kept
        if found is not None:
            yield Link(found, b, "identity")


def exact_source(pair: Pair) -> Iterator[Link]:
    """A hop of the chain names a node of the earlier stage: its graph, its name and its target."""
    run = pair.run
    index: dict[Hop, list[int]] = defaultdict(list)
    copied = copies(pair)
    for a in pair.earlier:
        for number in run.graphs[run.graph[a]].identities | copied.get(run.graph[a], set()):
            index[number, run.name[a]].append(a)
    for b in pair.open():
        for hop, target, _ in run.chain[b]:
            found = [a for a in index.get(hop, ()) if _same_target(run.target[a], target)]
            if found:
                if _same_side(run, found[0], b):
                    yield Link(_reader_of_port(run, found[0], b), b, "from_node")
                break


def copies(pair: Pair) -> dict[int, set[int]]:
    """Returns, by index of an earlier graph, the identities under which the later stage cites a copy of it.

    A deep copy has a number of its own, but names, targets and provenance are the original's: all that is cited of it
    must agree, and be at least half of the graph. A graph that is cited by its own number needs no such search.
    """
    run = pair.run
    numbers = {number for graph in {run.graph[b] for b in pair.later} for number in run.graphs[graph].source_graphs}
    uncited = {
        graph for graph in {run.graph[a] for a in pair.earlier} if numbers.isdisjoint(run.graphs[graph].identities)
    }
    unknown = numbers - {number for graph in run.graphs for number in graph.identities}
    if not uncited or not unknown:
        return {}
    cited: dict[int, dict[str, tuple[str, list[tuple[Hop, str, str]]]]] = defaultdict(dict)
    for b in pair.later:
        if not run.is_boundary(b):
            for depth, ((number, name), target, _) in enumerate(run.chain[b]):
                if number in unknown and name not in cited[number]:
                    cited[number][name] = (target, run.chain[b][depth + 1 :])
    originals: dict[int, dict[str, int]] = defaultdict(dict)
    for a in pair.earlier:
        if run.graph[a] in uncited and not run.is_boundary(a):
            originals[run.graph[a]].setdefault(run.name[a], a)
    found: dict[int, set[int]] = defaultdict(set)
    for graph, nodes in originals.items():
        for number, names in cited.items():
            if 2 * len(names) >= len(nodes) and _agree(run, nodes, names):
                found[graph].add(number)
    return found


def _agree(run: Run, nodes: dict[str, int], names: dict[str, tuple[str, list[tuple[Hop, str, str]]]]) -> bool:
    return all(
        name in nodes and _same_target(run.target[nodes[name]], target) and run.chain[nodes[name]] == tail
        for name, (target, tail) in names.items()
    )


def signature(pair: Pair) -> Iterator[Link]:
    """Parameters, buffers and constants by their FQN, inputs and outputs by position, whatever they are called."""
    run = pair.run
    index: dict[str, list[int]] = defaultdict(list)
    for a in pair.earlier:
        if key := _signature_key(run, a):
            index[key].append(a)
    for b in pair.open():
        for a in index.get(_signature_key(run, b) or "", ()):
            yield Link(a, b, "signature")


def common_source(pair: Pair) -> Iterator[Link]:
    """The nearest ancestor that both sides name; of several candidates, those with the same operator."""
    run = pair.run
    index: dict[Hop, list[tuple[int, int]]] = defaultdict(list)
    for a in pair.earlier:
        if not run.is_boundary(a):
            for depth, (hop, _, _) in enumerate(run.chain[a]):
                index[hop].append((depth, a))
    groups: dict[Hop, list[int]] = defaultdict(list)
    for b in pair.open():
        if not run.is_boundary(b) and run.role[b] != "subgraph":
            for hop, _, _ in run.chain[b]:
                if hop in index:
                    groups[hop].append(b)
                    break
    for hop, later in groups.items():
        nearest = min(depth for depth, _ in index[hop])
        earlier = [a for depth, a in index[hop] if depth == nearest]
        yield from _by_operator(pair, hop, earlier, later)


def _by_operator(pair: Pair, hop: Hop, earlier: list[int], later: list[int]) -> Iterator[Link]:
    """Links what comes from one source: equal operators in order; what was fused from all of it, or split into all.

    Where neither tells who is who, the link says no more than the common source, and is inferred.
    """
    run = pair.run
    through = {b: _of_port(pair, b, earlier) for b in later}
    for b, candidates in through.items():
        yield from (Link(a, b, "from_node") for a in candidates)
    later = [b for b in later if not through[b]]
    earlier = [a for a in earlier if a not in pair.to_later] or earlier
    by_kind: dict[object, list[int]] = defaultdict(list)
    for a in earlier:
        by_kind[run.kind(a)].append(a)
    wanted: dict[object, list[int]] = defaultdict(list)
    for b in later:
        wanted[run.kind(b)].append(b)
    left = [a for kind, nodes in by_kind.items() if len(nodes) != len(wanted.get(kind, ())) for a in nodes]
    rest = [b for kind, nodes in wanted.items() if len(nodes) != len(by_kind.get(kind, ())) for b in nodes]
    for kind, members in wanted.items():
        if len(same := by_kind.get(kind, [])) == len(members):
            yield from (Link(a, b, "from_node") for a, b in zip(same, members, strict=True))
    for b in rest:
        candidates = [a for a in left if run.kind(a) == run.kind(b)] or left or earlier
        if len(candidates) == 1 or (len(rest) == 1 and left):
            yield from (Link(a, b, "from_node") for a in candidates)
        else:
            yield from (Link(a, b, "structure", True, f"comes from {hop[1]}, too") for a in candidates)


def _of_port(pair: Pair, b: int, earlier: list[int]) -> list[int]:
    """Returns, for what reads a delegate's port, what reads that port already, else the counterparts of its value."""
    run = pair.run
    if not _port_value(run, b):
        return []
    readers = [a for a in earlier if run.port(a) == run.port(b) and _port_value(run, a) and a not in pair.to_later]
    return readers or [a for a in earlier if a in _through_delegate(pair, b)]


def _reader_of_port(run: Run, a: int, b: int) -> int:
    """Returns what stands for an operator of several outputs where ``b`` reads one: the ``getitem`` of that port."""
    port = run.port(b)
    if port is None or run.ports[a] < 2 or run.ports[run.inputs[b][0][0]] != run.ports[a]:
        return a
    return next((user for user in run.users[a] if run.port(user) == port), a)


def _through_delegate(pair: Pair, b: int) -> set[int]:
    """Returns the counterparts of the inner value that a delegate gives at the port that ``b`` reads."""
    return {link.src for inner in _port_value(pair.run, b) for link in pair.to_earlier.get(inner, ())}


def _port_value(run: Run, b: int) -> list[int]:
    if run.op_type[b] != "getitem" or not run.inputs[b]:
        return []
    call, port, _ = run.inputs[b][0]
    graph = run.calls.get(call)
    values = run.outputs(graph) if graph is not None else []
    return [values[port][0]] if port < len(values) else []


def delegate_port(pair: Pair) -> Iterator[Link]:
    """What reads a delegate's port is the inner value of that port; an inner input is what the call passes."""
    run = pair.run
    passed = _passed(run)
    for b in pair.open():
        if run.role[b] == "subgraph":
            yield from _same_argument(pair, b)
            continue
        outer = {link.src for link in pair.to_earlier.get(passed.get(b, -1), ())}
        for a in sorted(outer | _through_delegate(pair, b)):
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


def observer(pair: Pair) -> Iterator[Link]:
    """An observer, and what quantises its value, belongs to the value that it observes."""
    run = pair.run
    found: dict[int, list[int]] = {}
    for b in pair.open():
        if run.is_quantiser(b) and run.inputs[b]:
            source = run.inputs[b][0][0]
            partners = [link.src for link in pair.to_earlier.get(source, ())] or found.get(source, [])
            found[b] = partners
            exact = run.op_type[b].endswith(("Observer", "FakeQuantize"))
            for a in partners:
                yield (
                    Link(a, b, "observer") if exact else Link(a, b, "structure", True, f"quantises {run.name[source]}")
                )
    for b in pair.open():
        if run.role[b] in ("parameter", "buffer", "constant") and run.users[b]:
            yield from _quantised_state(pair, b)


def _quantised_state(pair: Pair, b: int) -> Iterator[Link]:
    """Codes, scales and zero points of a weight, through the observer that became the node that dequantises them."""
    run = pair.run
    partners = {
        run.inputs[link.src][0][0]
        for user in run.users[b]
        if run.is_quantiser(user)
        for link in pair.to_earlier.get(user, ())
        if run.is_quantiser(link.src) and run.inputs[link.src]
    }
    for a in sorted(partners):
        yield Link(a, b, "observer")


def folded(pair: Pair) -> Iterator[Link]:
    """A batch-norm that vanished behind a convolution which stayed, and is read in its place, was folded (inferred)."""
    run = pair.run
    for a in pair.earlier:
        if "batch_norm" not in run.op_type[a] or a in pair.to_later or not run.inputs[a]:
            continue
        source = run.inputs[a][0][0]
        for link in list(pair.to_later.get(source, ())):
            if run.op_type[link.dst] == run.op_type[source] and _reads_instead(pair, a, link.dst):
                yield Link(a, link.dst, "structure", True, f"folded into {run.name[link.dst]}")


def _reads_instead(pair: Pair, a: int, b: int) -> bool:
    """Tells whether what used ``a`` uses ``b`` now, itself or through what observes it."""
    run = pair.run
    own = [u for user in run.users[a] for u in (run.users[user] if run.op_type[user] == "getitem" else [user])]
    users = {link.dst for user in own for link in pair.to_later.get(user, ())}
    return any(user in users for user in consumers(run, b)) or not run.users[a]


def consumers(run: Run, node: int) -> set[int]:
    """Returns the nodes that use a value, looking through what observes or quantises it."""
    found: set[int] = set()
    for user in run.users[node]:
        found |= consumers(run, user) if run.is_quantiser(user) else {user}
    return found


def rewritten(pair: Pair) -> Iterator[Link]:
    """A region that vanished and one that appeared between the same borders: one replaced the other (inferred).

    Both regions are connected, nothing in them has a counterpart, what the new one reads are counterparts of what the
    old one read, and what used the old one's values uses the new one's. Nodes with a namesake are no part of them.
    """
    run = pair.run
    namesakes = {node for link in same_name(pair) for node in (link.src, link.dst)}
    rest = [a for a in pair.earlier if a not in pair.to_later and run.role[a] == "op" and a not in namesakes]
    gone = _regions(run, rest)
    by_users: dict[frozenset[int], list[tuple[list[int], set[int]]]] = defaultdict(list)
    for region in gone:
        reads, users = _borders(run, region)
        by_users[frozenset(_counterparts(pair, users))].append((region, _counterparts(pair, reads)))
    for region in _regions(run, [b for b in pair.open() if run.role[b] == "op" and b not in namesakes]):
        reads, users = _borders(run, region)
        for old, known in by_users.get(frozenset(users), ()):
            if users and reads and reads <= known and len(old) * len(region) <= _LARGEST_REWRITE:
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


def _counterparts(pair: Pair, nodes: set[int]) -> set[int]:
    return {link.dst for node in nodes for link in pair.to_later.get(node, ())}


def same_name(pair: Pair) -> Iterator[Link]:
    """Equal name and operator, where neither side has anything better (inferred)."""
    run = pair.run
    index = {
        (run.graphs[run.graph[a]].path, run.name[a], run.op_type[a]): a for a in pair.earlier if a not in pair.to_later
    }
    for b in pair.open():
        a = index.get((run.graphs[run.graph[b]].path, run.name[b], run.op_type[b]))
        if a is not None and not run.chain[b]:
            yield Link(a, b, "name", True, "equal name and operator, no provenance recorded")


RECORDED: tuple[Callable[[Pair], Iterator[Link]], ...] = (identity, exact_source, signature, common_source)
RULES: tuple[Callable[[Pair], Iterator[Link]], ...] = (
    *RECORDED,
    delegate_port,
    observer,
    folded,
    rewritten,
    same_name,
)


def _same_side(run: Run, a: int, b: int) -> bool:
    """Tells whether both nodes are operators, or both values that come from outside, or both nested graphs.

    From the edge stage on, a placeholder carries the chain of an operator that consumes it.
    """
    return run.is_boundary(a) == run.is_boundary(b) and (run.role[a] == "subgraph") == (run.role[b] == "subgraph")


def _same_target(recorded: str, cited: str) -> bool:
    """Compares a node's target with one that provenance cites; of a Python function it cites the bare name."""
    return recorded == cited or ("." not in cited and recorded.endswith(f".{cited}"))


def _signature_key(run: Run, ordinal: int) -> str | None:
    graph = run.graphs[run.graph[ordinal]]
    if run.role[ordinal] == "output":
        return "output" if not graph.path else None
    return graph.signature.get(run.name[ordinal])
