"""What a reduced page holds without drawing it: neighbours of its nodes, to be opened one node at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.layout import Drawing
from fxstore.query.neighbourhood import Neighbourhood
from fxstore.query.stored import StoredGraph

MOST_BESIDE_ONE: Final = 60
"""Neighbours of one node that a page holds, the nearest in program order."""
MOST_BESIDE: Final = 2_000
"""Such nodes of one run in all; the nodes with the most neighbours come first."""
_GAP: Final = 18.0


def beside(
    graphs: Mapping[str, Sequence[StoredGraph]], near: Neighbourhood, most: int = MOST_BESIDE
) -> dict[str, list[StoredGraph]]:
    """Returns for nodes that have neighbours that are not drawn a graph of these, called by that node.

    Args:
        graphs: The whole graphs of each stage.
        near: What is drawn of them.
        most: How many nodes all the graphs have together.

    Returns:
        Graphs of each stage, without edges; no node is in two of them.
    """
    drawn = [nid for own in near.graphs.values() for graph in own for nid in graph.nodes["nid"].to_pylist()]
    whole = [(stage, _Whole(graph, drawn)) for stage, own in graphs.items() for graph in own]
    asked = [(near.more[nid], stage, graph, nid) for stage, graph in whole for nid in graph.kept if nid in near.more]
    out: dict[str, list[StoredGraph]] = {stage: [] for stage in graphs}
    for count, stage, graph, nid in sorted(asked, key=lambda one: (-one[0], one[3])):
        rows = graph.take(nid, min(most, MOST_BESIDE_ONE))
        most -= len(rows)
        if len(rows):
            out[stage].append(graph.part(nid, rows, count))
    return out


def grid(sizes: Sequence[tuple[float, float]]) -> Drawing:
    """Returns boxes in rows, in their order; there are no edges between them."""
    across = max(1, math.ceil(math.sqrt(len(sizes) / 2)))
    wide, high = (max((size[axis] for size in sizes), default=0.0) + _GAP for axis in (0, 1))
    places = np.arange(len(sizes))
    x = (places % across * wide + wide / 2).astype(np.float32)
    y = (places // across * high + high / 2).astype(np.float32)
    return Drawing(
        x=x,
        y=y,
        points=np.zeros((0, 2), np.float32),
        offsets=np.zeros(1, np.int32),
        feedback=np.zeros(0, np.bool_),
        blocks=(),
        block_boxes=np.zeros((0, 4), np.float32),
        width=min(across, len(sizes)) * wide,
        height=math.ceil(len(sizes) / across) * high,
    )


class _Whole:
    """A graph and which of its nodes are on the page already."""

    def __init__(self, graph: StoredGraph, drawn: Sequence[int]) -> None:
        self._graph = graph
        nids = graph.nodes["nid"].to_numpy()
        self._free = ~np.isin(nids, np.asarray(drawn, np.int64))
        self._row = {int(nid): row for row, nid in enumerate(nids)}
        self.kept = [int(nid) for nid in nids[~self._free]]
        self._ends = [graph.edges[name].to_numpy().astype(np.int64) for name in ("src", "dst")]

    def take(self, nid: int, most: int) -> npt.NDArray[np.int64]:
        """Returns rows of neighbours that are nowhere on the page yet, in program order, and takes them."""
        row = self._row[nid]
        src, dst = self._ends
        near = np.unique(np.concatenate([dst[src == row], src[dst == row]]))
        near = near[self._free[near]]
        near = np.sort(near[np.argsort(np.abs(near - row), kind="stable")[:most]])
        self._free[near] = False
        return near

    def part(self, nid: int, rows: npt.NDArray[np.int64], count: int) -> StoredGraph:
        """Returns some rows as a graph of their own that says how many there are."""
        name = self._graph.nodes["name"][self._row[nid]].as_py()
        title = f"beside {name}: {len(rows):,} of {count:,} not drawn"
        nodes = self._graph.nodes.take(pa.array(rows))
        return StoredGraph(title, "", nodes, self._graph.edges.slice(0, 0), nid)
