"""Times the layout and measures what it draws, beside fast-sugiyama where that is safe to call.

Run from the repository's root: ``python -m bench.layout [STORE ...]``. Without a store only generated graphs are drawn;
with one, its graphs of at least fifty nodes as well.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from tests.layout import graphs
from tests.layout.graphs import Graph
from tests.layout.laws import longest_path

from fxstore.layout import Drawing

PEER_LIMIT_S = 60
SAMPLE = 3000

GENERATED: dict[str, Callable[[], Graph]] = {
    "transformer, 2 layers": lambda: graphs.transformer(2),
    "transformer, 12 layers": lambda: graphs.transformer(12),
    "transformer, 80 layers": lambda: graphs.transformer(80),
    "transformer, 2000 layers": lambda: graphs.transformer(2000),
    "u-net, 100 deep": lambda: graphs.u_net(100),
    "dense net, 40 layers": lambda: graphs.dense_net(40),
    "fan of 5000 with join": lambda: graphs.fan(5000, join=True),
    "random, 1000 nodes": lambda: graphs.random_dag(1000, reach=6),
    "random, 10000 nodes": lambda: graphs.random_dag(10_000, reach=6),
    "chain of 100000": lambda: graphs.chain(100_000),
}


@dataclass(frozen=True)
class Lines:
    """Polylines of a drawing: ``points[offsets[e]:offsets[e + 1]]`` for each edge."""

    points: np.ndarray
    offsets: np.ndarray


def crossings_per_edge(graph: Graph, lines: Lines) -> float:
    """Counts crossings of pieces of lines whose edges have no common end; a piece that edges share counts once.

    Of many pieces, a sample is compared with all.
    """
    ends = np.array(graph.edges).reshape(-1, 2)
    owner = np.repeat(np.arange(len(ends)), np.diff(lines.offsets))
    inner = owner[1:] == owner[:-1]
    pieces, chosen = np.unique(
        np.concatenate([lines.points[:-1][inner], lines.points[1:][inner]], axis=1), axis=0, return_index=True
    )
    a, b, ends = pieces[:, :2], pieces[:, 2:], ends[owner[:-1][inner][chosen]]
    low, high = np.minimum(a, b), np.maximum(a, b)
    sample = np.arange(len(a))
    if len(a) > SAMPLE:
        sample = np.random.default_rng(0).choice(len(a), SAMPLE, replace=False)
    count = 0
    for piece in sample:
        near = np.flatnonzero(((low <= high[piece]) & (high >= low[piece])).all(axis=1))
        near = near[~(ends[near][:, :, None] == ends[piece]).any(axis=(1, 2))]
        count += int(_cross(a[piece], b[piece], a[near], b[near]).sum())
    return count / 2 * len(a) / max(len(sample), 1) / max(len(graph.edges), 1)


def _side(a: np.ndarray, b: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (b[..., 0] - a[..., 0]) * (p[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (p[..., 0] - a[..., 0])


def _cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    return (_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0)


def overlaps(graph: Graph, centre: np.ndarray) -> int:
    """Counts pairs of boxes that overlap."""
    half = np.array(graph.sizes) / 2
    low, high = centre - half + 0.01, centre + half - 0.01
    order = np.argsort(low[:, 1], kind="stable")
    ends = np.searchsorted(low[order, 1], high[order, 1])
    count = 0
    for i, v in enumerate(order):
        others = order[i + 1 : ends[i]]
        count += int(((low[others] < high[v]) & (high[others] > low[v])).all(axis=1).sum())
    return count


def measure(name: str, engine: str, graph: Graph, seconds: float, centre: np.ndarray, lines: Lines) -> None:
    """Prints one row."""
    half = np.array(graph.sizes) / 2
    width, height = (centre + half).max(axis=0) - (centre - half).min(axis=0)
    undrawn = int((np.diff(lines.offsets) < 2).sum())
    spine = longest_path(len(graph.sizes), graph.edges)
    straight = np.mean(np.abs(np.diff(centre[spine, 0])) < 2) if len(spine) > 1 else 1
    print(
        f"{name:26} {engine:14} {len(graph.sizes):7} {len(graph.edges):7} {seconds:7.2f} "
        f"{seconds / len(graph.sizes) * 1e6:8.0f} {overlaps(graph, centre):8} {undrawn:8} "
        f"{crossings_per_edge(graph, lines):7.2f} {width:8.0f} {height:9.0f} {width / height:6.2f} {straight:8.0%}",
        flush=True,
    )


def ours(name: str, graph: Graph) -> None:
    """Measures our drawing."""
    began = time.process_time()
    drawing: Drawing = graph.draw()
    seconds = time.process_time() - began
    centre = np.stack([drawing.x, drawing.y], axis=1).astype(np.float64)
    measure(name, "fxstore", graph, seconds, centre, Lines(drawing.points.astype(np.float64), drawing.offsets))


PEER = """
import sys, time
from fast_sugiyama import from_edges
edges = [tuple(map(int, line.split())) for line in sys.stdin]
began = time.process_time()
layouts = from_edges(edges)
seconds = time.process_time() - began
print(seconds)
for v, (x, y) in layouts[0][0]:
    print(v, x, y)
"""


def peer(name: str, graph: Graph) -> None:
    """Measures fast-sugiyama's drawing with straight edges, scaled until boxes of the mean size would not overlap."""
    edges = sorted(set(graph.edges))
    if not _is_safe(len(graph.sizes), edges):
        print(f"{name:26} {'fast-sugiyama':14} not safe to call: unconnected")
        return
    text = "".join(f"{a} {b}\n" for a, b in edges)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PEER], input=text, capture_output=True, text=True, check=True, timeout=PEER_LIMIT_S
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"{name:26} {'fast-sugiyama':14} {type(error).__name__} (limit {PEER_LIMIT_S} s)")
        return
    seconds, *rows = done.stdout.splitlines()
    centre = np.zeros((len(graph.sizes), 2))
    for row in rows:
        v, x, y = row.split()
        if int(v) < len(centre):
            centre[int(v)] = float(x), float(y)
    top = centre[edges[0][0], 1]
    centre[:, 1] *= -1 if centre[edges[0][1], 1] < top else 1
    centre *= (np.array(graph.sizes).mean(axis=0) + np.array([18, 30])) / 72
    ends = np.array(graph.edges)
    half = np.array(graph.sizes)[:, 1] / 2
    starts, stops = centre[ends[:, 0]], centre[ends[:, 1]]
    starts[:, 1] += half[ends[:, 0]]
    stops[:, 1] -= half[ends[:, 1]]
    points = np.stack([starts, stops], axis=1).reshape(-1, 2)
    measure(name, "fast-sugiyama", graph, float(seconds), centre, Lines(points, np.arange(len(ends) + 1) * 2))


def _is_safe(nodes: int, edges: list[tuple[int, int]]) -> bool:
    """Tells whether a graph without repeats is simple, acyclic in program order and connected."""
    part = list(range(nodes))

    def top(v: int) -> int:
        while part[v] != v:
            part[v] = part[part[v]]
            v = part[v]
        return v

    for a, b in edges:
        part[top(a)] = top(b)
    return all(a < b for a, b in edges) and len({top(v) for v in range(nodes)}) == 1


def stored(path: str) -> Iterator[tuple[str, Graph]]:
    """Yields the graphs of a store that have at least fifty nodes."""
    import fxstore
    from fxstore.render.boxes import box_size

    with fxstore.connect(path, read_only=True) as store:
        nodes = store.sql(
            "SELECT graph_id, stage, method, list([nid::VARCHAR, op_type, role, name, module_path] ORDER BY position) "
            "FROM nodes GROUP BY ALL HAVING count(*) >= 50 ORDER BY graph_id"
        )
        for graph_id, stage, method, rows in nodes.fetchall():
            uses = store.sql("SELECT src_nid, dst_nid FROM edges WHERE graph_id = ? ORDER BY position", [graph_id])
            place = {int(row[0]): i for i, row in enumerate(rows)}
            edges = [(place[a], place[b]) for a, b in uses.fetchall()]
            sizes = [box_size(row[1] or row[2] or "", row[3] or "") for row in rows]
            yield f"{stage} {method}", Graph(sizes, edges, [row[4] for row in rows])


def main() -> None:
    """Measures every graph."""
    print(
        f"{'graph':26} {'engine':14} {'nodes':>7} {'edges':>7} {'CPU s':>7} {'us/node':>8} {'overlaps':>8} "
        f"{'undrawn':>8} {'cross/e':>7} {'width':>8} {'height':>9} {'aspect':>6} {'straight':>8}"
    )
    for name, make in GENERATED.items():
        graph = make()
        ours(name, graph)
        if len(graph.sizes) <= 5000:
            peer(name, graph)
    for path in sys.argv[1:]:
        for name, graph in stored(path):
            ours(name, graph)
            peer(name, graph)


if __name__ == "__main__":
    main()
