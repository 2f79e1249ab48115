"""Everything of a payload that Model Explorer does not hold, list, draw, place or show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

ROOT: Final = ""
LAYER: Final = "___group___"
TAG: Final = "__tensor_tag"
VALUES: Final = "__value"
"""The attribute that the app shows with the inputs that it feeds."""


@dataclass(frozen=True)
class Loss:
    """One thing that went in and did not come out; ``kind`` is one of node, edge, wire, port, attribute, …"""

    kind: str
    graph: str
    node: str | None
    detail: str


def lost(graph: dict[str, Any], app: dict[str, Any], graphs: set[str]) -> list[Loss]:
    """Compares one graph of a payload with what the app holds of it.

    Args:
        graphs: The ids of all graphs of its collection.
    """
    name = str(graph.get("id"))
    found = [Loss("layout", name, None, error) for error in app["errors"]]
    if app["id"] != graph.get("id"):
        found.append(Loss("graph id", name, None, f"is called {app['id']!r}"))
    if not app["listed"]:
        found.append(Loss("graph list", name, None, "cannot be chosen"))
    if "threw" in app:
        return [*found, Loss("graph", name, None, app["threw"])]
    byid = {node.get("id"): node for node in app["nodes"]}
    groups = {group["id"]: group for group in app["groups"]}
    given = {node.get("id"): node for node in graph["nodes"]}
    for node_id, count in Counter(node.get("id") for node in graph["nodes"]).items():
        if node_id not in byid:
            found.append(Loss("node", name, node_id, "is not held"))
            continue
        if count > 1:
            found.append(Loss("node", name, node_id, f"one of {count} is held"))
        said = _of_node(given[node_id], byid[node_id], byid, groups, graphs)
        found += [Loss(kind, name, node_id, detail) for kind, detail in said]
    found += [Loss("wire", name, to, f"from {source} is not drawn") for source, to in _undrawn(app, byid, groups)]
    found += [Loss("layer", name, group["id"], "is not placed") for group in app["groups"] if not group["place"]]
    found += [Loss("overlap", name, one, f"lies on {other!r}") for one, other in _overlapping(app)]
    layers = {group_id.replace(LAYER, "", 1) for group_id in groups} | {ROOT}
    for namespace in graph.get("groupNodeAttributes") or {}:
        if namespace not in layers:
            found.append(Loss("group row", name, None, f"{namespace!r} is no layer"))
    return found


def _of_node(
    given: dict[str, Any], app: dict[str, Any], byid: dict[str, Any], groups: dict[str, Any], graphs: set[str]
) -> Iterator[tuple[str, str]]:
    if app["hidden"] or not app["place"]:
        yield "place", "is hidden" if app["hidden"] else "has no place"
    if app.get("label") != given.get("label"):
        yield "label", f"{given.get('label')!r} reads {app.get('label')!r}"
    namespace = given.get("namespace", "")
    shown = _path(app, groups)
    if app["fullNamespace"] != namespace or shown != namespace:
        yield "namespace", f"{namespace!r} is held as {app['fullNamespace']!r} and shown as {shown!r}"
    if "threw" in app["panel"]:
        yield "panel", app["panel"]["threw"]
        return
    shown_attrs = dict(app["panel"]["attrs"])
    for attr in given.get("attrs") or []:
        if attr["key"] != VALUES and not _shows(attr["value"], shown_attrs.get(attr["key"])):
            yield "attribute", f"{attr['key']!r}: {attr['value']!r} reads {shown_attrs.get(attr['key'])!r}"
    for side in ("inputsMetadata", "outputsMetadata"):
        for port in given.get(side) or []:
            if str(port["id"]) not in app[side]:
                yield "port", f"{side} {port['id']} is not held"
            held = app[side].get(str(port["id"]), {})
            if side == "outputsMetadata":
                held = {key: value for key, value in held.items() if key == TAG or not key.startswith("__")}
            yield from (("port", f"{side} {port['id']}: {said}") for said in _changed(port.get("attrs"), held, "shape"))
    yield from _edges(given, app, byid)
    for called in set(given.get("subgraphIds") or []) - graphs:
        yield "subgraph", f"{called!r} is no graph"
    if list(given.get("subgraphIds") or []) != app["subgraphIds"]:
        yield "subgraph", f"{given.get('subgraphIds')} reads {app['subgraphIds']}"


def _shows(value: object, shown: object) -> bool:
    """Tells whether the side panel shows a value: a text as it is, or ids of nodes, which it writes as links."""
    return shown == value if isinstance(value, str) else isinstance(value, dict) and shown == ""


def _changed(given: list[dict[str, Any]] | None, held: dict[str, Any], renamed: str | None = None) -> Iterator[str]:
    """Yields each key and value that reads otherwise; of a port, the app calls ``tensor_shape`` ``shape``."""
    for item in given or []:
        key = renamed if renamed and item["key"] == "tensor_shape" else item["key"]
        if key not in held or held[key] != item["value"]:
            yield f"{item['key']!r}: {item['value']!r} reads {held.get(key)!r}"


def _edges(given: dict[str, Any], app: dict[str, Any], byid: dict[str, Any]) -> Iterator[tuple[str, str]]:
    def key(edge: dict[str, Any]) -> tuple[Any, Any, Any]:
        return edge["sourceNodeId"], edge.get("sourceNodeOutputId"), edge.get("targetNodeInputId")

    edges = given.get("incomingEdges") or []
    for edge, count in (Counter(map(key, edges)) - Counter(map(key, app["incomingEdges"]))).items():
        yield "edge", f"{count} times {edge} is not held"
    for source, output, argument in map(key, edges):
        if source not in byid:
            continue
        outgoing = [
            edge
            for edge in byid[source]["outgoingEdges"]
            if (edge["targetNodeId"], edge.get("sourceNodeOutputId"), edge.get("targetNodeInputId"))
            == (given["id"], output, argument)
        ]
        if len(outgoing) != 1:
            yield "edge", f"{source} leads to {argument} {len(outgoing)} times"
        leads = [to for port, to in byid[source]["panel"].get("outputs", []) if port == output]
        if len(leads) != 1 or given["id"] not in leads[0]:
            yield "port", f"{source} shows no output {output!r} that leads here"
    for edge, (source, pairs) in zip(app["incomingEdges"], app["panel"]["inputs"], strict=True):
        if source not in byid:
            yield "edge", f"its source {source!r} is no node"
            continue
        own = app["inputsMetadata"].get(str(edge.get("targetNodeInputId")), {})
        for name, value in byid[source]["outputsMetadata"].get(str(edge.get("sourceNodeOutputId")), {}).items():
            if name not in own and not name.startswith("__") and dict(pairs).get(name) != value:
                yield "port", f"the input from {source} shows {dict(pairs).get(name)!r} for {name} {value!r}"


def _path(app: dict[str, Any], groups: dict[str, Any]) -> str | None:
    """Returns the layers that a node is shown in, as a namespace writes them; None where the chain is broken."""
    parts: list[str] = []
    parent, seen = app["parent"], set()
    while parent is not None:
        if parent not in groups or parent in seen or app["id"] not in groups[parent]["children"]:
            return None
        seen.add(parent)
        app = groups[parent]
        if not app["section"]:
            parts.append(app["label"].replace("/", "\\/"))
        parent = app["parent"]
    return "/".join(reversed(parts))


def _undrawn(app: dict[str, Any], byid: dict[str, Any], groups: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the edges for which no layer draws a wire: the one where the two ends' layers part."""
    drawn = {(layer, source, to) for layer, source, to in app["drawn"]}
    for to in app["nodes"]:
        for edge in to["incomingEdges"]:
            source = byid.get(edge["sourceNodeId"])
            if source is None or source["hidden"] or to["hidden"]:
                continue
            wire = _wire(_chain(source, groups), _chain(to, groups))
            if wire not in drawn:
                yield source["id"], to["id"]


def _chain(node: dict[str, Any], groups: dict[str, Any]) -> list[str]:
    chain = [node["id"]]
    while node["parent"] is not None and node["parent"] in groups and node["parent"] not in chain:
        node = groups[node["parent"]]
        chain.append(node["id"])
    return chain[::-1]


def _wire(source: list[str], to: list[str]) -> tuple[str, str, str]:
    shared = 0
    while shared < min(len(source), len(to)) - 1 and source[shared] == to[shared]:
        shared += 1
    return source[shared - 1] if shared else ROOT, source[shared], to[shared]


def _overlapping(app: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the boxes that lie on another of their layer, each with the first such one."""
    layers: dict[str | None, list[tuple[list[float], str]]] = {}
    for node in [*app["nodes"], *app["groups"]]:
        if node["place"]:
            layers.setdefault(node["parent"], []).append((node["place"], node["id"]))
    for boxes in layers.values():
        boxes.sort()
        for i, ((left, top, width, height), name) in enumerate(boxes):
            for (x, y, _, tall), other in boxes[i + 1 :]:
                if x >= left + width - 1:
                    break
                if y < top + height - 1 and top < y + tall - 1:
                    yield other, name
                    break
