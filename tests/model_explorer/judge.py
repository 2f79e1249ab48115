"""Model Explorer's own worker as a judge: what the app holds of a payload, and everything that it lost."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

HELD: Final = Path(__file__).with_name("held.js")
SECONDS: Final = 60
ROOT: Final = ""


@dataclass(frozen=True)
class Loss:
    """One thing that went in and did not come out; ``kind`` is one of node, edge, wire, port, attribute, …"""

    kind: str
    graph: str
    node: str | None
    detail: str


def worker_path() -> Path:
    """Returns the worker of the installed app; skips the test, with the reason, where it or Node is missing."""
    if shutil.which("node") is None:
        pytest.skip("the judge needs node")
    package = importlib.util.find_spec("model_explorer")
    if package is None:
        pytest.skip("the judge needs ai-edge-model-explorer")
    found = [
        path for root in package.submodule_search_locations or [] for path in Path(root, "web_app").glob("worker-*.js")
    ]
    if len(found) != 1:
        pytest.skip(f"the judge knows an app with one worker, this one has {len(found)}")
    return found[0]


class Judge:
    """One Node process with the worker in it; ask it as often as needed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def held(self, payload: Any, **settings: Any) -> dict[str, Any]:
        """Returns what the app holds of a payload (a document, or its text), as ``held.js`` describes it."""
        text = payload if isinstance(payload, str) else json.dumps(payload)
        timer = threading.Timer(SECONDS, self._process.kill)
        timer.start()
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps({"text": text, "settings": settings}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        assert line, f"the worker ended or took more than {SECONDS} s"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def losses(self, payload: Any, **settings: Any) -> list[Loss]:
        """Returns everything of a payload that the app does not hold, draw or place; an empty list is a pass."""
        document = json.loads(payload) if isinstance(payload, str) else payload
        answer = self.held(payload, **settings)
        if "refused" in answer:
            return [Loss("refused", "", None, answer["refused"])]
        return [
            loss for graph, app in zip(_graphs(document), answer["graphs"], strict=True) for loss in lost(graph, app)
        ]


@contextmanager
def judge() -> Iterator[Judge]:
    """Gives a judge, and ends its process."""
    command = ["node", "--stack-size=900", str(HELD), str(worker_path()), "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        yield Judge(process)
    finally:
        process.kill()
        process.communicate()


def _graphs(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        return list(document["graphs"])
    if "subgraphs" in document[0]:
        return [graph for collection in document for graph in collection["subgraphs"]]
    return list(document)


def lost(graph: dict[str, Any], app: dict[str, Any]) -> list[Loss]:
    """Compares one graph of a payload with what the app holds of it."""
    name = str(graph.get("id"))
    found = [Loss("layout", name, None, error) for error in app["errors"]]
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
    yield from (("attribute", said) for said in _changed(given.get("attrs"), app["attrs"]))
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
        if str(output) not in byid[source]["outputsMetadata"]:
            yield "port", f"{source} declares no output {output!r}"


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
