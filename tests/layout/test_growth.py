"""Time grows in proportion to a graph: no step that is quadratic, whatever the shape."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.layout import graphs
from tests.layout.graphs import Graph, plain

TIMES = 4
"""How many times as many nodes the larger graph of a pair has."""
MOST = 2.0
"""How many times as long a node may take there: noise of a busy machine. A quadratic step would make it four times."""


def boxes(paths: list[str]) -> Graph:
    return Graph([(90, 38)] * len(paths), [(i, i + 1) for i in range(len(paths) - 1)], [*paths])


def nested_skips(nodes: int) -> Graph:
    chain = [(i, i + 1) for i in range(nodes - 1)]
    return plain(nodes, chain + [(i, nodes - 1 - i) for i in range(nodes // 2 - 1)])


def weighted(nodes: int) -> Graph:
    """Operators beside each other that take one value, a weight and a bias each."""
    places = range(3, nodes, 3)
    return plain(nodes, [e for i in places for e in ((0, i), (i - 2, i), (i - 1, i))])


def many_outputs(nodes: int) -> Graph:
    half = nodes // 2
    chain = [(i, i + 1) for i in range(half - 1)]
    return plain(2 * half + 1, chain + [e for i in range(half) for e in ((i, half + i), (half + i, 2 * half))])


def backwards(nodes: int) -> Graph:
    return plain(nodes, [(i, i + 1) for i in range(nodes - 1)] + [(i + 2, i) for i in range(0, nodes - 3, 3)])


SHAPES: dict[str, Callable[[int], Graph]] = {
    "chain": graphs.chain,
    "cycle": lambda n: plain(n, [(i, (i + 1) % n) for i in range(n)]),
    "edges back": backwards,
    "fan": lambda n: graphs.fan(n, join=False),
    "fan with join": lambda n: graphs.fan(n, join=True),
    "components": lambda n: graphs.small_components(n // 3),
    "isolated": lambda n: plain(n, []),
    "mask": graphs.shared_mask,
    "parameters": lambda n: plain(
        n, [(i, n // 2 + i) for i in range(n // 2)] + [(i, i + 1) for i in range(n // 2, n - 1)]
    ),
    "operators with weights": weighted,
    "u-net": lambda n: graphs.u_net(n // 6),
    "nested skips": nested_skips,
    "many outputs": many_outputs,
    "caches": lambda n: graphs.caches(n // 9),
    "transformer": lambda n: graphs.transformer(n // 49),
    "random": lambda n: graphs.random_dag(n, reach=6),
    "random, far": lambda n: graphs.random_dag(n, reach=None),
    "one module": lambda n: boxes(["m.a"] * n),
    "a module each": lambda n: boxes([f"m.{i}" for i in range(n)]),
    "modules in turn": lambda n: boxes([("m.a.x", "m.b.y")[i // 2 % 2] for i in range(n)]),
    "deep modules": lambda n: boxes([".".join("m" * (1 + i % 40)) for i in range(n)]),
}


def seconds(graph: Graph) -> float:
    took = []
    for _ in range(3):
        began = time.process_time()
        graph.draw()
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize("name", SHAPES)
def test_a_node_takes_as_long_in_a_larger_graph(name: str) -> None:
    small, large = SHAPES[name](1000), SHAPES[name](1000 * TIMES)
    for _ in range(3):  # another process may take the caches away for as long as a measurement lasts
        ratio = seconds(large) / len(large.sizes) / (seconds(small) / len(small.sizes))
        if ratio <= MOST:
            break
    assert ratio <= MOST


def test_the_measurement_would_tell_a_quadratic_step() -> None:
    def slow(nodes: int) -> float:
        began = time.process_time()
        np.subtract.outer(np.arange(nodes), np.arange(nodes)).max()
        return time.process_time() - began

    slow(500)
    assert min(slow(6000) for _ in range(3)) / min(slow(1500) for _ in range(3)) / TIMES > MOST
