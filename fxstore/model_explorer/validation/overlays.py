"""Checks of what is laid over graphs: node data, its values and colours, and sync files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fxstore.model_explorer.names import PROTOTYPE
from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.nodes import SETTER
from fxstore.model_explorer.validation.read import Graph, Reader

_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}|[a-zA-Z]+")
_OWN: Final = "results"

_SIDES: Final = ("leftNodeIds", "rightNodeIds")


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


def check_sync(document: Mapping[str, Any], graphs: Sequence[Sequence[Graph]], findings: Findings) -> None:
    """Checks a sync file; against the graphs of the left pane and of the right one, where there are any."""
    read = Reader(findings)
    if document.get("mappingEntries") and document.get("mapping"):
        findings.add("shape", "holds mappingEntries and mapping, and the app reads the first only")
    entries = list(_entries(document, read))
    for side, place in enumerate(_SIDES):
        known = {node.id for graph in (graphs[min(side, len(graphs) - 1)] if graphs else ()) for node in graph.nodes}
        for name, count in Counter(name for entry in entries for name in set(entry[side])).items():
            if count > 1:
                findings.add("overlapping_sets", f"{count} entries name it in {place}", None, name)
            if name == SETTER:
                findings.add("bad_node_id", "JavaScript holds nothing under that name", None, name)
            if known and name not in known:
                findings.add("unknown_node", f"{place} names it", None, name)
    for left, right in entries:
        if not left or not right:
            findings.add("empty_set", f"that of {listed(left or right)}")


def _entries(document: Mapping[str, Any], read: Reader) -> list[tuple[list[str], list[str]]]:
    if document.get("mappingEntries") is not None:
        rows = list(read.rows(document, "mappingEntries", "the file"))
        for row in rows:
            for side in _SIDES:
                if row.get(side) is None:
                    read.wrong(f"{side} of an entry", list, None)
        return [(read.texts(row, _SIDES[0], "an entry"), read.texts(row, _SIDES[1], "an entry")) for row in rows]
    mapping = read.take(document, "mapping", dict, "the file", needed=True) or {}
    return [([left], [right]) for left in mapping if (right := read.take(mapping, left, str, "mapping", needed=True))]
