"""Checks of layers: their rows, and those that the app cannot lay out whole or in time."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from fxstore.model_explorer.validation.checks import Findings, listed, quoted
from fxstore.model_explorer.validation.edges import reached, uses_of
from fxstore.model_explorer.validation.nodes import namespaces
from fxstore.model_explorer.validation.read import Graph
from fxstore.model_explorer.validation.texts import LAYER, layers_of, read_namespace

MOST_CHILDREN: Final = 1000
"""The app splits a layer with more children into sections."""
_LONGEST: Final = 4000
_SLOW: Final = 3000
_SECTION: Final = re.compile(r"section_\d+_of_\d+")
_GROUP: Final = re.compile(r"\(\?P[<=>]|\(\?[aiLmsux]+[):-]")
Wires = dict[str, dict[str, None]]


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
        if len(children[layer]) > MOST_CHILDREN:
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
