"""Checks of edges and layers: ends and ports, whether the app draws an edge, and layers that it cannot lay out.

The walks below follow the app's own code, in its order: it draws the edges that a node without inputs leads to
(:func:`reached`), joins the children of the layer in which an edge's ends meet (:func:`wires_of`), and splits a large
layer by a recursion as deep as its longest chain (``_depths``). All are linear in nodes, edges and depth.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Final

from fxstore.model_explorer.names import MOST
from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.nodes import (
    LAYER,
    hidden_labels,
    layers_of,
    namespaces,
    read_namespace,
    references,
)
from fxstore.model_explorer.validation.read import Graph, Node

_LONGEST: Final = 4000
"""Nodes after each other that the app's recursion follows; JavaScript's stack ends not far beyond."""
_SLOW: Final = 3000
"""Rows that the edges of a layer may pass; for each the app's layout makes a node of its own."""
_SECTION: Final = re.compile(r"section_\d+_of_\d+")
_GROUP: Final = re.compile(r"\(\?P[<=>]|\(\?[aiLmsux]+[):-]")
Wires = dict[str, dict[str, None]]


def check_edges(graph: Graph, findings: Findings) -> None:
    """Checks the edges of a graph, and what else names its nodes."""
    nodes = {node.id: node for node in graph.nodes}
    outputs = {(node.id, port.id): dict(port.attrs) for node in graph.nodes for port in node.outputs}
    for node in graph.nodes:
        for edge, count in Counter(node.edges).items():
            if edge.source not in nodes:
                findings.add("unresolved_edge", f"from {quoted(edge.source)}", graph.id, node.id)
            elif (edge.source, edge.output) not in outputs:
                said = f"from output {quoted(edge.output)} of {quoted(edge.source)}"
                findings.add("undeclared_port", said, graph.id, node.id)
            if count > 1:
                said = f"{count} times from output {quoted(edge.output)} of {quoted(edge.source)} into"
                findings.add("duplicate_edge", f"{said} input {quoted(edge.target)}", graph.id, node.id)
        _check_inputs(node, outputs, graph.id, findings)
        missing = [one for one in references(node.attrs) if one not in nodes]
        if missing:
            findings.add("unresolved_reference", f"an attribute names {listed(missing)}", graph.id, node.id)
    for overlay, source, target in graph.overlays:
        missing = [one for one in (source, target) if one not in nodes]
        if missing:
            said = f"an edge of the overlay {quoted(overlay)} names {listed(missing)}"
            findings.add("unresolved_reference", said, graph.id)
    _check_pinned(graph, nodes, findings)
    for name in sorted(nodes.keys() - reached(graph).keys()):
        if any(edge.source in nodes for edge in nodes[name].edges):
            findings.add("undrawn_edge", "no node without inputs leads to it", graph.id, name)


def _check_inputs(
    node: Node, outputs: Mapping[tuple[str, str], dict[str, object]], graph: str, findings: Findings
) -> None:
    """The app fills in what an input with metadata does not say from its first source, and keeps it for the others."""
    described = {port.id: dict(port.attrs) for port in node.inputs}
    own = {name: set(said) for name, said in described.items()}
    for edge in dict.fromkeys(node.edges):
        shown, said = described.get(edge.target), outputs.get((edge.source, edge.output))
        if shown is None or said is None:
            continue
        if any(shown.setdefault(key, value) != value for key, value in said.items() if key not in own[edge.target]):
            findings.add("shared_input", f"input {quoted(edge.target)}, from {quoted(edge.source)}", graph, node.id)


def _check_pinned(graph: Graph, nodes: dict[str, Node], findings: Findings) -> None:
    layers = {node.id: read_namespace(node.namespace) for node in nodes.values()}
    pinned = {node.id for node in nodes.values() if node.pinned}
    per_layer = Counter(layers[name] for name in pinned)
    cut = {
        end
        for node in graph.nodes
        for edge in node.edges
        if edge.source in nodes
        for end, other in ((edge.source, node.id), (node.id, edge.source))
        if end in pinned and f"{layers[other]}/".startswith(f"{layers[end]}/")
    }
    for name in sorted(pinned):
        if not layers[name]:
            findings.add("pinned_node", "it is in no layer", graph.id, name)
        elif per_layer[layers[name]] > 1:
            findings.add("pinned_node", f"{per_layer[layers[name]]} nodes are pinned in its layer", graph.id, name)
        elif name in cut:
            findings.add("pinned_node", "it has edges in its layer", graph.id, name)


def uses_of(graph: Graph) -> dict[str, list[str]]:
    """Returns, for each node that the app shows, the nodes that it leads to, in the app's order."""
    hidden = hidden_labels(graph)
    shown = {node.id for node in graph.nodes if node.label.lower() not in hidden}
    found: dict[str, list[str]] = {node.id: [] for node in graph.nodes if node.id in shown}
    for node in graph.nodes:
        if node.id in shown:
            for edge in dict.fromkeys(node.edges):
                if edge.source in shown:
                    found[edge.source].append(node.id)
    return found


def reached(graph: Graph) -> dict[str, None]:
    """Returns the nodes whose outgoing edges the app draws, in its order: those that a node without inputs leads to.

    Where every node has an input, the app begins at each; a hidden node is reached by what it is.
    """
    uses = uses_of(graph)
    inner = {target for targets in uses.values() for target in targets}
    queue = deque([name for name in uses if name not in inner] or list(uses))
    found: dict[str, None] = {}
    while queue:
        name = queue.popleft()
        if name not in found:
            found[name] = None
            queue += uses[name]
    return {**found, **{node.id: None for node in graph.nodes if node.id not in uses}}


def check_layers(graph: Graph, findings: Findings) -> None:
    """Checks the layers of a graph."""
    layers = namespaces(graph.nodes)
    _check_rows(graph, layers, findings)
    for pattern in graph.patterns:
        if not _compiles(pattern):
            findings.add("bad_pattern", quoted(pattern), graph.id)
    for key in ("nodeSep", "rankSep", "edgeSep"):
        given = graph.distances.get(key)
        if given is not None and not (type(given) in (int, float) and 0 <= given < math.inf):  # type: ignore[operator]
            findings.add("bad_layout", f"{key} is {quoted(given)}", graph.id)
    wires = wires_of(graph)
    children = _children(graph, layers)
    for layer in ("", *layers):
        if len(children[layer]) > MOST:
            _check_sections(layer, children[layer], wires.get(layer, {}), graph.id, findings)
        else:
            rows = _rows_crossed(children[layer], wires.get(layer, {}))
            if rows > _SLOW:
                findings.add("slow_layout", f"{_called(layer)}: edges across {rows} rows", graph.id)


def _check_rows(graph: Graph, layers: Mapping[str, None], findings: Findings) -> None:
    missing = [layer for layer in ("", *layers) if layer not in graph.rows] if graph.nodes else []
    if missing:
        findings.add("missing_group_rows", f"of {len(layers) + 1} rows {len(missing)}: {listed(missing)}", graph.id)
    for row in graph.rows:
        if row and row not in layers:
            findings.add("unknown_group_row", quoted(row), graph.id)


def _compiles(pattern: str) -> bool:
    """Tells whether JavaScript reads a regular expression, as far as Python can tell."""
    if _GROUP.search(pattern):
        return False
    try:
        re.compile(pattern.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!"))
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def wires_of(graph: Graph) -> dict[str, Wires]:
    """Returns the wires that the app draws in each layer, in its order: from child to child, layers by their ids."""
    places = {node.id: layers_of(read_namespace(node.namespace)) for node in graph.nodes}
    uses = uses_of(graph)
    found: dict[str, Wires] = defaultdict(lambda: defaultdict(dict))
    for source in reached(graph):
        for target in uses.get(source, ()):
            here, there = places[source], places[target]
            depth = 0
            while depth < min(len(here), len(there)) and here[depth] == there[depth]:
                depth += 1
            layer = "/".join(here[:depth])
            found[layer][_child(here, depth, source)][_child(there, depth, target)] = None
    return found


def _child(place: list[str], depth: int, name: str) -> str:
    return "/".join(place[: depth + 1]) + LAYER if depth < len(place) else name


def _children(graph: Graph, layers: Mapping[str, None]) -> dict[str, list[str]]:
    shown = uses_of(graph)
    found: dict[str, list[str]] = defaultdict(list)
    for node in graph.nodes:
        if node.id in shown:
            found[read_namespace(node.namespace)].append(node.id)
    for layer in layers:
        found["/".join(layers_of(layer)[:-1])].append(layer + LAYER)
    return found


def _called(layer: str) -> str:
    return f"layer {quoted(layer)}" if layer else "the outermost layer"


def _check_sections(layer: str, children: list[str], wires: Wires, graph: str, findings: Findings) -> None:
    prefix = f"{layer}/" if layer else ""
    taken = [child for child in children if _SECTION.fullmatch(child.removeprefix(prefix).removesuffix(LAYER))]
    if taken:
        findings.add("section_name", f"{_called(layer)} has {len(children)} children, {listed(taken)} too", graph)
    inner = {target for targets in wires.values() for target in targets}
    depths = dict(_depths([child for child in children if child not in inner], wires))
    lost = [child for child in children if child not in depths] if layer else []
    for child in lost:
        findings.add("lost_in_cycle", f"{_called(layer)} has {len(children)} children", graph, child)
    deepest = max(depths.values(), default=0)
    if deepest > _LONGEST:
        findings.add("long_chain", f"{_called(layer)}: {deepest} after each other", graph)


def _depths(starts: list[str], wires: Wires) -> Iterator[tuple[str, int]]:
    """Yields the children that the app visits, each with how deep its recursion then is."""
    seen: set[str] = set()
    for start in starts:
        stack = [iter([start])]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            elif child not in seen:
                seen.add(child)
                yield child, len(stack)
                stack.append(iter(wires.get(child, ())))


def _rows_crossed(children: list[str], wires: Wires) -> int:
    """Returns how many rows the wires of a layer pass without ending there: the app lays out a piece for each."""
    waiting: dict[str, int] = defaultdict(int)
    for targets in wires.values():
        for target in targets:
            waiting[target] += 1
    row = dict.fromkeys(children, 0)
    ready = [child for child in children if not waiting[child]]
    while ready:
        child = ready.pop()
        for target in wires.get(child, ()):
            row[target] = max(row.get(target, 0), row[child] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return sum(
        max(0, row.get(target, 0) - row.get(source, 0) - 1) for source, targets in wires.items() for target in targets
    )
