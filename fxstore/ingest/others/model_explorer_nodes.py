"""Nodes of Model Explorer's graphs: what any file says of them, and what our own exporter writes on top of that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from fxstore.ingest.build import NO_VALUE, NOWHERE, Place, Value
from fxstore.ingest.json_input import each, member, optional, typed
from fxstore.ingest.names import op_type
from fxstore.ingest.node_table import Node, Use
from fxstore.ingest.others.torchlens_files import refined
from fxstore.model_explorer.names import is_part, modules_of, unescaped

Row = dict[str, object]
_SHAPE: Final = re.compile(r"^(?:torch\.)?([a-z]\w*)\[(.*)\]$")
_INPUTS: Final = frozenset({"inputs", "input", "graphinputs"})
_OUTPUTS: Final = frozenset({"outputs", "output", "graphoutputs"})
_BY: Final = re.compile(r"^\d+(?:x\d+)+$")
_HIDDEN: Final = "__"
_TAG: Final = "__tensor_tag"
_OURS: Final = frozenset({"name", "op", "role"})
_NO_OPERATOR: Final = frozenset({"placeholder", "get_attr", "output"})
_LINE: Final = re.compile(r"(.*):(\d{1,9})", re.DOTALL)
_ARGUMENT: Final = "argument "


@dataclass
class Reader:
    """Reads the nodes of one graph.

    Attributes:
        rows: The nodes.
        types: The type of a module by its namespace.
        undeclared: Edges from outputs that their source does not declare; filled while reading.
    """

    rows: list[dict[str, object]]
    types: Mapping[str, str]
    undeclared: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ports = {member(row, "id", str): ports_of(row) for row in self.rows}
        known = [attributes_of(row).keys() >= _OURS for row in self.rows]
        self.ours = bool(known) and all(known)
        names = [unescaped(str(attributes_of(row)["name"])) for row in self.rows] if self.ours else []
        ids = [member(row, "id", str) for row in self.rows]
        self.names = dict(zip(ids, names if len(set(names)) == len(ids) else ids, strict=False))

    def nodes(self) -> list[Node]:
        """Returns the nodes.

        Raises:
            Malformed: One does not follow the schema.
        """
        return [self._ours(row) if self.ours else self._any(row) for row in self.rows]

    def name(self, row: Row) -> str:
        """Returns what the store calls a node."""
        return self.names[member(row, "id", str)]

    def uses(self, row: Row) -> list[Use]:
        """Returns the values that a node reads."""
        tags = {}
        for item in each(optional(row, "inputsMetadata", list) or [], dict, "an input"):
            tags[id_of(item.get("id"))] = _pairs(optional(item, "attrs", list) or []).get(_TAG)
        edges = each(optional(row, "incomingEdges", list) or [], dict, "an edge")
        return [self._use(edge, tags if self.ours else {}) for edge in edges]

    def _use(self, edge: Row, tags: Mapping[str, object]) -> Use:
        source = member(edge, "sourceNodeId", str)
        output = id_of(edge.get("sourceNodeOutputId"))
        declared = self.ports.get(source, {})
        if output not in declared and output != "0":
            self.undeclared.append(f"{source}:{output}")
        argument = edge.get("targetNodeInputId")
        given = None if argument is None else id_of(argument)
        tag = tags.get(given) if given is not None else None
        return Use(self.names.get(source, source), declared.get(output, 0), tag if isinstance(tag, str) else given)

    def _any(self, row: Row) -> Node:
        name = member(row, "id", str)
        label = optional(row, "label", str) or name
        attrs = attributes_of(row)
        namespace = optional(row, "namespace", str) or ""
        role = _role(namespace, label, str(attrs.get("op") or attrs.get("kind") or ""))
        place = NOWHERE if role == "input" and namespace.lower() in _INPUTS else self._place(namespace)
        node = Node(
            name,
            label if role in ("input", "output") else op_type(label),
            self.uses(row),
            values_of(row) or [NO_VALUE],
            role,
            target=label,
            place=place,
            attrs={"attrs": attrs} if attrs else {},
        )
        return refined(node, attrs)

    def _place(self, namespace: str) -> Place:
        """Returns the module that a namespace stands for; ``blk:2`` is its second call."""
        modules = modules_of("/".join(part for part in namespace.split("/") if part))
        path = ".".join(name for name, _ in modules)
        if not path:
            return NOWHERE
        return Place(path, self.types.get(namespace), modules[-1][1], outer_calls=_outer_calls(modules))

    def _ours(self, row: Row) -> Node:
        attrs = {key: unescaped(value) for key, value in attributes_of(row).items() if isinstance(value, str)}
        label, op = optional(row, "label", str) or "", attrs["op"]
        arguments = {key.removeprefix(_ARGUMENT): _json(value) for key, value in attrs.items() if _ARGUMENT in key}
        source = _LINE.fullmatch(attrs.get("source", ""))
        path = attrs.get("module", "" if "module_type" in attrs else None)
        call = attrs.get("module_call", "" if path is None else "1")
        place = Place(
            path, attrs.get("module_type"), int(call) if call.isdecimal() and len(call) < 7 else None,
            source[1] if source else attrs.get("source"), int(source[2]) if source else None, attrs.get("source_code"),
            () if path is None else _recorded_calls(optional(row, "namespace", str) or "", path),
        )  # fmt: skip
        return Node(
            self.name(row),
            op if op in _NO_OPERATOR else label,
            self.uses(row),
            [_on(value, attrs.get("device")) for value in values_of(row)] or [NO_VALUE],
            attrs["role"],
            op,
            attrs.get("target"),
            place,
            attrs.get("backend"),
            {"args": arguments} if arguments else {},
        )


def _on(value: Value, device: str | None) -> Value:
    return Value(value.dtype, value.shape, device) if value.dtype is not None else value


def _json(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found


def _outer_calls(modules: Iterable[tuple[str, int | None]]) -> tuple[tuple[str, int], ...]:
    """Returns path and call of each module around the innermost one that is not called for the first time."""
    given = list(modules)
    paths = [".".join(name for name, _ in given[: i + 1]) for i in range(len(given) - 1)]
    return tuple((path, call) for path, (_, call) in zip(paths, given, strict=False) if call is not None and call > 1)


def _recorded_calls(namespace: str, path: str) -> tuple[tuple[str, int], ...]:
    """Returns the same from a namespace of ours, where the root is written as ``self`` once it is called again."""
    modules = modules_of("/".join(part for part in namespace.split("/") if not is_part(part)))
    root: list[tuple[str, int]] = []
    if modules and modules[0][0] == "self" and path and ".".join(name for name, _ in modules) != path:
        call = modules.pop(0)[1]
        root = [("", call)] if call is not None and call > 1 else []
    same = ".".join(name for name, _ in modules) == path
    return (*root, *_outer_calls(modules)) if same else ()


def _role(namespace: str, label: str, op: str) -> str:
    """Inputs and outputs stand in a namespace of their own, by every adapter of the vendor's."""
    if op == "placeholder" or (namespace.lower() in _INPUTS) or label in ("GraphInputs", "placeholder"):
        return "input"
    if op == "output" or namespace.lower() in _OUTPUTS or label in ("GraphOutputs", "output"):
        return "output"
    return "op"


def id_of(value: object) -> str:
    """Returns the id of an output or input as a text; where there is none, it is the first."""
    return str(value) if isinstance(value, int) else typed("0" if value is None else value, str, "the id of a port")


def ports_of(row: Row) -> dict[str, int]:
    """Returns the outputs that a node declares: numbers by the number that they are, others in order."""
    given = each(optional(row, "outputsMetadata", list) or [], dict, "an output")
    names = list(dict.fromkeys(id_of(item.get("id")) for item in given))
    if all(name.isdecimal() and len(name) <= 4 for name in names):
        return {name: int(name) for name in names}
    return {name: i for i, name in enumerate(names)}


def values_of(row: Row) -> list[Value]:
    """Returns dtype and shape of each output."""
    ports = ports_of(row)
    values = [NO_VALUE] * (max(ports.values(), default=-1) + 1)
    for item in each(optional(row, "outputsMetadata", list) or [], dict, "an output"):
        values[ports[id_of(item.get("id"))]] = _value(_pairs(optional(item, "attrs", list) or []))
    return values


def _value(attrs: Mapping[str, object]) -> Value:
    dtype, shape = attrs.get("dtype"), attrs.get("shape")
    match = _SHAPE.match(str(attrs.get("tensor_shape") or ""))
    if match and not isinstance(dtype, str):
        dtype, shape = match[1], match[2]
    if not isinstance(dtype, str):
        return NO_VALUE
    written = str(shape or "")
    sizes = [part.strip(" []()'\"") for part in written.split("x" if _BY.match(written) else ",")]
    return Value(dtype.removeprefix("torch."), tuple(size for size in sizes if size))


def tensor_names(row: Row) -> list[str]:
    """Returns the names of a node's outputs, by which node data may name it."""
    found = []
    for item in each(optional(row, "outputsMetadata", list) or [], dict, "an output"):
        name = _pairs(optional(item, "attrs", list) or []).get("tensor_name")
        found += [name] if isinstance(name, str) else []
    return found


def attributes_of(row: Row) -> dict[str, object]:
    """Returns a node's attributes without those that the app hides."""
    pairs = _pairs(optional(row, "attrs", list) or [])
    return {key: value for key, value in pairs.items() if not key.startswith(_HIDDEN)}


def _pairs(items: Iterable[object]) -> dict[str, object]:
    return {member(item, "key", str): item.get("value") for item in each(items, dict, "an attribute")}


# Graphs that Model Explorer's own adapter makes of an ExportedProgram.
#
# It calls a node what the program calls it, joins a module's class and name to one part of a namespace, keeps whose
# value an input is as the attribute ``target``, and numbers an edge's output by the users of a value, not by its ports.


_PYTORCH_INPUTS: Final = "inputs"
_CLASS: Final = re.compile(r"((?:\w+\.|<locals>\.)*_*[^\W_]+)(?:_(.+))?")
_ROLES: Final = {"p": "parameter", "b": "buffer", "c": "constant"}
_NO_TARGET: Final = "None"
_GETITEM: Final = "getitem"


def is_programs(rows: Sequence[Row]) -> bool:
    """Tells whether nodes were made by that adapter: each input has a target, and each module a class."""
    inputs = [row for row in rows if row.get("namespace") == _PYTORCH_INPUTS]
    places = {str(row.get("namespace") or "") for row in rows} - {_PYTORCH_INPUTS, ""}
    firsts = {place.partition("/")[0] for place in places}
    return (
        any(row.get("label") == "output" for row in rows)
        and all(row.get("label") == row.get("id") for row in inputs)
        and len(firsts) == 1
        and all("." in first and _CLASS.fullmatch(first) for first in firsts)
        and all("tensor_shape" in _described(row) for row in rows if row.get("outputsMetadata"))
    )


def _described(row: Row) -> set[object]:
    items = each(optional(row, "outputsMetadata", list) or [], dict, "an output")
    pairs = [pair for item in items for pair in each(optional(item, "attrs", list) or [], dict, "an attribute")]
    return {pair.get("key") for pair in pairs}


class ProgramReader(Reader):
    """Reads the nodes of such a graph."""

    def nodes(self) -> list[Node]:
        """Returns the nodes as the program has them."""
        return [self._node(super(ProgramReader, self)._any(row), row) for row in self.rows]

    def _node(self, node: Node, row: Row) -> Node:
        if row.get("namespace") == _PYTORCH_INPUTS:
            return self._input(node, attributes_of(row))
        label = member(row, "label", str)
        if label == "output":
            return replace(node, role="output", op="output", operator="output", target="output")
        return replace(node, target="_operator.getitem" if label == _GETITEM else label)

    def _input(self, node: Node, attrs: Mapping[str, object]) -> Node:
        held = attrs.get("target", _NO_TARGET) != _NO_TARGET
        role = _ROLES.get(node.name.partition("_")[0], "input") if held else "input"
        return replace(node, role=role, op="placeholder", operator="placeholder", target=node.name)

    def _place(self, namespace: str) -> Place:
        parts = [_CLASS.fullmatch(part) for part in namespace.split("/")]
        found = [part for part in parts if part is not None]
        if not namespace or len(found) < len(parts):
            return super()._place(namespace)
        return Place(".".join(part[2] for part in found if part[2]), found[-1][1])

    def _use(self, edge: Row, tags: Mapping[str, object]) -> Use:
        source = member(edge, "sourceNodeId", str)
        user, ports = id_of(edge.get("sourceNodeOutputId")), self.ports.get(source, {})
        target = edge.get("targetNodeInputId")
        return Use(
            source, ports[user] if len(ports) > 1 and user in ports else 0, None if target is None else id_of(target)
        )
