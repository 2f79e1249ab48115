from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.layout import graphs
from tests.layout.graphs import Graph, plain
from tests.layout.laws import longest_path, violations

SHAPES = {
    "nothing": plain(0, []),
    "one node": plain(1, []),
    "self loop": plain(3, [(0, 0), (0, 1), (1, 2), (2, 2)]),
    "only self loops": plain(2, [(0, 0), (1, 1)]),
    "two-cycle": plain(2, [(0, 1), (1, 0)]),
    "repeated operand": plain(3, [(0, 1), (0, 1), (1, 2), (1, 2), (0, 2)]),
    "loops": plain(40, [(i, i + 1) for i in range(39)] + [(i + 3, i) for i in range(0, 37, 4)]),
    "isolated": plain(2000, []),
    "components": graphs.small_components(1000),
    "fan": graphs.fan(5000, join=False),
    "fan with join": graphs.fan(5000, join=True),
    "fan in": plain(301, [(i, 300) for i in range(300)]),
    "bipartite": graphs.bipartite(60),
    "dense net": graphs.dense_net(40),
    "u-net": graphs.u_net(100),
    "mask": graphs.shared_mask(2000),
    "random": graphs.random_dag(4000, reach=6),
    "random, far": graphs.random_dag(600, reach=None),
    "random, too far for lanes": graphs.random_dag(3000, reach=None),
    "random, long": graphs.random_dag(3000, reach=100),
    "deep modules": Graph(
        [(90, 38)] * 400, [(i, i + 1) for i in range(399)], [".".join("m" * (i + 1)) for i in range(400)]
    ),
    "transformer": graphs.transformer(12),
    # On each of these fast-sugiyama 0.5.3 hangs, dies or is wrong.
    "hang": plain(5, [(0, 1), (0, 2), (2, 3), (1, 4), (3, 4), (1, 4)]),
    "two components": plain(7, [(0, 1), (2, 3), (3, 4), (4, 5), (5, 6), (2, 6), (2, 5)]),
    "gaps in ids": plain(9, [(0, 4), (4, 8), (0, 8)]),
    "shared inputs": plain(1001, [(0, i) for i in range(1, 1001)] + [(i, i + 1) for i in range(1, 1000)]),
}
WIDE = {"isolated", "components", "fan", "fan with join"}


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    graph = SHAPES[name]
    drawing = graph.draw()
    assert violations(graph, drawing) == []
    assert drawing.width <= 3 * drawing.height + 3300
    if name in WIDE:
        assert drawing.height / 3 < drawing.width < 3 * drawing.height


LARGE: dict[str, Callable[[], Graph]] = {
    "chain": lambda: graphs.chain(100_000),
    "transformer": lambda: graphs.transformer(2000),
    "random": lambda: graphs.random_dag(100_000, reach=None),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_hundred_thousand_nodes(name: str) -> None:
    graph = LARGE[name]()
    began = time.process_time()
    drawing = graph.draw()
    seconds = time.process_time() - began
    assert seconds < 300e-6 * len(graph.sizes)  # five times what it takes on a slow machine
    assert drawing.width < 4 * drawing.height
    edges = np.array(graph.edges)
    assert (drawing.y[edges[:, 1]] - drawing.y[edges[:, 0]] > 38).all()
    assert (np.diff(drawing.offsets) >= 2).all()


def test_a_chain_is_straight() -> None:
    drawing = graphs.chain(500).draw()
    assert np.ptp(drawing.x) == 0
    assert len(drawing.points) == 2 * 499


def test_the_longest_path_is_straight_through_all_modules() -> None:
    graph = graphs.transformer(8)
    spine = longest_path(len(graph.sizes), graph.edges)
    steps = np.diff(graph.draw().x[spine])
    assert np.mean(np.abs(steps) < 1) > 0.97


def test_equal_layers_are_drawn_equally() -> None:
    graph = graphs.transformer(3)
    equal = Graph([(120, 38)] * len(graph.sizes), graph.edges, graph.paths)
    drawing = equal.draw()
    first = [v for v, path in enumerate(graph.paths) if path and path.startswith("m.layers.0.attn")]
    second = [v for v, path in enumerate(graph.paths) if path and path.startswith("m.layers.1.attn")]
    assert np.array_equal(drawing.x[first] - drawing.x[first[0]], drawing.x[second] - drawing.x[second[0]])
    assert np.array_equal(drawing.y[first] - drawing.y[first[0]], drawing.y[second] - drawing.y[second[0]])


def test_modules_are_boxed_outermost_first() -> None:
    graph = graphs.transformer(2)
    blocks = graph.draw().blocks
    assert blocks[0] == "m"
    assert {"m.rotary", "m.layers", "m.layers.0", "m.layers.1", "m.layers.0.attn", "m.layers.1.mlp"} <= set(blocks)
    assert "m.layers.0.attn.q_proj" not in blocks  # one node and its weight
    assert len(blocks) == len(set(blocks))


def test_an_edge_on_a_cycle_is_drawn_against_its_direction() -> None:
    drawing = plain(3, [(0, 1), (1, 2), (2, 0)]).draw()
    assert drawing.feedback.tolist() == [False, False, True]
    line = drawing.points[drawing.offsets[2] :]
    assert line[0, 1] > line[-1, 1]


def digest(graph: Graph) -> str:
    drawing = graph.draw()
    state = hashlib.sha256(repr(drawing.blocks).encode())
    for name in ("x", "y", "points", "offsets", "feedback", "block_boxes"):
        state.update(getattr(drawing, name).tobytes())
    return state.hexdigest()


DIGEST = """
from tests.layout import graphs, test_shapes
print(test_shapes.digest(graphs.transformer(3)), test_shapes.digest(graphs.random_dag(300, reach=6)))
"""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_draws_the_same_bytes(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [digest(graphs.transformer(3)), digest(graphs.random_dag(300, reach=6))]


MEMORY = """
import resource
from tests.layout import graphs
graphs.transformer(2000).draw()
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])  # ru_maxrss has the parent's peak in it
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_hundred_thousand_nodes_take_less_than_half_a_gigabyte() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", MEMORY], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500_000  # kilobytes
