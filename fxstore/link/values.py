"""Value classes: which (node, port) of a run must hold equal values, up to numerical error.

A class is an equivalence: equality carries through stages. A sync set is about origin and is something else: the set of
a quantised convolution holds the float convolution, its class holds the float batch-norm that was folded into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set

from fxstore.link.packing import takes_apart
from fxstore.link.pair import Link, Pair, consumers
from fxstore.link.run import Run

Columns = tuple[list[int], list[int], list[int], list[str | None]]
"""Class, ordinal, port, and the evidence by which it belongs to the class, None for the first: a row per member."""

_RECORDED = ("from_node", "handle")


class Classes:
    """A union-find over the values of a run; each keeps the evidence by which it joined.

    A value is a number, :meth:`of` a node and its port.
    """

    def __init__(self, run: Run) -> None:
        widths = list(run.ports)
        for uses in run.inputs:
            for src, port, _ in uses:
                if port >= widths[src]:
                    widths[src] = port + 1
        self._base: list[int] = []
        self.node: list[int] = []
        for node, width in enumerate(widths):
            self._base.append(len(self.node))
            self.node += [node] * max(width, 1)
        self._parent = list(range(len(self.node)))
        self.evidence: dict[int, str] = {}

    def of(self, node: int, port: int = 0) -> int:
        """Returns the value that a node gives at a port."""
        return self._base[node] + port

    def port(self, value: int) -> int:
        """Returns the port at which its node gives a value."""
        return value - self._base[self.node[value]]

    def find(self, value: int) -> int:
        """Returns the value that stands for a class; itself where it is alone."""
        parent = self._parent
        while parent[value] != value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    def join(self, earlier: int, later: int, evidence: str) -> None:
        """States that two values are one; the later one owes it to this evidence."""
        self.evidence.setdefault(later, evidence)
        a, b = self.find(earlier), self.find(later)
        if a != b:
            self._parent[max(a, b)] = min(a, b)

    def members(self) -> dict[int, list[int]]:
        """Returns the classes with more than one member, each in order, by the value that stands for it."""
        groups: dict[int, list[int]] = {}
        for value, parent in enumerate(self._parent):
            if parent != value:
                root = self.find(value)
                groups.setdefault(root, [root]).append(value)
        return groups


def value_classes(run: Run, pairs: list[Pair]) -> Classes:
    """Builds the classes from the links between stages and from aliases within each graph."""
    classes = Classes(run)
    for alias, origin, evidence in _aliases(run, classes):
        classes.join(origin, alias, evidence)
    for node in _handing_on(run, pairs):
        classes.join(classes.of(*run.inputs[node][0][:2]), classes.of(node), "identity")
    for pair in pairs:
        held = list(_held(pair))
        for a, link, ports in held:
            for port in range(ports):
                classes.join(classes.of(a, port), classes.of(link.dst, link.port + port), link.evidence)
        for node in _copying(pair, {link.dst for _, link, _ in held}):
            classes.join(classes.of(*run.inputs[node][0][:2]), classes.of(node), "identity")
    for node in _lone_copies(run, classes):
        classes.join(classes.of(*run.inputs[node][0][:2]), classes.of(node), "identity")
    return classes


def memberships(run: Run, classes: Classes) -> Columns:
    """Returns the members of each class that has several.

    An observer passes its value on, so what it became in later stages (a dequantize) must equal what it observes, up to
    quantisation: the members of that class in the observer's stage and before it belong to the observer's, too. Not the
    other way round: the value before an observer and the one behind it differ in a stage that quantises.
    """
    found = classes.members()
    observed: dict[int, set[int]] = defaultdict(set)
    for node in range(len(run)):
        if run.quantiser[node] and run.op_type[node].endswith("Observer") and run.inputs[node]:
            source = classes.find(classes.of(*run.inputs[node][0][:2]))
            observed[classes.find(classes.of(node))].update(
                value for value in found.get(source, [source]) if run.stage[classes.node[value]] <= run.stage[node]
            )
    columns: Columns = ([], [], [], [])
    for number, root in enumerate(dict.fromkeys([*found, *observed])):
        own = found.get(root, [root])
        more = observed[root].difference(own) if root in observed else ()
        members = sorted([*own, *more]) if more else own
        columns[0].extend([number] * len(members))
        columns[1].extend([classes.node[value] for value in members])
        columns[2].extend([classes.port(value) for value in members])
        columns[3].extend(["observer" if value in more else classes.evidence.get(value) for value in members])
    return columns


def _aliases(run: Run, classes: Classes) -> Iterator[tuple[int, int, str]]:
    """Yields alias, origin, evidence.

    A getitem is its operator's port, a delegate's input is what its caller passes, its port what its graph returns.
    """
    for node in range(len(run)):
        if run.selects_port(node):
            yield classes.of(node), classes.of(*run.inputs[node][0][:2]), "identity"
    for call, graph in run.calls.items():
        if run.role[call] != "delegate":
            continue
        for inner, value in run.passed(call, graph):
            yield classes.of(inner), classes.of(*value), "delegate"
        for port, value in enumerate(run.outputs(graph)[: max(run.ports[call], 1)]):
            yield classes.of(call, port), classes.of(*value), "delegate"


def _handing_on(run: Run, pairs: list[Pair]) -> Iterator[int]:
    """Yields the nodes that came or went between two stages and only hand the value of their input on."""
    for pair in pairs:
        for nodes, links in ((pair.earlier, pair.to_later), (pair.later, pair.to_earlier)):
            for node in nodes:
                if run.passes_on(node) and all(link.inferred for link in links.get(node, ())):
                    yield node


def _copying(pair: Pair, held: set[int]) -> Iterator[int]:
    """Yields the steps of a decomposition that only copy what they read: nothing is written in place there."""
    run = pair.run
    for node in pair.later:
        if run.op_type[node].endswith("_copy") and node not in held and run.passes_on(node):
            yield node


def _lone_copies(run: Run, classes: Classes) -> Iterator[int]:
    """Yields the nodes that hand the value of their input on and whose value nothing else is said to be."""
    joined = {classes.find(value) for value in range(len(classes.node)) if classes.find(value) != value}
    for node in range(len(run)):
        value = classes.of(node)
        if run.passes_on(node) and classes.find(value) == value and value not in joined:
            yield node


def _held(pair: Pair) -> Iterator[tuple[int, Link, int]]:
    """Yields, for nodes of the earlier stage, the link to the node that holds their values, and the number of ports."""
    run = pair.run
    holding = (link for links in pair.to_later.values() for link in links if link.holds)
    folds = {link.dst for link in holding if "batch_norm" in run.op_type[link.src]}
    for a in pair.earlier:
        link = _holder(run, a, [link for link in pair.to_later.get(a, ()) if _may_hold(pair, link)])
        if link is None or run.role[a] == "output":
            continue
        if folds and not link.holds and _is_changed_by_fold(run, a, link.dst, folds):
            continue
        if run.ports[a] > 1 and run.ports[a] != run.ports[link.dst] and not _writes(run, a, link.dst):
            continue  # which of its outputs went where is not recorded
        yield a, link, min(run.ports[a], max(run.ports[link.dst], 1))


def _may_hold(pair: Pair, link: Link) -> bool:
    """Tells whether a link's source is, of all that became its target, the last that may have its value."""
    rivals = pair.to_earlier[link.dst]
    if len(rivals) == 1 or link.evidence not in _RECORDED:
        return True
    several = [other.src for other in rivals if other.evidence in _RECORDED]
    several = [a for a in several if not (pair.run.selects_port(a) and pair.run.inputs[a][0][0] in several)]
    fitting = [a for a in several if _same_shape(pair.run, a, link.dst)] or several
    return link.src == max(fitting)


def _is_changed_by_fold(run: Run, a: int, b: int, folds: set[int]) -> bool:
    """Tells whether a batch-norm is in ``b`` now: in the convolution's result, or in its weight."""
    return b in folds or (run.boundary[a] and run.role[a] != "input" and not folds.isdisjoint(consumers(run, b)))


def _holder(run: Run, a: int, links: list[Link]) -> Link | None:
    """Returns the link to the node that holds ``a``'s value: the last of a decomposition that has its shape."""
    if not links:
        return None
    for link in links:
        if link.holds or link.evidence in ("identity", "signature"):
            return next((other for other in links if other.evidence in ("identity", "signature")), link)
    if links[0].evidence == "name" and not run.has_provenance(a) and not run.has_provenance(links[0].dst):
        return links[0]  # neither graph has anything better for any node
    links = [link for link in links if link.evidence in _RECORDED]
    if not run.quantiser[a]:
        links = [link for link in links if not run.quantiser[link.dst]]
    elif run.is_observer(a):
        links = [link for link in links if run.op_type[link.dst].startswith("dequantize_")]
    same = [link for link in links if run.op_type[link.dst] == run.op_type[a]]
    if len(same) == 1 and _same_shape(run, a, same[0].dst):
        return same[0]
    members = {link.dst for link in links}
    links = [link for link in links if not _is_further_output(run, a, link.dst, members)]
    for link in sorted(links, key=lambda link: -link.dst):
        leaves = any(user not in members for user in run.users[link.dst]) or not run.users[link.dst]
        if leaves and _same_shape(run, a, link.dst):
            return link
    return None


def _is_further_output(run: Run, a: int, b: int, members: Set[int]) -> bool:
    """Tells whether a node reads an output that ``a`` does not have, of what it became: statistics, what it writes.

    Of an operator that became one with more outputs, those that it had itself come first.
    """
    giver, port = run.value(b)
    more = run.ports[giver] > run.ports[a] and not takes_apart(run.op_type[giver])
    return run.selects_port(b) and giver in members and more and port >= max(run.ports[a], 1)


def _writes(run: Run, a: int, b: int) -> bool:
    """Tells whether one is the functional form of the other, which writes arguments.

    Its outputs are what the operator returns, and then, as its schema has them, the arguments that are written.
    """
    plain, functional = sorted((a, b), key=lambda node: run.ports[node])
    name = run.op_type[functional]
    written = name == f"{run.op_type[plain].strip('_')}_functional" or name.startswith("auto_functionalized")
    return written and run.ports[plain] < run.ports[functional]


def _same_shape(run: Run, a: int, b: int) -> bool:
    """Tells whether two values may be equal: shapes and layouts are, and both are numbers, or of one other dtype.

    A position of 64 bits is a number, too: one that meets a float becomes one.
    """
    if (a in run.otherwise_laid) != (b in run.otherwise_laid):
        return False
    one, other = run.dtype[a], run.dtype[b]
    alike = one == other or one is None or other is None or (_is_number(one) and _is_number(other))
    return alike and (run.shape[a] == run.shape[b] or run.shape[a] is None or run.shape[b] is None)


def _is_number(dtype: str) -> bool:
    return "float" in dtype or dtype == "int64"
