"""Times the layout and measures what it draws, beside fast-sugiyama, dot and ELK where they are there and finish.

Run from the repository's root: ``python -m bench.layout [STORE or GRAPH.json ...]``. Real models and generated graphs
are drawn, the graphs of a store with at least fifty nodes, and any graph that a JSON file gives as ``sizes``,
``edges`` and ``paths``. dot is taken from the path; for ELK, ``ELKJS`` names a directory where ``npm install elkjs``
was run.

Columns: peak memory of a process of its own, nodes missing, edges not drawn, pairs of boxes that overlap, crossings and
length per edge, extent, share of the longest path that is straight, and share of old nodes that moves in x when a
quantise and a dequantise node come into one edge: drawn anew, and (ours only) drawn beside the old drawing, as the
panes of a compare are. Then, of graphs beside each other: shared nodes at equal heights, pairs of parallel nodes in
another order, and the time of a part of 500 nodes.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.arguments import existing, options
from bench.figures import Figure, in_turns, paired
from bench.layout_engines import Drawn, Lines, NotDrawn, dot, elk, fast_sugiyama
from fxstore.layout import Drawing, align, draw
from tests.layout import graphs, real
from tests.layout.edits import beside, branches, inserted, quantised, shared_heights
from tests.layout.graphs import Graph
from tests.layout.laws import longest_path

PEER_NODES = 3000
"""Larger graphs are drawn by fxstore alone."""
REPEATS = 5
"""How often ours and fast-sugiyama draw such a graph; the least time counts."""
STABLE_S = 15
"""How much of a graph moves is measured where a drawing takes no longer, and the graph has no more than PEER_NODES."""
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


def measure(name: str, graph: Graph, drawn: Drawn, moved: str, megabytes: float | None) -> None:
    """Prints one row."""
    half = np.array(graph.sizes) / 2
    there = np.isfinite(drawn.centre).all(axis=1)
    low, high = (drawn.centre - half)[there], (drawn.centre + half)[there]
    width, height = high.max(axis=0) - low.min(axis=0)
    steps = np.abs(np.diff(drawn.lines.points, axis=0))
    owner = np.repeat(np.arange(len(graph.edges)), np.diff(drawn.lines.offsets))
    length = np.hypot(*steps[owner[1:] == owner[:-1]].T).sum() / max(len(graph.edges), 1)
    spine = longest_path(len(graph.sizes), graph.edges)
    straight = np.mean(np.abs(np.diff(drawn.centre[spine, 0])) < 2) if len(spine) > 1 else 1
    undrawn = int((np.diff(drawn.lines.offsets) < 2).sum())
    print(
        f"{name:22} {drawn.engine:13} {len(graph.sizes):6} {len(graph.edges):6} {drawn.seconds:7.2f} "
        f"{drawn.seconds / len(graph.sizes) * 1e6:7.0f} {'' if megabytes is None else f'{megabytes:.0f}':>4} "
        f"{int((~there).sum()):4} {undrawn:4} {overlaps(graph, drawn.centre):5} "
        f"{crossings_per_edge(graph, drawn.lines):7.2f} {length:7.0f} {width:7.0f} {height:8.0f} {width / height:6.2f} "
        f"{straight:6.0%} {moved:>11}",
        flush=True,
    )


def ours(graph: Graph) -> Drawn:
    """Draws with fxstore."""
    began = time.process_time()
    drawing: Drawing = graph.draw()
    seconds = time.process_time() - began
    centre = np.stack([drawing.x, drawing.y], axis=1).astype(np.float64)
    return Drawn("fxstore", seconds, centre, Lines(drawing.points.astype(np.float64), drawing.offsets))


def peak_megabytes(graph: Graph) -> float:
    """Returns the peak memory of a process of its own that draws a graph, all of Python included."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        graph.draw()
        status = Path("/proc/self/status").read_text()
        os.write(writer, status.split("VmHWM:")[1].split()[0].encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return int(pipe.read()) / 1024


def moved_by_insertion(graph: Graph, engine: Callable[[Graph], Drawn], times: int) -> str:
    """Returns which part of the old nodes moves in x when a quantise and a dequantise node come into one edge."""
    before, rnd = engine(graph).centre[:, 0], random.Random(0)
    old = graph.draw() if engine is ours else None
    moved: list[list[float]] = []
    for edge in rnd.sample(range(len(graph.edges)), min(times, len(graph.edges))):
        after, place = inserted(graph, edge)
        places = [engine(after).centre[place, 0]]
        if old is not None:
            places.append(beside(graph, old, after, place).x[place])
        steps = [x - before for x in places]
        moved.append([float(np.mean(np.abs(step - np.nanmedian(step)) > 2)) for step in steps])
    return " ".join(f"{share:.1%}" for share in np.mean(moved, axis=0))


def compare(name: str, graph: Graph) -> None:
    """Prints a row for each engine that there is and that finishes."""
    for engine in ENGINES:
        if engine is not ours and len(graph.sizes) > PEER_NODES:
            continue
        try:
            again = REPEATS if engine in (ours, fast_sugiyama) and len(graph.sizes) <= PEER_NODES else 1
            drawn = min((engine(graph) for _ in range(again)), key=lambda drawn: drawn.seconds)
            small = len(graph.sizes) <= PEER_NODES and drawn.seconds <= STABLE_S
            moved = moved_by_insertion(graph, engine, 40 if engine is ours else 3) if small else ""
            measure(name, graph, drawn, moved, peak_megabytes(graph) if engine is ours else None)
        except NotDrawn as reason:
            print(f"{name:22} {reason}", flush=True)


def compare_panes() -> None:
    """Prints how well the panes of stages agree, and what a part takes."""
    print(f"{'beside each other':40} {'nodes':>6} {'level':>6} {'pairs':>6} {'turned':>6}")
    for one, two in (
        ("mobilenet", "mobilenet-prepared"),
        ("mobilenet", "mobilenet-quantized"),
        ("unet", "unet-quantized"),
    ):
        before, after = real.load(one), real.load(two)
        place = {name: i for i, name in enumerate(real.names(two))}
        old = [i for i, name in enumerate(real.names(one)) if name in place]
        _pane(f"{one}, {two.split('-')[1]}", before, after, old, [place[real.names(one)[i]] for i in old])
    for name in ("bert-core", "llama-core", "swin-core", "unet"):
        after, new = quantised(real.load(name))
        _pane(f"{name}, all operands quantised", real.load(name), after, list(range(len(new))), new)
    for name in ("bert-core", "swin-core", "mobilenet"):
        part, seconds = real.part(name, 0, 500), []
        for _ in range(5):
            began = time.process_time()
            part.draw()
            seconds.append(time.process_time() - began)
        print(f"{f'500 nodes of {name}':40} {min(seconds) * 1000:6.1f} ms")


def _pane(title: str, before: Graph, after: Graph, old: list[int], new: list[int]) -> None:
    kept = Graph([before.sizes[i] for i in old], [], [None] * len(old))
    first = before.draw()
    wishes: list[tuple[float, float] | None] = [None] * len(after.sizes)
    for i, j in zip(old, new, strict=True):
        wishes[j] = float(first.x[i]), float(first.y[i])
    second = draw(after.sizes, after.edges, after.paths, None, wishes)
    panes = [{k: float(first.y[i]) for k, i in enumerate(old)}, {k: float(second.y[j]) for k, j in enumerate(new)}]
    level = shared_heights(panes, align(panes))
    pairs, turned = branches(kept, replace(first, x=first.x[old], y=first.y[old]), second, new)
    print(f"{title:40} {len(old):6} {level:6.1%} {pairs:6} {turned:6}", flush=True)


def stored(path: Path) -> Iterator[tuple[str, Graph]]:
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


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of the layout: time, and boxes that overlap."""
    for name in ("mobilenet", "bert-core") if quick else ("mobilenet", "unet", "bert-core", "swin-core"):
        graph = real.load(name)
        drawn = {engine: engine(graph) for engine in (ours, fast_sugiyama)}
        both = in_turns(lambda g=graph: ours(g).seconds, lambda g=graph: fast_sugiyama(g).seconds)  # type: ignore[misc]
        nodes = len(graph.sizes)
        yield paired(
            "layout",
            f"{name}, {nodes} nodes",
            "µs/node",
            "lower",
            "fast-sugiyama",
            both,
            lambda seconds, nodes=nodes: 1e6 * seconds / nodes,  # type: ignore[misc]
        )
        mine, theirs = (overlaps(graph, one.centre) for one in drawn.values())
        yield Figure(
            "layout", f"{name}, overlaps", mine, "pairs", "lower", "fast-sugiyama", theirs, [mine / max(theirs, 1)]
        )


def main(more: Sequence[Path]) -> None:
    """Measures every graph, and those of further stores and files."""
    print(
        f"{'graph':22} {'engine':13} {'nodes':>6} {'edges':>6} {'CPU s':>7} {'us/node':>7} {'MB':>4} {'miss':>4} "
        f"{'undr':>4} {'overl':>5} {'cross/e':>7} {'length':>7} {'width':>7} {'height':>8} {'aspect':>6} {'spine':>6} "
        f"{'moved':>11}"
    )
    for name in real.NAMES:
        compare(name, real.load(name))
    compare_panes()
    for name, make in GENERATED.items():
        compare(name, make())
    for path in more:
        for name, graph in stored(path) if path.is_dir() else [(path.stem, from_json(path))]:
            compare(name, graph)


def from_json(path: Path) -> Graph:
    """Returns a graph from a JSON file with ``sizes``, ``edges`` and ``paths``."""
    graph = json.loads(path.read_text())
    return Graph([tuple(size) for size in graph["sizes"]], [tuple(edge) for edge in graph["edges"]], graph["paths"])


ENGINES: tuple[Callable[[Graph], Drawn], ...] = (ours, fast_sugiyama, dot, elk)

if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("graphs", metavar="GRAPH", nargs="*", type=existing, help="a store, or a JSON file")
    main(parser.parse_args().graphs)
