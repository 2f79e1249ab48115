"""Reads serialised exported programs (JSON, ``torch.export`` schema 5 to 8) into graphs, without torch.

The rows are those that :func:`fxstore.ingest.export.capture.capture_program` gives for the live program, but for what
the format does not hold: chains of placeholders and outputs, ``custom`` meta, where ``getitem`` and ``get_attr`` stood
among other nodes, and which outputs were never used (these come back as ``getitem`` nodes named ``…_unused_1``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from fxstore.ingest.build import NO_VALUE, NOWHERE, GraphBuilder, Link, Place
from fxstore.ingest.export.arguments import (
    Nested,
    Output,
    Reference,
    Values,
    allocation,
    argument,
    arguments,
    leaves,
    output,
)
from fxstore.ingest.export.metadata import Metadata, chains, handles
from fxstore.ingest.json_input import Malformed, each, member, optional, typed, union
from fxstore.ingest.names import UNREGISTERED, is_registered, op_type
from fxstore.records import Graph

_OPERATORS = ("executorch.exir.dialects.edge.ops.", "executorch.exir.dialects.backend.ops.", "torch.ops.")
_HIGHER_ORDER = "torch.ops.higher_order."
_DELEGATE = "executorch_call_delegate"
_ALLOC = "executorch.exir.memory.alloc"
_UNEMITTED = frozenset({"getitem", "alloc", "view"})
_STATE = {
    "parameter": ("parameter", "parameter_name"),
    "buffer": ("buffer", "buffer_name"),
    "tensor_constant": ("constant", "tensor_constant_name"),
    "custom_obj": ("constant", "custom_obj_name"),
}
_NOTHING = Output(None)
_LONGEST_NAME = 1000
_DEEPEST = 40


@dataclass(frozen=True)
class Program:
    """A program that was read.

    Attributes:
        graphs: Its graph and the graphs nested in it, outermost first.
        kind: ``exported``, ``edge``, ``lowered`` (it calls delegates) or ``runtime`` (it allocates memory).
    """

    graphs: tuple[Graph, ...]
    kind: str


def read_program(document: object, method: str, identities: Iterable[int] = ()) -> Program:
    """Returns the graphs of a serialised ``ExportedProgram``.

    Args:
        document: The parsed JSON.
        method: Entry point that the graphs belong to.
        identities: Numbers by which provenance chains may cite the outermost graph.

    Raises:
        Malformed: The document does not follow the schema.
    """
    fields = typed(document, dict, "a program")
    module = member(fields, "graph_module", dict)
    graph = member(module, "graph", dict)
    targets = set(_targets(graph))
    emitted = "memory.alloc" in targets
    edge = "EDGE" in (optional(fields, "verifiers", list) or [fields.get("dialect")])
    lowered = _HIGHER_ORDER + _DELEGATE in targets
    kind = "runtime" if emitted else "lowered" if lowered else "edge" if edge else "exported"
    top = Nested("", graph, member(module, "signature", dict))
    return Program(tuple(_Reader(method, emitted, edge).walk(top, "", None, identities)), kind)


class _Scope:
    """One graph while it is read."""

    def __init__(self, builder: GraphBuilder, source: Nested) -> None:
        self.builder = builder
        self.backend = source.backend
        self.values = Values(source.graph)
        self.producers: dict[str, int] = {}
        self.inner: dict[str, tuple[Nested, int]] = {}
        self.attributes: set[str] = set()
        self.allocated: set[str] = set()
        self.numbers: Counter[str] = Counter()

    def gives(self, name: str, position: int) -> int:
        """Notes that the node gives the value of that name."""
        if len(name) > _LONGEST_NAME:
            raise Malformed(f"has a name of more than {_LONGEST_NAME} characters")
        if self.producers.setdefault(name, position) != position:
            raise Malformed(f"gives {name[:60]!r}, which stands in the graph already")
        return position

    def uses(self, leaf: Reference | Nested, position: int, path: str) -> None:
        """Adds the use of another node's value, or of a nested graph."""
        source = self.producers.get(leaf.name)
        if source is None:
            raise Malformed(f"uses {leaf.name[:60]!r}, which no node before it gives")
        self.builder.use(source, 0, position, path)
        if isinstance(leaf, Nested):
            self.inner.setdefault(leaf.name, (leaf, position))

    def fresh(self, name: str) -> str:
        """Returns a name that no node before has."""
        free = name
        while free in self.producers:
            self.numbers[name] += 1
            free = f"{name}_{self.numbers[name]}"
        return free


@dataclass(slots=True)
class _Origin:
    """Where a node comes from: handed on to the ``getitem`` nodes of its outputs, but for what lowering makes."""

    place: Place = NOWHERE
    chains: Sequence[Sequence[Link]] = ()
    handles: Sequence[int] | None = None


class _Reader:
    def __init__(self, method: str, emitted: bool, edge: bool) -> None:
        self.method = method
        self.emitted = emitted
        self.edge = edge
        self.metadata = Metadata()
        self.targets: dict[str, tuple[str, str, bool]] = {}

    def walk(
        self, source: Nested, path: str, parent: tuple[str, int] | None, identities: Iterable[int] = ()
    ) -> Iterator[Graph]:
        if path.count("/") >= _DEEPEST:
            raise Malformed(f"has graphs nested more than {_DEEPEST} deep")
        scope = _Scope(GraphBuilder(self.method, path, identities), source)
        _placeholders(scope, source, nested=parent is not None)
        for number, node in enumerate(each(member(source.graph, "nodes", list), dict, "a node")):
            try:
                self._node(scope, node)
            except Malformed as error:
                name = node.get("name")
                label = f"node {name[:60]!r}" if isinstance(name, str) else f"node number {number}"
                raise Malformed(f"{label} of graph {path[:60]!r}: {error}" if path else f"{label}: {error}") from error
        self._output(scope, source.graph)
        yield scope.builder.finish(*(parent or (None, None)))
        for name, (inner, position) in scope.inner.items():
            yield from self.walk(inner, f"{path}/{name}" if path else name, (path, position))

    def _node(self, scope: _Scope, node: dict[str, object]) -> None:
        target, kind, registered = self._target(member(node, "target", str))
        meta = member(node, "metadata", dict)
        given = [output(item) for item in member(node, "outputs", list)]
        taken, constants = _split(_trees(target, node, scope.allocated))
        for _, leaf in taken:
            if isinstance(leaf, Nested):
                _get_attr(scope, leaf.name)
        ports = _ports(given)
        only = given[0] if given and ports is None else _NOTHING
        name = optional(node, "name", str) or only.name or scope.fresh(kind)
        delegate = taken[0][1] if target == _DELEGATE else None
        origin = _Origin(self.metadata.place(meta), chains(meta), handles(meta))
        position = scope.builder.node(
            name,
            "call_function",
            target,
            "delegate" if delegate else "symint" if only.symint else "op",
            kind=kind,
            values=[scope.values.of(port.name) for port in ports] if ports else [scope.values.of(only.name)],
            place=origin.place,
            backend=delegate.backend if isinstance(delegate, Nested) else scope.backend,
            attrs=_attrs(registered, constants),
        )
        scope.gives(name, position)
        if only.name is not None:
            scope.gives(only.name, position)
        if target == _ALLOC:
            scope.allocated.add(name)
        for path, leaf in taken:
            scope.uses(leaf, position, path)
        self._trace(scope, position, kind, origin)
        if ports:
            handed = _Origin() if delegate else replace(origin, handles=None) if self.emitted else origin
            self._getitems(scope, position, name, ports, handed)

    def _target(self, text: str) -> tuple[str, str, bool]:
        """Returns target, operator type, and whether the operator is known; those of a program are few."""
        found = self.targets.get(text)
        if found is None:
            target, kind = _target(text)
            found = self.targets[text] = target, kind, is_registered(target)
        return found

    def _trace(self, scope: _Scope, position: int, kind: str, origin: _Origin) -> None:
        for branch, chain in enumerate(origin.chains):
            scope.builder.origin(position, branch, chain)
        if origin.handles is None:
            return
        emitted = self.emitted and not scope.builder.path and kind not in _UNEMITTED
        if emitted or tuple(origin.handles) != (0,):
            scope.builder.handle(position, "instruction" if emitted else "debug_handle", origin.handles)

    def _getitems(self, scope: _Scope, source: int, name: str, ports: Sequence[Output], origin: _Origin) -> None:
        """Makes the nodes that pick single outputs; live ones have the metadata handed on here."""
        for port, given in enumerate(ports):
            if given.name is None and given.items is None:
                continue
            own = given.name or scope.fresh(f"{name}_getitem_{port}")
            items = given.items or (given,)
            position = scope.builder.node(
                own,
                "call_function",
                "_operator.getitem",
                "symint" if given.symint else "op",
                kind="getitem",
                values=[scope.values.of(item.name) for item in items],
                place=origin.place,
                backend=scope.backend,
                attrs={"args": {"1": port}},
            )
            scope.gives(own, position)
            scope.builder.use(source, port, position, "0")
            self._trace(scope, position, "getitem", origin)
            self._getitems(scope, position, own, given.items or (), origin)

    def _output(self, scope: _Scope, graph: dict[str, object]) -> None:
        trees = [argument(item) for item in member(graph, "outputs", list)]
        tree = trees[0] if len(trees) == 1 and optional(graph, "is_single_tensor_return", bool) else trees
        values = [scope.values.of(item.name if isinstance(item, Reference) else None) for item in trees]
        name = scope.fresh("output")
        position = scope.builder.node(
            name,
            "output",
            "output",
            "output",
            kind="output",
            values=values if self.edge and scope.backend is None else [NO_VALUE],
        )
        for path, leaf in _split([("0", tree)])[0]:
            scope.uses(leaf, position, path)


def _targets(graph: dict[str, object]) -> Iterator[str]:
    """Yields the targets in a graph and in the bodies nested in it."""
    for node in each(member(graph, "nodes", list), dict, "a node"):
        target = member(node, "target", str)
        yield target
        if target.startswith(_HIGHER_ORDER):
            for item in member(node, "inputs", list):
                nested = member(item, "arg", dict).get("as_graph")
                if nested is not None:
                    yield from _targets(member(nested, "graph", dict))


def _placeholders(scope: _Scope, source: Nested, nested: bool) -> None:
    given = [argument(item) for item in member(source.graph, "inputs", list)]
    names = [item.name if isinstance(item, Reference) else None for item in given]
    specs = member(source.signature, "input_specs", list) if source.signature is not None else []
    roles: dict[str, str] = {}
    inputs = 0
    for i, spec in enumerate(specs):
        kind, content = union(spec, "an input specification")
        name = _specified(kind, content)
        if name is None:
            continue
        if i < len(names) and names[i] is None:
            names[i] = name
        if kind in _STATE:
            roles[name], key = _STATE[kind]
            scope.builder.signature[name] = f"state:{member(content, key, str)}"
        elif kind == "token":
            roles[name] = "token"
        else:
            if not nested:
                scope.builder.signature[name] = f"input:{inputs}"
            inputs += 1
    for i, known in enumerate(names):
        name = known or f"input_{i}"
        values = [scope.values.of(name)]
        scope.gives(
            name,
            scope.builder.node(name, "placeholder", name, roles.get(name, "input"), kind="placeholder", values=values),
        )


def _specified(kind: str, content: object) -> str | None:
    """Returns the placeholder that an input specification is about."""
    if kind == "constant_input":
        return member(content, "name", str)
    if kind == "user_input":
        tree = argument(member(content, "arg", dict))
        return tree.name if isinstance(tree, Reference) else None
    return member(member(content, "arg", dict), "name", str)


def _target(text: str) -> tuple[str, str]:
    """Returns target and operator type as the live graph's are read."""
    if len(text) > _LONGEST_NAME:
        raise Malformed(f"has a target of more than {_LONGEST_NAME} characters")
    if text.startswith(_HIGHER_ORDER):
        name = text.removeprefix(_HIGHER_ORDER)
        return name, name
    for prefix in _OPERATORS:
        if text.startswith(prefix):
            name = text.removeprefix(prefix)
            return name, op_type(name)
    if text == "memory.alloc":
        return _ALLOC, "alloc"
    return text, text.rpartition(".")[2]


def _attrs(registered: bool, constants: dict[str, object]) -> dict[str, object]:
    attrs: dict[str, object] = {"args": constants} if constants else {}
    if not registered:
        attrs["flag"] = UNREGISTERED
    return attrs


def _trees(target: str, node: dict[str, object], allocated: Set[str]) -> list[tuple[str, object]]:
    """Returns a node's arguments, by path, as the live node has them."""
    inputs = member(node, "inputs", list)
    if target == _DELEGATE:
        if not inputs:
            raise Malformed("calls a delegate and does not say which")
        trees = [_lowered(inputs[0]), *(argument(member(item, "arg", dict)) for item in inputs[1:])]
        return [(str(i), tree) for i, tree in enumerate(trees)]
    if target == _ALLOC:
        specs = [allocation(argument(member(item, "arg", dict))) for item in inputs]
        listed = len(specs) != 1 or member(inputs[0], "name", str) == "alloc_list"
        return [("0", specs if listed else specs[0])]
    return list(arguments(target, each(inputs, dict, "an argument"), allocated))


def _lowered(item: object) -> Nested:
    """Returns the graph of a delegate, which stands as JSON in a text argument."""
    text = argument(member(item, "arg", dict))
    try:
        module = json.loads(text) if isinstance(text, str) else None
    except json.JSONDecodeError as error:
        raise Malformed(f"has a delegate that is not JSON: {error}") from error
    original = member(member(module, "original_module", dict), "graph_module", dict)
    graph, signature = member(original, "graph", dict), member(original, "signature", dict)
    return Nested(member(item, "name", str), graph, signature, member(module, "backend_id", str))


def _get_attr(scope: _Scope, target: str) -> None:
    """Makes the node through which the live graph reaches a nested graph."""
    if target in scope.attributes:
        return
    scope.attributes.add(target)
    name = scope.fresh(target.replace(".", "_"))
    position = scope.builder.node(name, "get_attr", target, "subgraph", kind="get_attr")
    scope.gives(name, position)
    scope.gives(target, position)


def _ports(given: list[Output]) -> Sequence[Output] | None:
    """Returns the output ports of a node that gives several values or a list, else None."""
    if len(given) > 1:
        return given
    return given[0].items if given else None


def _split(trees: list[tuple[str, object]]) -> tuple[list[tuple[str, Reference | Nested]], dict[str, object]]:
    """Returns what a node takes from others, and its constants, both by argument path."""
    taken: list[tuple[str, Reference | Nested]] = []
    constants: dict[str, object] = {}
    for path, tree in trees:
        for place, leaf in leaves(path, tree) if isinstance(tree, (list, dict)) else ((path, tree),):
            if isinstance(leaf, (Reference, Nested)):
                taken.append((place, leaf))
            else:
                constants[place] = leaf
    return taken, constants
