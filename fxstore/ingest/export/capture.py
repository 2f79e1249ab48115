"""Takes snapshots of live graphs: GraphModule, ExportedProgram and what is nested in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from fxstore.ingest.build import NOWHERE, GraphBuilder, Link, Place
from fxstore.ingest.export.live_nodes import as_json, attribute, chains, leaves_of, port_of, target_text, values_of
from fxstore.ingest.names import module_call, module_path, outer_calls, source_line

if TYPE_CHECKING:
    from fxstore.records import Graph

_ROLES = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
    InputKind.CUSTOM_OBJ: "constant",
    InputKind.TOKEN: "token",
    InputKind.USER_INPUT: "input",
}
_HOLDERS = frozenset({"get_attr", "call_module"})
_CALL_DELEGATE = "executorch_call_delegate"
_UNEMITTED = frozenset({"getitem", "alloc", "view"})
_ODD = (AttributeError, TypeError, ValueError, LookupError, RecursionError)


def capture_program(
    program: ExportedProgram,
    method: str = "forward",
    *,
    emitted: bool = False,
    identity: int | None = None,
    notes: list[str] | None = None,
) -> list[Graph]:
    """Takes a snapshot of an exported program's graph and of the graphs nested in it, outermost first.

    Args:
        emitted: The program comes from ``to_executorch()``: debug handles of emitted nodes are instruction indices.
        identity: A further number by which provenance cites the graph: it is a copy of the one that had it.
        notes: Gets a line for each thing that cannot be read.
    """
    capture = _Capture(method, emitted)
    graphs = list(capture.walk(program.graph_module, program, ""))
    capture.tell(notes)
    if identity is not None:
        graphs[0] = replace(graphs[0], identities=graphs[0].identities | {identity})
    return graphs


@dataclass(frozen=True)
class Told:
    """What a caller knows about a module's own nodes, those of nested graphs left out; each by name.

    Attributes:
        roles: Roles, the main one first.
        signature: What a placeholder stands for.
        chains: Provenance, nearest ancestor first.
        targets: What is recorded as a placeholder's target, which torch gives no more than its name.
        attrs: What is kept as JSON besides.
    """

    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    signature: Mapping[str, str] = field(default_factory=dict)
    chains: Mapping[str, list[Link]] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)
    attrs: Mapping[str, dict[str, object]] = field(default_factory=dict)


_NOTHING = Told()


def capture_module(
    module: fx.GraphModule, method: str = "forward", told: Told | None = None, notes: list[str] | None = None
) -> list[Graph]:
    """Takes a snapshot of a graph module and of the graphs nested in it, outermost first.

    Args:
        told: What is known of its nodes besides: those of a training step, whose ``seq_nr`` is recorded, too.
        notes: Gets a line for each thing that cannot be read.
    """
    capture = _Capture(method, False, told)
    graphs = list(capture.walk(module, None, ""))
    capture.tell(notes)
    return graphs


@dataclass
class _Scope:
    """One graph while it is captured.

    Attributes:
        backend: Who runs it, where it is a delegate's.
        told: What the caller knows of its nodes.
        uses: Node, argument path, position and port of every use: a graph that was edited may use a node before it.
    """

    module: fx.GraphModule
    builder: GraphBuilder
    backend: str | None = None
    told: Told | None = None
    uses: list[tuple[fx.Node, str, int, int]] = field(default_factory=list)

    def connect(self) -> list[str]:
        """Hands the uses over, once all nodes are there; returns the nodes that use what is not in their graph."""
        positions = self.builder.positions
        lost: list[str] = []
        for source, arg, position, port in self.uses:
            if source.name in positions:
                self.builder.use(positions[source.name], port, position, arg)
            else:
                lost.append(self.builder.name(position))
        return lost


class _Capture:
    def __init__(self, method: str, emitted: bool, told: Told | None = None) -> None:
        self.method = method
        self.emitted = emitted
        self.told = told
        self.places: dict[tuple[str | None, str | None, str | None, tuple[tuple[str, int], ...]], Place] = {}
        self.targets: dict[int, tuple[str, str]] = {}
        self.unread: dict[str, list[str]] = {}

    def tell(self, notes: list[str] | None) -> None:
        """Adds a line for each thing that could not be read, and on how many nodes."""
        for what, names in self.unread.items():
            if notes is not None and names:
                notes.append(f"{what} of {len(names)} nodes, {names[0]!r} the first of them")

    def lost(self, what: str, node: fx.Node) -> None:
        """Notes that a node's metadata are not what they should be; users and passes may put anything there."""
        self.unread.setdefault(f"cannot read the {what}", []).append(node.name)

    def walk(
        self,
        module: fx.GraphModule,
        program: ExportedProgram | None,
        path: str,
        parent: tuple[str, int] | None = None,
        backend: str | None = None,
        payload: bytes | None = None,
    ) -> Iterator[Graph]:
        builder = GraphBuilder(self.method, path, [id(module.graph)])
        scope = _Scope(module, builder, backend, None if parent else self.told)
        roles = _signature(builder, program, nested=parent is not None) if program is not None else {}
        nested: dict[str, fx.Node] = {}
        for node in module.graph.nodes:
            held = attribute(module, str(node.target)) if node.op in _HOLDERS else None
            if _holds_graph(held):
                nested.setdefault(str(node.target), node if node.op == "call_module" else next(iter(node.users), node))
            self._add(scope, node, roles.get(node.name) or _role(node, held, module), held)
        self.unread.setdefault("some arguments are in another graph:", []).extend(scope.connect())
        if program is None and parent is None:
            _sign(scope)
        callers = {target: (path, builder.positions[node.name]) for target, node in nested.items()}
        yield replace(builder.finish(*(parent or (None, None))), payload=payload)
        prefix = f"{path}/" if path else ""
        for target, at in callers.items():
            inner = attribute(module, target)
            if isinstance(inner, fx.GraphModule):
                yield from self.walk(inner, None, prefix + target, at)
            else:
                original, data = inner.original_module, getattr(inner, "processed_bytes", None)
                yield from self.walk(original.graph_module, original, prefix + target, at, inner.backend_id, data)

    def _add(self, scope: _Scope, node: fx.Node, role: str, held: object) -> None:
        """Adds a node; ``held`` is what the module has in the attribute that the node names."""
        builder = scope.builder
        target, kind = self._target(node, held)
        delegate = _delegate(node, scope.module) if kind == _CALL_DELEGATE else None
        told = scope.told or _NOTHING
        main, *further = told.roles.get(node.name) or [role]
        called = node.op.startswith("call_")
        port = port_of(node) if kind == "getitem" else 0
        position = len(builder.positions)
        constants: dict[str, object] = {}
        for arg, leaf in leaves_of(node):
            if isinstance(leaf, fx.Node):
                scope.uses.append((leaf, arg, position, port if arg == "0" else 0))
            elif called:
                constants[arg] = as_json(leaf)
        attrs: dict[str, object] = {"args": constants} if constants else {}
        if custom := node.meta.get("custom"):
            try:
                attrs["custom"] = as_json(custom)
            except _ODD:
                self.lost("custom metadata", node)
        builder.node(
            node.name,
            node.op,
            told.targets.get(node.name) or target,
            "delegate" if delegate else role if main == "op" else main,
            kind=kind,
            values=values_of(node, held),
            place=self._place(node),
            backend=delegate or (scope.backend if node.op == "call_function" else None),
            attrs=attrs | told.attrs.get(node.name, {}),
        )
        for other in further:
            builder.role(position, other)
        self._trace(scope, node, position, kind, delegate)

    def _trace(self, scope: _Scope, node: fx.Node, position: int, kind: str, delegate: str | None) -> None:
        """Records where a node comes from, and its numbers."""
        builder, told, meta = scope.builder, scope.told, node.meta
        if told is not None and node.name in told.chains:
            builder.origin(position, 0, told.chains[node.name])
        elif "from_node" in meta and (node.op != "placeholder" or builder.path == ""):
            try:
                for branch, chain in enumerate(chains(node)):
                    builder.origin(position, branch, chain)
            except _ODD:
                self.lost("provenance", node)
        handle = meta.get("debug_handle")
        if handle is not None:
            control_flow = isinstance(node.target, HigherOrderOperator) and not delegate
            emitted = self.emitted and not builder.path and kind not in _UNEMITTED and not control_flow
            if emitted or handle not in (0, ()):
                try:
                    handles = [index(one) for one in (handle if isinstance(handle, (list, tuple)) else (handle,))]
                except _ODD:
                    self.lost("debug handle", node)
                else:
                    builder.handle(position, "instruction" if emitted else "debug_handle", handles)
        sequence = meta.get("seq_nr") if told is not None else None
        if isinstance(sequence, int) and sequence >= 0 and node.op.startswith("call_"):
            builder.handle(position, "seq_nr", [sequence])

    def _target(self, node: fx.Node, held: object) -> tuple[str, str]:
        """As :func:`target_text`; the operators of a graph are few, and live as long as it."""
        if node.op == "call_module":
            return str(node.target), "call_module" if held is None else type(held).__name__
        if node.op != "call_function":
            return target_text(node)
        found = self.targets.get(id(node.target))
        if found is None:
            found = self.targets[id(node.target)] = target_text(node)
        return found

    def _place(self, node: fx.Node) -> Place:
        try:
            return self._place_of(node)
        except _ODD:
            self.lost("module stack or the stack trace", node)
            return NOWHERE

    def _place_of(self, node: fx.Node) -> Place:
        trace = node.meta.get("stack_trace") or None
        stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
        key, path, kind = None, None, None
        outer: tuple[tuple[str, int], ...] = ()
        if stack:
            key, (path, kind) = next(reversed(stack.items()))
            outer = outer_calls((own, of) for own, (of, _) in stack.items() if own != key)
        if trace is None and key is None:
            return NOWHERE
        place = self.places.get((trace, key, path, outer))
        if place is None:
            file, line, code = source_line(trace) if trace else (None, None, None)
            kind = kind if isinstance(kind, str | None) else f"{kind.__module__}.{kind.__qualname__}"
            place = self.places[trace, key, path, outer] = Place(
                None if path is None else module_path(path),
                kind,
                None if key is None else module_call(key),
                file,
                line,
                code,
                outer,
            )
        return place


def specified(program: ExportedProgram) -> list[tuple[str, InputSpec]]:
    """Returns what a program's signature says of each placeholder, by the placeholder's name.

    A copied program may have others than its signature says: torch renames ``input`` and whatever else is a builtin of
    Python. Their order is the same.
    """
    names = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    said = [getattr(spec.arg, "name", None) for spec in specs]
    if len(names) == len(specs) and not set(names).issuperset(said):
        return list(zip(names, specs, strict=True))
    return [(name, spec) for name, spec in zip(said, specs, strict=True) if name is not None]


def _signature(builder: GraphBuilder, program: ExportedProgram, nested: bool) -> dict[str, str]:
    roles: dict[str, str] = {}
    inputs = 0
    for name, spec in specified(program):
        roles[name] = _ROLES.get(spec.kind, "input")
        if spec.kind == InputKind.USER_INPUT:
            if not nested:
                builder.signature[name] = f"input:{inputs}"
            inputs += 1
        elif spec.target is not None:
            builder.signature[name] = f"state:{spec.target}"
    return roles


def _role(node: fx.Node, held: object, module: fx.GraphModule) -> str:
    if node.op == "placeholder":
        return "input"
    if node.op == "output":
        return "output"
    if node.op == "get_attr":
        if isinstance(held, torch.nn.Parameter):
            return "parameter"
        if isinstance(held, torch.Tensor):
            return "buffer" if _is_buffer(module, str(node.target)) else "constant"
        return "subgraph" if isinstance(held, torch.nn.Module) else "constant"
    if isinstance(node.meta.get("val"), (int, torch.SymInt)) and not isinstance(node.meta.get("val"), bool):
        return "symint"
    return "op"


def _is_buffer(module: fx.GraphModule, target: str) -> bool:
    path, _, name = target.rpartition(".")
    owner = attribute(module, path) if path else module
    return name in getattr(owner, "_buffers", ())


def _holds_graph(held: object) -> bool:
    return isinstance(held, torch.nn.Module) and (isinstance(held, fx.GraphModule) or hasattr(held, "original_module"))


def _sign(scope: _Scope) -> None:
    """Says what placeholders and state of a lone module stand for; the caller knows better, where it tells any."""
    if scope.told is not None:
        scope.builder.signature.update(scope.told.signature)
        return
    inputs = 0
    for node in scope.module.graph.nodes:
        if node.op == "placeholder":
            scope.builder.signature[node.name] = f"input:{inputs}"
            inputs += 1
        elif node.op == "get_attr" and not isinstance(attribute(scope.module, str(node.target)), torch.nn.Module):
            scope.builder.signature[node.name] = f"state:{node.target}"


def _delegate(node: fx.Node, module: fx.GraphModule) -> str | None:
    """Returns the backend that a call of a delegate names."""
    if node.op != "call_function" or not node.args:
        return None
    lowered = node.args[0]
    owner = attribute(module, str(lowered.target)) if isinstance(lowered, fx.Node) else None
    return getattr(owner, "backend_id", "unknown")
