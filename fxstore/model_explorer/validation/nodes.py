"""Checks of single nodes: ids, namespaces, labels, attributes, metadata of inputs and outputs.

The functions that ``read`` and ``show`` texts do what the app does with them; a text that comes out changed is a
finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Final

from fxstore.model_explorer.names import PROTOTYPE
from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.read import Graph, Node, Pair, Port

HIDDEN: Final = ("Const", "no_value", "pseudo_const", "pseudo_qconst", "ReadVariableOp")
"""Labels that the app hides unless a user or the graph says otherwise."""
LAYER: Final = "___group___"
"""What the app appends to a namespace for the id of its layer."""
VALUES: Final = "__value"
"""The attribute whose value the app shows with the inputs that it feeds."""
TAG: Final = "__tensor_tag"
"""The key of an output or input that the app shows as its name."""
SETTER: Final = "__proto__"
"""The one key under which a JavaScript object holds nothing."""
_ESCAPED: Final = "___escaped_slash___"
_DENSE: Final = re.compile(r"dense<([^>]*)>")
_DIMENSION: Final = re.compile(r"(\d|\?)x")


def check_nodes(graph: Graph, findings: Findings) -> None:
    """Checks each node of a graph."""
    layers = {f"{namespace}{LAYER}" for namespace in namespaces(graph.nodes)}
    hidden = hidden_labels(graph)
    for name, count in Counter(node.id for node in graph.nodes).items():
        if count > 1:
            findings.add("duplicate_node_id", f"{count} nodes have this id", graph.id, name)
    for node in graph.nodes:
        said = _bad_id(node.id, layers)
        if said:
            findings.add("bad_node_id", said, graph.id, node.id)
        if node.label.lower() in hidden:
            findings.add("hidden_node", f"its label is {quoted(node.label)}", graph.id, node.id)
        elif not node.label.strip():
            findings.add("empty_label", f"its label is {quoted(node.label)}", graph.id, node.id)
        _check_namespace(node, graph.id, findings)
        _check_attributes(node, graph, findings)
        for side, ports in (("input", node.inputs), ("output", node.outputs)):
            _check_ports(side, ports, node, graph.id, findings)


def hidden_labels(graph: Graph) -> frozenset[str]:
    """Returns the labels, in small letters, whose nodes the app hides."""
    return frozenset(label.lower() for label in (HIDDEN if graph.hidden is None else graph.hidden))


def namespaces(nodes: Iterable[Node]) -> dict[str, None]:
    """Returns the layers of a graph by namespace, in the order in which the app makes them."""
    found: dict[str, None] = {}
    for namespace in dict.fromkeys(read_namespace(node.namespace) for node in nodes):
        parts = layers_of(namespace)
        for length in range(len(parts), 0, -1):
            layer = "/".join(parts[:length])
            if layer in found:
                break
            found[layer] = None
    return found


def _bad_id(name: str, layers: set[str]) -> str | None:
    if not name:
        return "its id is empty"
    if "\0" in name or "\1" in name:
        return "its id holds a control character that the app's layout uses itself"
    if name in PROTOTYPE:
        return "every JavaScript object has that name"
    return "a layer has that id" if name in layers else None


def _check_namespace(node: Node, graph: str, findings: Findings) -> None:
    namespace, given = read_namespace(node.namespace), quoted(node.namespace)
    parts = layers_of(namespace)
    if namespace != node.namespace:
        findings.add("bad_namespace", f"of {given} only {quoted(namespace)} is read", graph, node.id)
    elif "/".join(parts) != namespace:
        findings.add("bad_namespace", f"{given} has an empty part, so it has no place", graph, node.id)
    elif LAYER in namespace:
        findings.add("bad_namespace", f"{given} holds {LAYER}, so the rows of its layers are missed", graph, node.id)
    elif "\\/" in namespace:
        findings.add("escaped_slash", f"{given} is {len(parts)} layers", graph, node.id)


def _check_attributes(node: Node, graph: Graph, findings: Findings) -> None:
    _check_keys("attribute", [key for key, _ in node.attrs], {VALUES}, {SETTER}, node, graph.id, findings)
    for key, value in node.attrs:
        if isinstance(value, str):
            if shown_attribute(key, value) != value:
                said = f"{quoted(key)}: {quoted(value)} reads {quoted(shown_attribute(key, value))}"
                findings.add("changed_text", said, graph.id, node.id)
        elif not _is_reference(value):
            findings.add("bad_attribute", f"the value of {quoted(key)} is {quoted(value)}", graph.id, node.id)


def _is_reference(value: object) -> bool:
    if not isinstance(value, dict) or value.get("type") != "node_ids":
        return False
    ids = value.get("nodeIds")
    return isinstance(ids, list) and all(isinstance(one, str) for one in ids)


def references(pairs: Iterable[Pair]) -> list[str]:
    """Returns the ids of nodes that attributes refer to."""
    return [one for _, value in pairs if isinstance(value, dict) and _is_reference(value) for one in value["nodeIds"]]


def _check_keys(
    what: str,
    keys: Sequence[str],
    shown: Container[str],
    unheld: Container[str],
    node: Node,
    graph: str,
    findings: Findings,
) -> None:
    repeated = [key for key, count in Counter(keys).items() if count > 1]
    if repeated:
        findings.add("duplicate_attribute", f"{what}: {listed(repeated)}", graph, node.id)
    for key in dict.fromkeys(keys):
        if key in unheld:
            findings.add("bad_attribute", f"{what} {quoted(key)} is not held", graph, node.id)
        elif key.startswith("__") and key not in shown:
            findings.add("hidden_attribute", f"{what} {quoted(key)}", graph, node.id)


def _check_ports(side: str, ports: Sequence[Port], node: Node, graph: str, findings: Findings) -> None:
    repeated = [name for name, count in Counter(port.id for port in ports).items() if count > 1]
    if repeated:
        findings.add("duplicate_port", f"{side}s {listed(repeated)}", graph, node.id)
    for port in ports:
        if port.id == SETTER:
            findings.add("bad_attribute", f"{side} {quoted(port.id)} is not held", graph, node.id)
        what = f"{side} {quoted(port.id)}"
        shown = [(key, value, *shown_metadata(key, value)) for key, value in port.attrs if isinstance(value, str)]
        _check_keys(what, [name for _, _, name, _ in shown], {TAG}, PROTOTYPE, node, graph, findings)
        for key, value, _, text in shown:
            if text != value:
                said = f"{what}: {quoted(key)}: {quoted(value)} reads {quoted(text)}"
                findings.add("changed_text", said, graph, node.id)


def read_namespace(namespace: str) -> str:
    """Returns the namespace that the app takes for one: what stands behind the last semicolon."""
    parts = [part for part in namespace.split(";") if part]
    return parts[-1] if len(parts) > 1 else namespace


def layers_of(namespace: str) -> list[str]:
    """Returns the names of the layers that a namespace leads through; a backslash keeps a slash in a name."""
    parts = namespace.replace("\\/", _ESCAPED).split("/")
    return [part.replace(_ESCAPED, "\\/") for part in parts if part]


def shown_attribute(key: str, value: str) -> str:
    """Returns the text that the app shows of an attribute."""
    if key == VALUES:
        return value
    if value.startswith("dense<") and (match := _DENSE.match(value)):
        return match[1]
    return value.replace('"', "") or "<empty>"


def shown_metadata(key: str, value: str) -> tuple[str, str]:
    """Returns the key and the text that the app shows of an output or input."""
    if key != "tensor_shape":
        return key, value
    text = value.replace("tensor<", "", 1).replace(">", "", 1).replace("*", "\u2217", 1)
    return "shape", _DIMENSION.sub(r"\1 x ", text)
