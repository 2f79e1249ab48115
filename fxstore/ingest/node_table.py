"""Graphs out of node descriptions in any order: what most formats other than FX hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from fxstore.ingest.build import NO_VALUE, NOWHERE, GraphBuilder, Place, Value
from fxstore.records import Graph


@dataclass(frozen=True)
class Use:
    """A use of another node's value.

    Attributes:
        source: Name of the node that gives it.
        port: Which of its values, from 0.
        argument: Where it goes: ``0``, ``1[2]``, ``weight``; None: the next free number.
    """

    source: str
    port: int = 0
    argument: str | None = None


@dataclass(frozen=True)
class Node:
    """One node as a format describes it.

    Attributes:
        name: Unique in its graph; by it queries, links and overlays find the node.
        operator: What it computes, in words that users search for: ``conv2d``.
        uses: The values that it reads, or the names of the nodes that give them.
        outputs: The values that it gives, one per port.
        role: ``op``, ``input``, ``parameter``, ``buffer``, ``constant``, ``output`` …
        op: The FX opcode; default: told by the role.
        target: The operator in full (``aten.conv2d.default``); default: ``operator``.
        place: The module and the source line that it comes from.
        backend: Who runs it.
        attrs: Whatever else the format says; JSON.
        handles: Debug handles by namespace.
    """

    name: str
    operator: str
    uses: Sequence[Use | str] = ()
    outputs: Sequence[Value] = (NO_VALUE,)
    role: str = "op"
    op: str | None = None
    target: str | None = None
    place: Place = NOWHERE
    backend: str | None = None
    attrs: Mapping[str, object] = field(default_factory=dict)
    handles: Mapping[str, Sequence[int]] = field(default_factory=dict)


_OPCODES = {"input": "placeholder", "output": "output", "parameter": "get_attr", "buffer": "get_attr",
            "constant": "get_attr"}  # fmt: skip


def graph_of(
    nodes: Sequence[Node],
    method: str = "forward",
    path: str = "",
    parent: tuple[str, int] | None = None,
) -> tuple[Graph, list[str]]:
    """Returns a graph of these nodes in topological order, and a line for each thing that is wrong with them.

    Args:
        nodes: In any order; the given one is kept as far as it can be.
        method: Entry point that the graph belongs to.
        path: ``''`` at the top, else the nested graph's path.
        parent: Path of the graph that calls this one, and the position of the calling node in it.
    """
    notes: list[str] = []
    named = _named(nodes, notes)
    builder = GraphBuilder(method, path)
    inputs = 0
    for name in _ordered(named, notes):
        node = named[name]
        builder.node(
            name,
            node.op or _OPCODES.get(node.role, "call_function"),
            node.target or node.operator,
            node.role,
            kind=node.operator,
            values=node.outputs,
            place=node.place,
            backend=node.backend,
            attrs=dict(node.attrs),
        )
        for namespace, handles in node.handles.items():
            builder.handle(builder.positions[name], namespace, handles)
        if node.role == "input" and not path:
            builder.signature[name] = f"input:{inputs}"
            inputs += 1
    lost = sum(_connect(builder, name, node) for name, node in named.items())
    if lost:
        notes.append(f"{lost} uses of values that no node gives")
    return builder.finish(*(parent or (None, None))), notes


def _named(nodes: Sequence[Node], notes: list[str]) -> dict[str, Node]:
    named: dict[str, Node] = {}
    again = 0
    for node in nodes:
        name, count = node.name, 1
        while name in named:
            count += 1
            name = f"{node.name}#{count}"
        again += count > 1
        named[name] = node
    if again:
        notes.append(f"{again} nodes have a name that stands before them: '#2' and so on is added to it")
    return named


def _uses(node: Node) -> list[Use]:
    return [use if isinstance(use, Use) else Use(use) for use in node.uses]


def _ordered(named: dict[str, Node], notes: list[str]) -> list[str]:
    """Returns the names in topological order; of those that are ready, the first given comes first."""
    names = list(named)
    number = {name: i for i, name in enumerate(names)}
    users: dict[str, list[str]] = {}
    waiting = dict.fromkeys(names, 0)
    for name, node in named.items():
        for source in {use.source for use in _uses(node)} & named.keys():
            users.setdefault(source, []).append(name)
            waiting[name] += 1
    ready = [number[name] for name in names if not waiting[name]]
    heapify(ready)
    order = []
    while ready:
        name = names[heappop(ready)]
        order.append(name)
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, number[user])
    if len(order) < len(names):
        placed = set(order)
        rest = [name for name in names if name not in placed]
        notes.append(f"{len(rest)} nodes are in a cycle or behind one, {rest[0]!r} the first of them")
        order += rest
    return order


def _connect(builder: GraphBuilder, name: str, node: Node) -> int:
    """Adds the uses of a node; returns how many are of nodes that are not there."""
    lost = 0
    taken = {use.argument for use in _uses(node)}
    free = (str(i) for i in range(len(node.uses) + len(taken)) if str(i) not in taken)
    for use in _uses(node):
        argument = use.argument if use.argument is not None else next(free)
        source = builder.positions.get(use.source)
        if source is None:
            lost += 1
        else:
            builder.use(source, use.port, builder.positions[name], argument)
    return lost
