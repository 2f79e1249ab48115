"""Graphs to draw: plain, awkward, and like those of models."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from fxstore.layout import Drawing, draw

Edge = tuple[int, int]
WEIGHTS = ("q", "k", "v", "o", "up", "down", "norm")


@dataclass(frozen=True)
class Graph:
    sizes: Sequence[tuple[float, float]]
    edges: Sequence[Edge]
    paths: Sequence[str | None]

    def draw(self) -> Drawing:
        return draw(self.sizes, self.edges, self.paths)


def plain(nodes: int, edges: Sequence[Edge]) -> Graph:
    """Returns a graph without modules, its boxes as wide as labels like ``aten_op_default_17``."""
    return Graph([_size(f"aten_op_default_{i}") for i in range(nodes)], edges, [None] * nodes)


def _size(label: str) -> tuple[float, float]:
    return 14 + 6.6 * max(len(label), 15), 38.0


def chain(nodes: int) -> Graph:
    return plain(nodes, [(i, i + 1) for i in range(nodes - 1)])


def fan(users: int, join: bool) -> Graph:
    edges = [(0, i + 1) for i in range(users)]
    return plain(users + 1 + join, edges + [(i + 1, users + 1) for i in range(users) if join])


def small_components(count: int) -> Graph:
    return plain(3 * count, [(3 * i + k, 3 * i + k + 1) for i in range(count) for k in (0, 1)])


def bipartite(side: int) -> Graph:
    return plain(2 * side, [(i, side + j) for i in range(side) for j in range(side)])


def dense_net(layers: int) -> Graph:
    """Every layer's input joins the outputs of all layers before it."""
    edges: list[Edge] = []
    for layer in range(layers):
        join, out = 2 * layer + 1, 2 * layer + 2
        edges += [(2 * k, join) for k in range(layer + 1)] + [(join, out)]
    return plain(2 * layers + 1, edges)


def u_net(depth: int) -> Graph:
    """A chain whose node k from the top joins node k from the bottom."""
    nodes = 6 * depth
    return plain(nodes, [(i, i + 1) for i in range(nodes - 1)] + [(2 * k, nodes - 1 - 2 * k) for k in range(depth)])


def shared_mask(layers: int) -> Graph:
    return plain(layers + 1, [(i, i + 1) for i in range(1, layers)] + [(0, i + 1) for i in range(layers)])


def random_dag(nodes: int, reach: float | None, seed: int = 0) -> Graph:
    """One or two inputs per node, ``reach`` nodes back on average, or any earlier node."""
    rnd = random.Random(seed)
    edges = []
    for i in range(1, nodes):
        for _ in range(1 if rnd.random() < 0.7 else 2):
            back = rnd.randrange(i) if reach is None else int(rnd.expovariate(1 / reach))
            edges.append((max(0, i - 1 - back), i))
    return plain(nodes, edges)


@dataclass
class _Program:
    names: list[str] = field(default_factory=list)
    paths: list[str | None] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, name: str, path: str | None, *inputs: int) -> int:
        number = len(self.names)
        self.names.append(f"{name}_{number}")
        self.paths.append(path)
        self.edges += [(i, number) for i in inputs]
        return number

    def steps(self, names: str, path: str, first: int) -> int:
        for name in names.split():
            first = self.add(f"aten_{name}_default", path, first)
        return first


def transformer(layers: int) -> Graph:
    """Layers of about fifty nodes with parameters, residuals, and a mask and rotary tables that all layers share."""
    program = _Program()
    weights = [{w: program.add(f"p_{w}_weight", None) for w in WEIGHTS} for _ in range(layers)]
    x, mask = program.add("x", None), program.add("mask", None)
    cos, sin = program.steps("cos", "m.rotary", x), program.steps("sin", "m.rotary", x)
    for i, weight in enumerate(weights):
        path = f"m.layers.{i}"
        a = _attention(program, f"{path}.attn", weight, _norm(program, f"{path}.ln1", weight, x), (mask, cos, sin))
        x = program.add("aten_add_tensor", path, x, a)
        h = program.add("aten_linear_default", f"{path}.mlp.up", _norm(program, f"{path}.ln2", weight, x), weight["up"])
        h = program.add("aten_linear_default", f"{path}.mlp", program.steps("gelu", f"{path}.mlp", h), weight["down"])
        x = program.add("aten_add_tensor", path, x, h)
    program.add("output", None, x)
    return Graph([_size(name) for name in program.names], program.edges, program.paths)


def _norm(program: _Program, path: str, weight: dict[str, int], x: int) -> int:
    scale = program.steps("pow mean add rsqrt", path, x)
    return program.add("aten_mul_tensor", path, program.add("aten_mul_tensor", path, x, scale), weight["norm"])


def _attention(program: _Program, path: str, weight: dict[str, int], x: int, shared: tuple[int, int, int]) -> int:
    mask, cos, sin = shared
    heads = []
    for name in "qkv":
        y = program.add("aten_linear_default", f"{path}.{name}_proj", x, weight[name])
        y = program.steps("view transpose", path, y)
        if name != "v":
            turned = program.steps("slice neg cat", path, y)
            turned = program.add("aten_mul_tensor", path, turned, sin)
            y = program.add("aten_add_tensor", path, program.add("aten_mul_tensor", path, y, cos), turned)
        heads.append(y)
    y = program.steps("transpose view", path, program.add("aten_sdpa_default", path, *heads, mask))
    return program.add("aten_linear_default", path, y, weight["o"])


def caches(layers: int) -> Graph:
    """Layers that each give out their keys and values beside the result."""
    program, outputs = _Program(), list[int]()
    x = program.add("x", None)
    for path in (f"m.layers.{i}" for i in range(layers)):
        query, *pair = [program.add("aten_linear_default", f"{path}.attn{name}", x) for name in ("", ".k", ".v")]
        x = program.add("aten_add_tensor", path, x, program.add("aten_sdpa_default", f"{path}.attn", query, *pair))
        x = program.add("aten_add_tensor", path, x, program.steps("linear gelu linear", f"{path}.mlp", x))
        outputs += pair
    program.add("output", None, x, *outputs)
    return Graph([_size(name) for name in program.names], program.edges, program.paths)
