"""Everything of a payload that Model Explorer does not hold, list, draw, place or show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

ROOT: Final = ""


@dataclass(frozen=True)
class Loss:
    """One thing that went in and did not come out; ``kind`` is one of node, edge, wire, port, attribute, …"""

    kind: str
    graph: str
    node: str | None
    detail: str


def lost(graph: dict[str, Any], app: dict[str, Any]) -> list[Loss]:
    """Compares one graph of a payload with what the app holds of it."""
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
        said = _of_node(given[node_id], byid[node_id], byid, groups)
        found += [Loss(kind, name, node_id, detail) for kind, detail in said]
    found += [Loss("wire", name, to, f"from {source} is not drawn") for source, to in _undrawn(app, byid, groups)]
    found += [Loss("layer", name, group["id"], "is not placed") for group in app["groups"] if not group["placed"]]
    layers = {group_id.removesuffix("___group___") for group_id in groups} | {ROOT}
    for namespace in graph.get("groupNodeAttributes") or {}:
        if namespace not in layers:
            found.append(Loss("group row", name, None, f"{namespace!r} is no layer"))
    return found


def _of_node(
    given: dict[str, Any], app: dict[str, Any], byid: dict[str, Any], groups: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    if app["hidden"] or not app["placed"]:
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
        value = attr["value"] if isinstance(attr["value"], str) else app["attrs"].get(attr["key"])
        if not isinstance(attr["value"], str | dict) or shown_attrs.get(attr["key"]) != (
            value if isinstance(value, str) else ""
        ):
            yield "attribute", f"{attr['key']!r}: {attr['value']!r} reads {shown_attrs.get(attr['key'])!r}"
    for side in ("inputsMetadata", "outputsMetadata"):
        for port in given.get(side) or []:
            if str(port["id"]) not in app[side]:
                yield "port", f"{side} {port['id']} is not held"
            held = app[side].get(str(port["id"]), {})
            yield from (("port", f"{side} {port['id']}: {said}") for said in _changed(port.get("attrs"), held, "shape"))
    yield from _edges(given, app, byid)
    if list(given.get("subgraphIds") or []) != app["subgraphIds"]:
        yield "subgraph", f"{given.get('subgraphIds')} reads {app['subgraphIds']}"


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
        own = app["inputsMetadata"].get(str(edge.get("targetNodeInputId")), {})
        for name, value in byid[source]["outputsMetadata"].get(str(edge.get("sourceNodeOutputId")), {}).items():
            if name not in own and not name.startswith("__") and dict(pairs).get(name) != value:
                yield "port", f"the input from {source} shows {dict(pairs).get(name)!r} for {name} {value!r}"


def _path(app: dict[str, Any], groups: dict[str, Any]) -> str | None:
    """Returns the labels of the layers that a node is shown in; None where the chain is broken."""
    parts: list[str] = []
    parent, seen = app["parent"], set()
    while parent is not None:
        if parent not in groups or parent in seen or app["id"] not in groups[parent]["children"]:
            return None
        seen.add(parent)
        app = groups[parent]
        if not app["section"]:
            parts.append(app["label"])
        parent = app["parent"]
    return "/".join(reversed(parts))


def _undrawn(app: dict[str, Any], byid: dict[str, Any], groups: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the edges for which no layer draws a wire: the one where the two ends' layers part."""
    drawn = {(layer, source, to) for layer, source, to in app["drawn"]}
    pinned = {node["id"] for node in app["nodes"] if (node["config"] or {}).get("pinToGroupTop")}
    pinned |= {node["id"] for node in app["nodes"] if (node["config"] or {}).get("pinToGroupBottom")}
    for to in app["nodes"]:
        for edge in to["incomingEdges"]:
            source = byid.get(edge["sourceNodeId"])
            if source is None or source["hidden"] or to["hidden"] or {source["id"], to["id"]} & pinned:
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
