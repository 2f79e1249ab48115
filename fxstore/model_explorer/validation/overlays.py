"""Checks of node data: whose it is, what the app makes of its values and colours."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fxstore.model_explorer.names import PROTOTYPE
from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.read import Graph, Reader

_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}|[a-zA-Z]+")
_OWN: Final = "results"


def is_node_data(document: Mapping[str, Any]) -> bool:
    """Tells whether a document is node data: of one graph, or of several by their ids."""
    of_graphs = [isinstance(one, dict) and _OWN in one for one in document.values()]
    return _OWN in document or (bool(of_graphs) and all(of_graphs))


def check_node_data(document: Mapping[str, Any], graphs: Sequence[Graph], findings: Findings) -> None:
    """Checks node data; against graphs, where there are any."""
    results = document.get(_OWN)
    within = results.get(_OWN) if isinstance(results, dict) else None
    if results is not None and within is None:
        _check_graph(document, None, graphs, findings)
        return
    if isinstance(within, dict) and "value" in within:
        said = f"with a node {quoted(_OWN)} the app takes the nodes for graphs"
        findings.add("bad_result_key", said, None, _OWN)
        return
    by_id = {graph.id: graph for graph in graphs}
    for name, data in document.items():
        if not isinstance(data, dict):
            Reader(findings, name).wrong("the data of a graph", dict, data)
            continue
        if graphs and name not in by_id:
            findings.add("unknown_graph", f"the file is for {listed(by_id)}", name)
        _check_graph(data, name, [by_id[name]] if name in by_id else [], findings)


def _check_graph(data: Mapping[str, Any], name: str | None, graphs: Sequence[Graph], findings: Findings) -> None:
    read = Reader(findings, name)
    results = read.take(data, _OWN, dict, "the data of a graph", needed=True) or {}
    read.take(data, "name", str, "the data of a graph")
    numbers = []
    for key, result in results.items():
        if key in PROTOTYPE:
            findings.add("bad_result_key", "every JavaScript object has that name", name, key)
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, bool | int | float | str):
            said = "should be an object with a value that is a number, a text, true or false"
            findings.add("shape", f"its result {said}", name, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append(float(value) if abs(value) < 10**300 else 0.0)
    _check_gradient(data, numbers, read)
    if graphs:
        _check_keys(list(results), name, graphs, findings)


def _check_gradient(data: Mapping[str, Any], numbers: Sequence[float], read: Reader) -> None:
    stops = []
    for stop in read.rows(data, "gradient", "the data of a graph"):
        at = stop.get("stop")
        if isinstance(at, bool) or not isinstance(at, int | float):
            read.findings.add("shape", f"a stop of the gradient is {quoted(at)}, and should be a number", read.graph)
        else:
            stops.append(at)
        color = read.take(stop, "bgColor", str, "a stop of the gradient")
        if color is not None and not _COLOR.fullmatch(color):
            read.findings.add("bad_color", f"{quoted(color)} is no name and not of the form #rrggbb", read.graph)
    if not stops or not numbers:
        return
    if min(stops) > 0 or max(stops) < 1:
        said = f"the gradient goes from {min(stops)} to {max(stops)}, and not from 0 to 1"
        read.findings.add("no_color", said, read.graph)
    elif min(numbers) == max(numbers):
        read.findings.add("no_color", f"all values are {quoted(numbers[0])}", read.graph)


def _check_keys(keys: Sequence[str], name: str | None, graphs: Sequence[Graph], findings: Findings) -> None:
    """The app looks for the name of an output first, then for a node's id."""
    ids = {node.id for graph in graphs for node in graph.nodes}
    named: dict[object, set[str]] = defaultdict(set)
    for graph in graphs:
        for node in graph.nodes:
            for port in node.outputs:
                for attr, value in port.attrs:
                    if attr == "tensor_name":
                        named[value].add(node.id)
    for key in keys:
        owners = named.get(key, set()) | ({key} & ids)
        if not owners:
            findings.add("unknown_node", "no node has that id, nor an output of that name", name, key)
        elif len(owners) > 1 and key in named:
            findings.add("ambiguous_key", f"it names {listed(sorted(owners))}", name, key)
