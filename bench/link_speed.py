"""Times linking: ``python -m bench.link_speed``.

A run of five stages, a float graph and four of 2,000 nodes each, and pairs of growing size; every stage names its
ancestors, the first edge stage is a decomposition (four nodes for each linear). CPU seconds, and the peak memory that
linking adds.
"""

from __future__ import annotations

import itertools
import time
import tracemalloc
from collections.abc import Iterator

from bench.arguments import options
from bench.figures import Figure, timed
from fxstore.ingest.build import GraphBuilder, Value
from fxstore.link import structure_of
from fxstore.records import Graph, Stage

_DECOMPOSED = (("view", "view_copy"), ("permute", "permute_copy"), ("addmm", "addmm"), ("out", "view_copy"))
_KEPT = ("relu", "sin", "add")
_LARGEST_TRACED = 150_000
"""Tracing memory slows a run down tenfold."""
_VALUE = (Value("float32", ("4", "8")),)


def made(identity: int, size: int, ancestor: int | None, whole: bool) -> Graph:
    """Returns a graph of about ``size`` nodes: blocks of a linear, whole or decomposed, and three operators."""
    builder = GraphBuilder("forward", "", [identity])
    last = builder.node("x", "placeholder", "x", "input", values=_VALUE)
    builder.signature["x"] = "input:0"
    for block in range(size // (5 if whole else 8)):
        weight = builder.node(f"w{block}", "get_attr", f"w{block}", "parameter", values=_VALUE)
        builder.signature[f"w{block}"] = f"state:w{block}"
        first = last
        for name, kind, source in _operators(whole, ancestor):
            last = _add(builder, f"{name}{block}", kind, (last, weight if name != "add" else first))
            if ancestor is not None:
                cited = f"aten.{_kind(source)}.default"
                builder.origin(last, 0, [(f"{source}{block}", cited, ancestor, "retrace", "")])
    output = builder.node("output", "output", "output", "output")
    builder.use(last, 0, output, "0")
    return builder.finish()


def _operators(whole: bool, ancestor: int | None) -> Iterator[tuple[str, str, str]]:
    """Yields name, operator and ancestor of a block's nodes; the first decomposition comes from the float graph, 1."""
    for name, kind in (("linear", "linear"),) if whole else _DECOMPOSED:
        yield name, kind, "linear" if ancestor == 1 else name
    yield from ((name, name, name) for name in _KEPT)


def _kind(source: str) -> str:
    return dict(_DECOMPOSED).get(source, source)


def _add(builder: GraphBuilder, name: str, kind: str, inputs: tuple[int, int]) -> int:
    position = builder.node(name, "call_function", f"aten.{kind}.default", "op", kind=kind, values=_VALUE)
    for place, source in enumerate(inputs):
        builder.use(source, 0, position, str(place))
    return position


def stages(count: int, size: int) -> list[Stage]:
    """Returns a float stage and ``count - 1`` decomposed ones, each of about ``size`` nodes."""
    graphs = [made(1, size, None, whole=True), *(made(i, size, i - 1, whole=False) for i in range(2, count + 1))]
    return [Stage(f"stage_{i}", (graph,)) for i, graph in enumerate(graphs)]


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of linking, beside a join of equal names by a dict, which finds nothing renamed."""
    for count, size in ((5, 2_000),) if quick else ((5, 2_000), (2, 25_000)):
        run = stages(count, size)
        nodes = sum(len(graph.nodes) for stage in run for graph in stage.graphs)
        yield timed(
            "link",
            f"{count} stages of {size:,} nodes",
            lambda run=run: structure_of(run),  # type: ignore[misc]
            "a dict of equal names",
            lambda run=run: by_name(run),  # type: ignore[misc]
            per=nodes,
            unit="µs/node",
        )


def by_name(run: list[Stage]) -> list[tuple[int, int]]:
    """Returns the pairs of nodes of equal names in stages that follow each other, as places in their graphs."""
    names = [[str(name) for graph in stage.graphs for name in graph.nodes["name"].to_pylist()] for stage in run]
    found = []
    for before, after in itertools.pairwise(names):
        place = {name: i for i, name in enumerate(before)}
        found += [(place[name], i) for i, name in enumerate(after) if name in place]
    return found


def main() -> None:
    """Prints one line per run."""
    structure_of(stages(2, 80))
    print("stages  nodes     CPU s   µs/node   peak MB")
    for count, size in ((5, 2_000), (2, 12_500), (2, 25_000), (2, 50_000), (2, 100_000)):
        run = stages(count, size)
        nodes = sum(len(graph.nodes) for stage in run for graph in stage.graphs)
        seconds = min(_timed(run) for _ in range(3))
        memory = f"{_peak(run) / 1e6:8.0f}" if nodes < _LARGEST_TRACED else ""
        print(f"{count:6}  {nodes:7}  {seconds:7.2f}  {seconds / nodes * 1e6:8.1f}  {memory}", flush=True)


def _peak(run: list[Stage]) -> int:
    tracemalloc.start()
    structure_of(run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _timed(run: list[Stage]) -> float:
    start = time.process_time()
    structure_of(run)
    return time.process_time() - start


if __name__ == "__main__":
    options(__file__, __doc__).parse_args()
    main()
