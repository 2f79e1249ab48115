"""The part of a run that a page draws when the whole is too much: some nodes and what is near them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.query.stored import StoredGraph

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
