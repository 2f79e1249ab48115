"""Value classes: which (node, port) of a run must hold equal values, up to numerical error.

A class is an equivalence: equality carries through stages. A sync set is about origin and is something else: the set of
a quantised convolution holds the float convolution, its class holds the float batch-norm that was folded into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.rules import Link, Pair, consumers
from fxstore.link.run import Run

Port = tuple[int, int]
Member = tuple[int, int, str | None]
"""Ordinal, port, and the evidence by which it belongs to its class; None for the first."""


class Classes:
    """A union-find over ports; each member keeps the evidence by which it joined."""

    def __init__(self) -> None:
        self._parent: dict[Port, Port] = {}
        self.evidence: dict[Port, str] = {}

    def find(self, port: Port) -> Port:
        """Returns the member that stands for a port's class; itself where it is alone."""
        root = port
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        while self._parent.get(port, port) != root:
            self._parent[port], port = root, self._parent[port]
        return root

    def join(self, earlier: Port, later: Port, evidence: str) -> None:
        """States that two ports hold one value; the later one owes it to this evidence."""
        for port in (earlier, later):
            self._parent.setdefault(port, port)
        if later not in self.evidence:
            self.evidence[later] = evidence
        a, b = self.find(earlier), self.find(later)
        if a != b:
            self._parent[max(a, b)] = min(a, b)

    def members(self) -> list[list[Port]]:
        """Returns the classes with more than one member, each in ordinal order."""
        groups: dict[Port, list[Port]] = defaultdict(list)
        for port in sorted(self._parent):
            groups[self.find(port)].append(port)
        return [group for group in groups.values() if len(group) > 1]


def value_classes(run: Run, pairs: list[Pair]) -> Classes:
    """Builds the classes from the links between neighbouring stages and from aliases within each graph."""
    classes = Classes()
    for alias, origin, evidence in _aliases(run):
        classes.join(origin, alias, evidence)
    for pair in pairs:
        for earlier, later, link in _held(pair):
            classes.join(earlier, later, link.evidence)
    return classes


def memberships(run: Run, classes: Classes) -> list[list[Member]]:
    """Returns the members of each class that has several.

    An observer passes its value on, so what it became in later stages (a dequantize) must equal what it observes, up to
    quantisation: the members of that class in the observer's stage and before it belong to the observer's, too. Not the
    other way round: the value before an observer and the one behind it differ in a stage that quantises.
    """
    found = {classes.find(group[0]): group for group in classes.members()}
    extra: dict[Port, list[Port]] = defaultdict(list)
    for node, kind in enumerate(run.op_type):
        if not kind.endswith("Observer") or not run.inputs[node]:
            continue
        source = run.inputs[node][0][:2]
        home = run.stage(node)
        before = [p for p in found.get(classes.find(source), [source]) if run.stage(p[0]) <= home]
        extra[classes.find((node, 0))] += before
    roots = dict.fromkeys([*found, *extra])
    return [
        sorted(
            (*port, "observer" if port not in own else classes.evidence.get(port))
            for own in [found.get(root, [root])]
            for port in {*own, *extra.get(root, ())}
        )
        for root in roots
    ]


def _aliases(run: Run) -> Iterator[tuple[Port, Port, str]]:
    """Yields alias, origin, evidence.

    A getitem is its operator's port, a delegate's input is what its caller passes, its port what its graph returns.
    """
    for node, kind in enumerate(run.op_type):
        if kind == "getitem" and len(run.inputs[node]) == 1 and _selects_port(run, node):
            yield (node, 0), run.inputs[node][0][:2], "identity"
    for call, graph in run.calls.items():
        if run.role[call] != "delegate":
            continue
        for inner, value in run.passed(call, graph):
            yield (inner, 0), value, "delegate"
        for port, value in enumerate(run.outputs(graph)):
            yield (call, port), value, "delegate"


def _selects_port(run: Run, node: int) -> bool:
    """Tells ``getitem(op, i)`` from the indexing of a tensor, which takes an axis away."""
    source = run.inputs[node][0][0]
    return run.ports[source] > 1 or (run.shape[node] is not None and run.shape[node] == run.shape[source])


def _held(pair: Pair) -> Iterator[tuple[Port, Port, Link]]:
    """Yields the ports of two stages that hold one value."""
    run = pair.run
    folded = {
        link.dst for links in pair.to_later.values() for link in links if link.note and link.note.startswith("folded")
    }
    for a in pair.earlier:
        links = pair.to_later.get(a, [])
        link = _holder(run, a, links)
        if link is None or run.role[a] == "output":
            continue
        if link.dst in folded and link.evidence != "structure":
            continue
        if run.is_boundary(a) and not folded.isdisjoint(consumers(run, link.dst)):
            continue  # the batch-norm is in the weight now
        rivals = [other.src for other in pair.to_earlier[link.dst] if other.evidence in ("from_node", "handle")]
        if len(rivals) > 1 and a != _last(run, rivals, link.dst):
            continue
        if run.ports[a] > 1 and run.ports[a] != run.ports[link.dst]:
            continue  # which of its outputs went where is not recorded
        for port in range(run.ports[a]):
            yield (a, port), (link.dst, port), link


def _holder(run: Run, a: int, links: list[Link]) -> Link | None:
    """Returns the link to the node that holds ``a``'s value: the last of a decomposition that has its shape."""
    firm = [link for link in links if link.evidence in ("identity", "signature")]
    if firm:
        return firm[0]
    folds = [link for link in links if link.note and link.note.startswith("folded")]
    if folds:
        return folds[0]
    named = [link for link in links if link.evidence == "name"]
    if named and not run.has_provenance(a) and not run.has_provenance(named[0].dst):
        return named[0]  # neither graph has anything better for any node
    links = [link for link in links if link.evidence in ("from_node", "handle")]
    if not run.is_quantiser(a):
        links = [link for link in links if not run.is_quantiser(link.dst)]
    elif run.op_type[a].endswith(("Observer", "FakeQuantize")):
        links = [link for link in links if run.op_type[link.dst].startswith("dequantize_")]
    same = [link for link in links if run.op_type[link.dst] == run.op_type[a]]
    if len(same) == 1 and _same_shape(run, a, same[0].dst):
        return same[0]
    members = {link.dst for link in links}
    for link in sorted(links, key=lambda link: -link.dst):
        leaves = any(user not in members for user in run.users[link.dst]) or not run.users[link.dst]
        if leaves and _same_shape(run, a, link.dst):
            return link
    return None


def _last(run: Run, rivals: list[int], dst: int) -> int:
    fitting = [a for a in rivals if _same_shape(run, a, dst)] or rivals
    return max(fitting)


def _same_shape(run: Run, a: int, b: int) -> bool:
    """Tells whether two values may be equal: their shapes are, and both are of floats, or of one other dtype."""
    kinds = [dtype if dtype is None or "float" not in dtype else "float" for dtype in (run.dtype[a], run.dtype[b])]
    return _alike(run.shape[a], run.shape[b]) and _alike(*kinds)


def _alike(one: object, other: object) -> bool:
    return one is None or other is None or one == other
