"""Graphs of real models, exported with torch 2.13: MobileNetV2, BERT, Llama, Swin and a U-Net, small in width.

Each file holds labels' box widths and heights, module paths and names as numbers into lists of distinct ones, and the
inputs of each node as distances backwards.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.layout.graphs import Graph

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.json")))


def load(name: str) -> Graph:
    """Returns one graph, such as ``mobilenet-quantized``."""
    stored = _stored(name)
    sizes = [tuple(stored["sizes"][i]) for i in stored["size"]]
    paths = [stored["paths"][i] for i in stored["path"]]
    edges = [(v - back, v) for v, inputs in enumerate(stored["inputs"]) for back in inputs]
    return Graph(sizes, edges, paths)


def part(name: str, first: int, end: int) -> Graph:
    """Returns a run of a graph's nodes with the edges among them, as a question's neighbourhood is."""
    graph = load(name)
    edges = [(a - first, b - first) for a, b in graph.edges if first <= a < end and first <= b < end]
    return Graph(graph.sizes[first:end], edges, graph.paths[first:end])


def names(name: str) -> list[str]:
    """Returns the names of the nodes of a graph that keeps them."""
    found: list[str] = _stored(name)["names"]
    return found


def _stored(name: str) -> dict:
    stored: dict = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return stored
