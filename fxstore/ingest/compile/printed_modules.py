"""Graphs out of the text of a printed FX graph module, as ``print_readable`` and ``TORCH_TRACE`` write it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fxstore.errors import SourceError
from fxstore.ingest.build import NO_VALUE, NOWHERE, GraphBuilder, Place, Value
from fxstore.ingest.compile.printed_expressions import Computed, Ref, assigned, computed, constant, returned
from fxstore.ingest.compile.printed_statements import NOTHING, Annotation, Block, Line, annotation, blocks
from fxstore.ingest.names import op_type
from fxstore.records import Graph

MAX_PORTS = 4096


@dataclass
class Node:
    """One node of a printed graph.

    Attributes:
        says: What torch's descriptor of an input says (``TangentAOTInput(…)``), or None.
    """

    name: str
    computed: Computed
    about: Annotation = NOTHING
    place: Place = NOWHERE
    says: str | None = None


@dataclass
class Printed:
    """One printed graph, parsed.

    Attributes:
        path: ``''`` at the top, else the nested graph's.
        returns: For each value that it returns and whose descriptor was printed: name and descriptor, in order.
    """

    path: str
    nodes: list[Node] = field(default_factory=list)
    returns: tuple[tuple[str, str], ...] = ()


def parse(text: str) -> list[Printed]:
    """Returns the graphs of a printed module, outermost first.

    Raises:
        SourceError: It is no printed module; the message names the line.
    """
    return [_Reader(block).read() for block in blocks(text)]


class _Reader:
    def __init__(self, block: Block) -> None:
        self.block = block
        self.printed = Printed("/".join(block.names))
        self.names: dict[str, str] = {}
        self.inputs: dict[str, Annotation] = {}
        self.renamed: dict[str, str] = {}
        self.flat: list[str] | None = None
        self.defaults: dict[str, object] = {}
        self.says: dict[str, str] = {}
        self.declared: dict[str, Annotation] = {}
        self.opened = False
        self.taken: set[str] = set()

    def read(self) -> Printed:
        for line in self.block.lines:
            if line.code.startswith("def "):
                self._header(line)
                continue
            for statement in self._parsed(line, line.code):
                self._statement(statement, line)
        self._open()
        if any(not node.name for node in self.printed.nodes):
            raise SourceError("the graph's text writes in place without giving the result a name")
        return self.printed

    def _parsed(self, line: Line, code: str) -> list[ast.stmt]:
        try:
            return ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            cause = error.msg if isinstance(error, SyntaxError) else "it is nested too deeply"
            raise SourceError(f"line {line.number} of the graph's text is no graph code: {cause}") from None

    def _header(self, line: Line) -> None:
        function = next(iter(self._parsed(line, f"{line.code} pass")), None)
        if not isinstance(function, ast.FunctionDef):
            raise SourceError(f"line {line.number} of the graph's text is no graph code")
        given = function.args
        for one in [*given.posonlyargs, *given.args, *filter(None, [given.vararg]), *given.kwonlyargs]:
            if one.arg != "self":
                self.inputs[one.arg] = _annotation(one.annotation)
        for one, default in zip(reversed(given.args), reversed(given.defaults), strict=False):
            self.defaults[one.arg] = constant(default)
        self.says.update(line.comments)

    def _statement(self, statement: ast.stmt, line: Line) -> None:
        # `return` needs no `def` around it to be parsed, only to be compiled.
        if isinstance(statement, ast.Return):
            self._add("output", returned(statement.value, self._known()), NOTHING, line)
            self.printed.returns = line.comments
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            self._annotated(statement, statement.target.id, line)
        elif isinstance(statement, ast.AugAssign):
            self._add("", assigned(statement, self._known()), NOTHING, line)
        elif isinstance(statement, ast.Assign):
            self._assign(statement, line)

    def _annotated(self, statement: ast.AnnAssign, name: str, line: Line) -> None:
        about = _annotation(statement.annotation)
        if statement.value is None:
            self.declared[name] = about
            self.says.update(line.comments)
        elif not self._names_inplace(name, statement.value):
            self._add(name, computed(statement.value, self._known()), about, line)

    def _assign(self, statement: ast.Assign, line: Line) -> None:
        target, value = statement.targets[0], statement.value
        if isinstance(value, ast.Constant) and value.value is None:
            return  # frees what is used no more
        if isinstance(target, ast.Tuple):
            self.flat = [item.id for item in target.elts if isinstance(item, ast.Name)]
        elif isinstance(target, ast.Subscript):
            self._add("", assigned(statement, self._known()), NOTHING, line)
        elif isinstance(target, ast.Name) and not self._names_inplace(target.id, value):
            if isinstance(value, ast.Name) and value.id in self.inputs and not self.opened:
                self.renamed[value.id] = target.id
            elif isinstance(value, ast.Name) and value.id in self._known():
                self.names[target.id] = self.names[value.id]
            else:
                self._add(target.id, computed(value, self._known()), NOTHING, line)

    def _names_inplace(self, name: str, value: ast.expr) -> bool:
        """Gives what was just computed in place its name: ``x[0] = y;  setitem = x``."""
        last = self.printed.nodes[-1] if self.printed.nodes else None
        if last is None or last.name or not isinstance(value, ast.Name):
            return False
        last.name = self.names[name] = name
        self.taken.discard("")
        return name not in self.taken and not self.taken.add(name)  # type: ignore[func-returns-value]

    def _known(self) -> dict[str, str]:
        self._open()
        return self.names

    def _open(self) -> None:
        """Adds the inputs, once it is known what they are called."""
        if self.opened:
            return
        self.opened = True
        names = self.flat if self.flat is not None else list(self.inputs)
        for target in names:
            name = self.renamed.get(target, target)
            about = self.declared.get(target) or self.inputs.get(target, NOTHING)
            node = Node(name, Computed("placeholder", target), about, says=self.says.get(target))
            if target in self.defaults:
                node.computed.args.append(("0", self.defaults[target]))
            self.printed.nodes.append(node)
            self.names[name] = self.names[target] = name
            self.taken.add(name)

    def _add(self, name: str, found: Computed | None, about: Annotation, line: Line) -> None:
        if found is None:
            raise SourceError(f"line {line.number} of the graph's text is no graph code")
        self._open()
        if name in self.taken:
            raise SourceError(f"line {line.number} of the graph's text gives the name {name[:60]!r} again")
        self.taken.add(name)
        found.args = [(p, Ref(self.names[v.name]) if isinstance(v, Ref) else v) for p, v in found.args]
        place = Place(None, None, None, *line.place) if line.place else NOWHERE
        self.printed.nodes.append(Node(name, found, about, place))
        if name and name != "output":
            self.names[name] = name


def _annotation(given: ast.expr | None) -> Annotation:
    return annotation(given.value) if isinstance(given, ast.Constant) and isinstance(given.value, str) else NOTHING


def build(printed: Sequence[Printed], method: str, roles: Mapping[str, Sequence[str]] | None = None) -> list[Graph]:
    """Returns the graphs of a printed module as plain data, outermost first.

    Args:
        method: Entry point that they are stored under.
        roles: Roles of nodes of the outermost graph by name, the main one first; default: told by the node.
    """
    callers: dict[str, tuple[str, int]] = {}
    paths = {one.path for one in printed}
    found = []
    for one in printed:
        builder = _built(one, method, paths, roles if roles and not one.path else {})
        _find_callers(one, builder.positions, paths, callers)
        found.append(builder.finish(*callers.get(one.path, (None, None))))
    return found


def _built(one: Printed, method: str, paths: set[str], roles: Mapping[str, Sequence[str]]) -> GraphBuilder:
    builder = GraphBuilder(method, one.path)
    several = _several(one.nodes)
    values = _values(one.nodes, several)
    inputs = 0
    for node in one.nodes:
        op, target = node.computed.op, node.computed.target
        nested = op == "get_attr" and _inside(one.path, target) in paths
        given = roles.get(node.name) or [_role(node, nested)]
        constants = {path: leaf for path, leaf in node.computed.args if not isinstance(leaf, Ref)}
        position = builder.node(
            node.name,
            op,
            target,
            given[0],
            kind=_kind(op, target),
            values=values[node.name],
            place=node.place,
            attrs={"args": constants} if constants and op != "output" else None,
        )
        for role in given[1:]:
            builder.role(position, role)
        if op == "placeholder" and not one.path:
            builder.signature[node.name] = f"input:{inputs}"
            inputs += 1
        source, index = _getitem(node)
        port = index if source in several else 0
        for path, leaf in node.computed.args:
            if isinstance(leaf, Ref):
                builder.use(builder.positions[leaf.name], port if path == "0" else 0, position, path)
    return builder


def _kind(op: str, target: str) -> str:
    return op if op in ("placeholder", "get_attr", "output") else op_type(target)


def _role(node: Node, nested: bool) -> str:
    op = node.computed.op
    if op == "placeholder":
        return role_of_input(node.says) or "input"
    if op == "get_attr":
        return "subgraph" if nested else "constant"
    return "output" if op == "output" else "symint" if node.about.symint else "op"


def role_of_input(says: str | None) -> str | None:
    """Returns the role that torch's descriptor of an input tells, or None where it tells none."""
    for kind, role in _INPUTS.items():
        if says is not None and says.startswith(kind):
            return role
    return None


_INPUTS = {
    "ParamAOTInput": "parameter",
    "BufferAOTInput": "buffer",
    "TangentAOTInput": "tangent",
    "PlainAOTInput": "input",
}


def _several(nodes: Sequence[Node]) -> set[str]:
    """Returns the nodes that give several values: those are printed without dtype and shape."""
    plain = {node.name: node.about.value.dtype is None and not node.about.symint for node in nodes}
    read = [_getitem(node) for node in nodes]
    return {source for source, port in read if source is not None and plain[source] and 0 <= port < MAX_PORTS}


def _values(nodes: Sequence[Node], several: set[str]) -> dict[str, list[Value]]:
    """Returns each node's values; of several values only those are known that are read."""
    values = {node.name: [] if node.name in several else [node.about.value] for node in nodes}
    for node in nodes:
        source, port = _getitem(node)
        if source in several:
            ports = values[source]
            ports.extend([NO_VALUE] * (port + 1 - len(ports)))
            ports[port] = node.about.value
    return values


def _getitem(node: Node) -> tuple[str | None, int]:
    if node.computed.target != "_operator.getitem" or len(node.computed.args) != 2:
        return None, 0
    (_, source), (_, port) = node.computed.args
    if isinstance(source, Ref) and isinstance(port, int) and 0 <= port < MAX_PORTS:
        return source.name, port
    return None, 0


def _find_callers(
    one: Printed, positions: Mapping[str, int], paths: set[str], callers: dict[str, tuple[str, int]]
) -> None:
    """Notes, for each nested graph, the first node that uses it."""
    held = {node.name: _inside(one.path, node.computed.target) for node in one.nodes if node.computed.op == "get_attr"}
    for node in one.nodes:
        inner = [_inside(one.path, node.computed.target)] if node.computed.op == "call_module" else []
        inner += [held[leaf.name] for _, leaf in node.computed.args if isinstance(leaf, Ref) and leaf.name in held]
        for path in inner:
            if path in paths:
                callers.setdefault(path, (one.path, positions[node.name]))


def _inside(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


# Reads graphs that torch printed as text; nothing in it is executed.
