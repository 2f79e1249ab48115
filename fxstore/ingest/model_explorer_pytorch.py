"""Graphs that Model Explorer's own adapter makes of an ExportedProgram.

It calls a node what the program calls it, joins a module's class and name to one part of a namespace, keeps whose
value an input is as the attribute ``target``, and numbers an edge's output by the users of a value, not by its ports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from fxstore.ingest.build import Place
from fxstore.ingest.described import Node, Use
from fxstore.ingest.model_explorer_nodes import Reader, Row, attributes_of, id_of
from fxstore.ingest.typed_json import each, member, optional

_INPUTS: Final = "inputs"
_CLASS: Final = re.compile(r"((?:\w+\.|<locals>\.)*_*[^\W_]+)(?:_(.+))?")
_ROLES: Final = {"p": "parameter", "b": "buffer", "c": "constant"}
_NO_TARGET: Final = "None"
_GETITEM: Final = "getitem"


def is_programs(rows: Sequence[Row]) -> bool:
    """Tells whether nodes were made by that adapter: each input has a target, and each module a class."""
    inputs = [row for row in rows if row.get("namespace") == _INPUTS]
    places = {str(row.get("namespace") or "") for row in rows} - {_INPUTS, ""}
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
        if row.get("namespace") == _INPUTS:
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
