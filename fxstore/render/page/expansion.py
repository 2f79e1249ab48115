"""What a reduced page holds without drawing it: neighbours of its nodes, to be opened one node at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.layout import Drawing
from fxstore.render.page.run_tables import StoredGraph

# The part of a run that a page draws when the whole is too much: some nodes and what is near them.


HOPS: Final = 3
MOST_NODES: Final = 6_000
HUB: Final = 40
"""A node with more neighbours in one direction than this is a hub: only its nearest ``HUB`` are drawn."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Neighbourhood:
    """What is left of some graphs.

    Attributes:
        graphs: Graphs of each stage, without the nodes that are not drawn.
        more: nid to how many of its neighbours are not drawn, where there are any.
        drawn, all: How many nodes are drawn, and how many there are.
    """

    graphs: dict[str, list[StoredGraph]]
    more: dict[int, int]
    drawn: int
    all: int


def neighbourhood(
    graphs: Mapping[str, Sequence[StoredGraph]], seeds: Iterable[int], hops: int = HOPS, most: int = MOST_NODES
) -> Neighbourhood:
    """Returns the nodes within some hops of ``seeds``, in each graph on its own.

    Args:
        graphs: Graphs of each stage.
        seeds: nids, best first: where ``most`` is reached, those that come first have their neighbours.
        hops: How far along edges, in either direction.
        most: Nodes that are drawn in all; the seeds are in any case.
    """
    wanted = list(seeds)
    parts = [graph for stage in graphs.values() for graph in stage]
    share = max(1, most // max(1, sum(_holds(graph, wanted) for graph in parts)))
    kept: dict[str, list[StoredGraph]] = {stage: [] for stage in graphs}
    more: dict[int, int] = {}
    callers: set[int] = set()
    for stage, own in graphs.items():
        for graph in reversed(own):  # inner graphs first: their callers stay
            reduced = _reduced(graph, [*wanted, *callers], hops, share, more)
            if reduced.nodes.num_rows:
                kept[stage].insert(0, reduced)
                callers |= set() if graph.parent_nid is None else {graph.parent_nid}
    count = sum(graph.nodes.num_rows for stage in kept.values() for graph in stage)
    return Neighbourhood(kept, more, count, sum(graph.nodes.num_rows for graph in parts))


def _holds(graph: StoredGraph, nids: Sequence[int]) -> bool:
    return bool(np.isin(np.asarray(nids, np.int64), graph.nodes["nid"].to_numpy()).any())


def _reduced(graph: StoredGraph, seeds: Sequence[int], hops: int, most: int, more: dict[int, int]) -> StoredGraph:
    nids = graph.nodes["nid"].to_numpy()
    place = {int(nid): row for row, nid in enumerate(nids)}
    rows = list(dict.fromkeys(place[nid] for nid in seeds if nid in place))
    src, dst = (graph.edges[name].to_numpy().astype(np.int64) for name in ("src", "dst"))
    near = _Near(src, dst, len(nids))
    keep = np.zeros(len(nids), np.bool_)
    keep[_within(rows, near, hops, most)] = True
    inner = keep[src] & keep[dst]
    gone = np.bincount(src[keep[src] & ~keep[dst]], minlength=len(nids)) + np.bincount(
        dst[keep[dst] & ~keep[src]], minlength=len(nids)
    )
    more |= {int(nids[row]): int(gone[row]) for row in np.flatnonzero(keep & (gone > 0))}
    number = np.cumsum(keep) - 1
    edges = graph.edges.filter(pa.array(inner))
    for name, ends in (("src", src), ("dst", dst)):
        column = edges.schema.get_field_index(name)
        edges = edges.set_column(column, name, pa.array(number[ends[inner]].tolist(), pa.int32()))
    return replace(graph, nodes=graph.nodes.filter(pa.array(keep)), edges=edges, graph_hash="")


class _Near:
    """The neighbours of each node, the nearest in program order first."""

    def __init__(self, src: Ints, dst: Ints, count: int) -> None:
        self._sides = [(_starts(a, count), b[np.argsort(a, kind="stable")]) for a, b in ((src, dst), (dst, src))]

    def __call__(self, row: int) -> list[int]:
        out: list[int] = []
        for starts, others in self._sides:
            beside = others[starts[row] : starts[row + 1]]
            if len(beside) > HUB:
                beside = beside[np.argsort(np.abs(beside - row), kind="stable")[:HUB]]
            out += beside.tolist()
        return out


def _starts(ends: Ints, count: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=count))]).astype(np.int64)


def _within(rows: Sequence[int], near: _Near, hops: int, most: int) -> list[int]:
    """Returns the seeds and, hop by hop, what is near them, while there is room."""
    found = dict.fromkeys(rows)
    front = list(rows)
    for _ in range(hops):
        following: list[int] = []
        for row in front:
            for other in near(row):
                if other not in found and len(found) < most:
                    found[other] = None
                    following.append(other)
        front = following
    return list(found)


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
