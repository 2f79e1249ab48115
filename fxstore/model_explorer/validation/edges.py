"""Checks of edges: their ends, the ports that they use, whether the app draws them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.nodes import hidden_labels, references
from fxstore.model_explorer.validation.read import Graph, Node
from fxstore.model_explorer.validation.texts import read_namespace


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
    _check_drawn(graph, nodes, findings)


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


def _check_drawn(graph: Graph, nodes: dict[str, Node], findings: Findings) -> None:
    for name in sorted(nodes.keys() - reached(graph).keys()):
        if any(edge.source in nodes for edge in nodes[name].edges):
            findings.add("undrawn_edge", "no node without inputs leads to it", graph.id, name)


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
