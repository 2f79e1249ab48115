"""Finds the quantisation parameters of values that are integer codes, from the captured graphs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from fxstore.metrics import QParams
from fxstore.records import Graph

_KEEPS_CODES: Final = frozenset(
    [
        *("getitem", "view", "view_copy", "permute", "permute_copy", "transpose_copy", "expand_copy", "slice_copy"),
        *("select_copy", "squeeze_copy", "unsqueeze_copy", "alias_copy", "clone", "_clone_dim_order"),
    ]
)


def quantised_ports(graphs: Sequence[Graph]) -> dict[tuple[str, str, int], QParams]:
    """Returns the parameters of each value that is integer codes, by (path, node name, port).

    Known are the results of ``quantize_per_tensor`` with constant parameters, what only moves them about, delegate
    outputs that are such results inside, and what a delegate is passed of these.

    Args:
        graphs: The graphs of one stage and one method, outermost first.
    """
    found: dict[tuple[str, int, int], QParams] = {}
    names: dict[str, list[str]] = {}
    for graph in reversed(graphs):
        names[graph.path] = graph.nodes["name"].to_pylist()
        _quantised_in(graph, found)
    for graph in graphs:
        if _passed_in(graph, graphs, found):
            _quantised_in(graph, found)
    return {(path, names[path][position], port): params for (path, position, port), params in found.items()}


def _quantised_in(graph: Graph, found: dict[tuple[str, int, int], QParams]) -> None:
    first_use: dict[int, tuple[int, int]] = {}
    outputs: list[tuple[int, int, int]] = []
    nodes = graph.nodes.select(["position", "op", "op_type", "attrs", "dtype"]).to_pylist()
    for edge in graph.edges.to_pylist():
        first_use.setdefault(edge["dst"], (edge["src"], edge["src_port"]))
        if nodes[edge["dst"]]["op"] == "output":
            outputs.append((edge["src"], edge["src_port"], edge["position"]))
    for node in nodes:
        position = node["position"]
        if node["op_type"] == "quantize_per_tensor":
            params = constant_params(node["attrs"])
        elif node["op_type"] in _KEEPS_CODES and position in first_use:
            params = found.get((graph.path, *first_use[position]))
        else:
            continue
        if params is not None:
            found[graph.path, position, 0] = params
    if graph.parent_path is not None and graph.parent_position is not None:
        for source, port, output in outputs:
            if (params := found.get((graph.path, source, port))) is not None:
                found[graph.parent_path, graph.parent_position, output] = params


def _passed_in(graph: Graph, graphs: Sequence[Graph], found: dict[tuple[str, int, int], QParams]) -> bool:
    """Gives a delegate's inputs the parameters of what its caller passes; tells whether there were any."""
    caller = next((one for one in graphs if one.path == graph.parent_path), None)
    if caller is None or graph.parent_position is None:
        return False
    if caller.nodes["role"][graph.parent_position].as_py() != "delegate":
        return False
    inputs = [i for i, role in enumerate(graph.nodes["role"].to_pylist()) if role == "input"]
    uses = [
        edge for edge in caller.edges.to_pylist() if edge["dst"] == graph.parent_position and edge["dst_arg"] != "0"
    ]
    known = False
    for position, edge in zip(inputs, uses, strict=False):
        if (params := found.get((caller.path, edge["src"], edge["src_port"]))) is not None:
            found[graph.path, position, 0] = params
            known = True
    return known


def constant_params(attrs: str | None) -> QParams | None:
    """Returns the parameters of a (de)quantize_per_tensor; None where they are no numbers."""
    arguments = json.loads(attrs or "{}").get("args", {})
    scale, zero_point = (arguments.get(p, arguments.get(n)) for p, n in (("1", "scale"), ("2", "zero_point")))
    if not isinstance(scale, (int, float)) or not isinstance(zero_point, (int, float)):
        return None
    return QParams(float(scale), zero_point)
