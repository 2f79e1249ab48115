"""Other engines that draw layered graphs, each in a process of its own with a limit of CPU time."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.layout.graphs import Graph

LIMIT_S = 60
"""Of CPU. On a busy machine that may last ten times as long."""
GAP = np.array([18, 30])


class NotDrawn(Exception):
    """An engine is not there, must not be called, or does not finish."""


@dataclass(frozen=True)
class Lines:
    """Polylines of a drawing: ``points[offsets[e]:offsets[e + 1]]`` for each edge."""

    points: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class Drawn:
    """What an engine made: CPU seconds, centres of boxes (NaN where one is missing), lines."""

    engine: str
    seconds: float
    centre: np.ndarray
    lines: Lines


def _run(engine: str, command: list[str], text: str) -> tuple[str, float]:
    """Returns what a command writes and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f'ulimit -t {LIMIT_S}; exec "$@"', engine, *command],
            input=text, capture_output=True, text=True, check=True, timeout=10 * LIMIT_S,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise NotDrawn(f"{engine}: {type(error).__name__} (limit {LIMIT_S} s of CPU)") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_SUGIYAMA = """
import sys, time
from fast_sugiyama import from_edges
edges = [tuple(map(int, line.split())) for line in sys.stdin]
began = time.process_time()
layouts = from_edges(edges)
print(time.process_time() - began)
for v, (x, y) in layouts[0][0]:
    print(v, x, y)
"""


def fast_sugiyama(graph: Graph) -> Drawn:
    """Draws each component that it is safe for, with straight edges; scaled so that boxes of mean size fit."""
    ends = np.array(sorted({(a, b) for a, b in graph.edges if a < b})).reshape(-1, 2)
    part = _components(len(graph.sizes), ends)
    centre, seconds, right = np.full((len(graph.sizes), 2), np.nan), 0.0, 0.0
    scale = (np.array(graph.sizes).mean(axis=0) + GAP) / 72
    for component in np.unique(part):
        nodes = np.flatnonzero(part == component)
        place = np.zeros((len(nodes), 2))
        if len(nodes) > 1:
            own = np.searchsorted(nodes, ends[part[ends[:, 0]] == component])
            text, _ = _run("fast-sugiyama", [sys.executable, "-c", _SUGIYAMA], "".join(f"{a} {b}\n" for a, b in own))
            first, *rows = text.splitlines()
            seconds += float(first)
            for v, x, y in (row.split() for row in rows):
                if int(v) < len(place):
                    place[int(v)] = float(x), float(y)
            place[:, 1] *= -1 if place[own[0, 1], 1] < place[own[0, 0], 1] else 1
        place = (place - place.min(axis=0)) * scale
        centre[nodes] = place + np.array([right, 0])
        right += place[:, 0].max() + scale[0] * 72
    return Drawn("fast-sugiyama", seconds, centre, _straight(graph, centre))


def _components(nodes: int, ends: np.ndarray) -> np.ndarray:
    part = np.arange(nodes)

    def top(v: int) -> int:
        while part[v] != v:
            part[v] = part[part[v]]
            v = part[v]
        return v

    for a, b in ends.tolist():
        part[top(a)] = top(b)
    return np.array([top(v) for v in range(nodes)])


def _straight(graph: Graph, centre: np.ndarray) -> Lines:
    ends, half = np.array(graph.edges), np.array(graph.sizes)[:, 1] / 2
    starts, stops = centre[ends[:, 0]], centre[ends[:, 1]]
    starts[:, 1] += half[ends[:, 0]]
    stops[:, 1] -= half[ends[:, 1]]
    return Lines(np.stack([starts, stops], axis=1).reshape(-1, 2), np.arange(len(ends) + 1) * 2)


def dot(graph: Graph) -> Drawn:
    """Draws with Graphviz's dot, edges as polylines."""
    if not shutil.which("dot"):
        raise NotDrawn("dot: not installed")
    nodes = (f"{v} [width={w / 72} height={h / 72}]" for v, (w, h) in enumerate(graph.sizes))
    edges = (f"{a} -> {b} [id={i}]" for i, (a, b) in enumerate(graph.edges))
    head = f'digraph {{ splines=polyline nodesep={18 / 72} ranksep={30 / 72} node [shape=box fixedsize=true label=""]'
    text, seconds = _run("dot", ["dot", "-Tjson0"], "\n".join([head, *nodes, *edges, "}"]))
    made = json.loads(text)
    centre = np.full((len(graph.sizes), 2), np.nan)
    for node in made["objects"]:
        centre[int(node["name"])] = [float(value) for value in node["pos"].split(",")]
    lines: list[list[list[float]]] = [[] for _ in graph.edges]
    for edge in made["edges"]:
        corners = [[float(value) for value in point.split(",")] for point in edge["pos"].removeprefix("e,").split(" ")]
        lines[int(edge["id"])] = [*corners[1::3], corners[0]] if edge["pos"].startswith("e,") else corners[::3]
    points, offsets = _joined(lines)
    flip = np.array([1, -1])
    return Drawn("dot", seconds, centre * flip, Lines(points * flip, offsets))


def elk(graph: Graph) -> Drawn:
    """Draws with ELK's layered algorithm."""
    home = os.environ.get("ELKJS")
    if not home or not shutil.which("node"):
        raise NotDrawn("ELK: not installed; ELKJS names the directory where elkjs is")
    options = {
        "elk.algorithm": "layered", "elk.direction": "DOWN", "elk.spacing.nodeNode": "18",
        "elk.layered.spacing.nodeNodeBetweenLayers": "30", "elk.edgeRouting": "POLYLINE",
    }  # fmt: skip
    children = [{"id": str(v), "width": w, "height": h} for v, (w, h) in enumerate(graph.sizes)]
    edges = [{"id": f"e{i}", "sources": [str(a)], "targets": [str(b)]} for i, (a, b) in enumerate(graph.edges)]
    text = json.dumps({"id": "root", "layoutOptions": options, "children": children, "edges": edges})
    script = str(Path(__file__).parent / "elk.cjs")
    made = json.loads(_run("ELK", ["node", script, str(Path(home) / "node_modules" / "elkjs")], text)[0])
    place = np.array([[node["x"], node["y"]] for node in made["children"]]) + np.array(graph.sizes) / 2
    lines = []
    for edge in made["edges"]:
        section = edge.get("sections", [None])[0]
        corners = [section["startPoint"], *section.get("bendPoints", []), section["endPoint"]] if section else []
        lines.append([[corner["x"], corner["y"]] for corner in corners])
    return Drawn("ELK", made["seconds"], place, Lines(*_joined(lines)))


def _joined(lines: list[list[list[float]]]) -> tuple[np.ndarray, np.ndarray]:
    points = np.array([corner for line in lines for corner in line]).reshape(-1, 2)
    return points, np.cumsum([0, *map(len, lines)])
