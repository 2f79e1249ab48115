"""All nodes of a run laid end to end, with what the linking rules ask about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from fxstore.records import Graph, Stage, starts

Hop = tuple[int, str]
"""An ancestor as provenance names it: the identity of its graph and its name there."""

BOUNDARY_ROLES = frozenset({"input", "parameter", "buffer", "constant", "token", "output"})
VIEWS = frozenset(
    {
        "view", "view_copy", "reshape", "permute", "permute_copy", "transpose", "transpose_copy", "t", "t_copy",
        "unsqueeze", "unsqueeze_copy", "squeeze", "squeeze_copy", "expand", "expand_copy", "alias", "alias_copy",
        "flatten", "clone", "_clone_dim_order", "_to_dim_order_copy", "contiguous", "detach", "getitem",
    }
)  # fmt: skip


@dataclass
class Run:
    """The nodes of a run by ordinal; every list below has one entry per node."""

    graphs: tuple[Graph, ...]
    stage_of_graph: list[int]
    base: list[int]
    graph: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    op_type: list[str] = field(default_factory=list)
    role: list[str] = field(default_factory=list)
    dtype: list[str | None] = field(default_factory=list)
    shape: list[tuple[str, ...] | None] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    inputs: list[list[tuple[int, int, str]]] = field(default_factory=list)
    users: list[list[int]] = field(default_factory=list)
    chain: list[list[tuple[Hop, str, str]]] = field(default_factory=list)
    """Hops of each node's provenance, nearest first: the ancestor, its target, the pass that made the hop."""

    @classmethod
    def of(cls, stages: Sequence[Stage]) -> Run:
        """Lays the graphs of these stages end to end."""
        graphs = tuple(graph for stage in stages for graph in stage.graphs)
        stage_of_graph = [i for i, stage in enumerate(stages) for _ in stage.graphs]
        run = cls(graphs, stage_of_graph, starts([len(graph.nodes) for graph in graphs]))
        for index, graph in enumerate(graphs):
            run._append(index, graph)
        return run

    def _append(self, index: int, graph: Graph) -> None:
        base, nodes = self.base[index], graph.nodes
        size = len(nodes)
        self.graph += [index] * size
        for column in ("name", "target", "op_type", "role", "dtype", "ports"):
            getattr(self, column).extend(nodes[column].to_pylist())
        self.shape += [None if s is None else tuple(s) for s in nodes["shape"].to_pylist()]
        self.inputs += [[] for _ in range(size)]
        self.users += [[] for _ in range(size)]
        for src, port, dst, arg in _rows(graph.edges, "src", "src_port", "dst", "dst_arg"):
            self.inputs[base + dst].append((base + src, port, arg))
            self.users[base + src].append(base + dst)
        self.chain += _chains(graph)

    def __len__(self) -> int:
        return len(self.name)

    def stage(self, ordinal: int) -> int:
        """Returns the index of a node's stage."""
        return self.stage_of_graph[self.graph[ordinal]]

    def nodes_of_stage(self, stage: int, method: str) -> Iterator[int]:
        """Yields the ordinals of a stage's nodes that belong to one method, graph after graph."""
        for index, graph in enumerate(self.graphs):
            if self.stage_of_graph[index] == stage and graph.method == method:
                yield from range(self.base[index], self.base[index] + len(graph.nodes))

    def is_boundary(self, ordinal: int) -> bool:
        """Tells whether a node is a value that comes from outside, or the output; they are matched by signature."""
        return self.role[ordinal] in BOUNDARY_ROLES

    def is_quantiser(self, ordinal: int) -> bool:
        """Tells whether a node observes, quantises or dequantises: it adds no computation of its own."""
        kind = self.op_type[ordinal]
        return kind.startswith(("quantize_", "dequantize_", "choose_qparams")) or kind.endswith(
            ("Observer", "FakeQuantize")
        )

    def port(self, ordinal: int) -> int | None:
        """Returns the output that a ``getitem`` reads, or None for any other node."""
        return self.inputs[ordinal][0][1] if self.op_type[ordinal] == "getitem" and self.inputs[ordinal] else None

    def kind(self, ordinal: int) -> tuple[str, int | None]:
        """Returns a node's operator, a view and the copy that it replaces being one, and the output that it reads."""
        return self.op_type[ordinal].removesuffix("_copy"), self.port(ordinal)

    def has_provenance(self, ordinal: int) -> bool:
        """Tells whether any node of a node's graph names an ancestor."""
        return bool(self.graphs[self.graph[ordinal]].tables["origins"].num_rows)

    @cached_property
    def calls(self) -> dict[int, int]:
        """Graph index of each nested graph, by the ordinal of the node that calls it."""
        return {parent: index for index, parent in self.parents.items()}

    @cached_property
    def parents(self) -> dict[int, int]:
        """Ordinal of the calling node, by the index of the nested graph."""
        tops = {(self.stage_of_graph[i], g.method, g.path): i for i, g in enumerate(self.graphs)}
        return {
            i: self.base[tops[self.stage_of_graph[i], g.method, g.parent_path]] + g.parent_position
            for i, g in enumerate(self.graphs)
            if g.parent_path is not None and g.parent_position is not None
        }

    def passed(self, call: int, graph: int) -> list[tuple[int, tuple[int, int]]]:
        """Returns, for each user input of a delegate's graph, the (ordinal, port) of the value that the call passes."""
        base = self.base[graph]
        inner = [base + i for i in range(len(self.graphs[graph].nodes)) if self.role[base + i] == "input"]
        uses = [(src, port) for src, port, _ in self.inputs[call] if self.role[src] != "subgraph"]
        return list(zip(inner, uses, strict=False))

    def outputs(self, graph: int) -> list[tuple[int, int]]:
        """Returns the (ordinal, port) of each value that a graph returns, in order."""
        last = self.base[graph] + len(self.graphs[graph].nodes) - 1
        if last < self.base[graph] or self.op_type[last] != "output":
            return []
        return [(src, port) for src, port, _ in self.inputs[last]]


def _rows(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table[column].to_pylist() for column in columns), strict=True)


def _chains(graph: Graph) -> list[list[tuple[Hop, str, str]]]:
    """Returns the hops of every node, nearest first; tails that nodes share are built once."""
    tails: list[list[tuple[Hop, str, str]]] = []
    for name, target, number, pass_name, parent in _rows(
        graph.tables["sources"], "name", "target", "graph", "pass_name", "parent"
    ):
        hop = ((graph.source_graphs[number], name), target, pass_name)
        tails.append([hop, *(tails[parent] if parent is not None else [])])
    chains: list[list[tuple[Hop, str, str]]] = [[] for _ in range(len(graph.nodes))]
    for position, source in _rows(graph.tables["origins"], "position", "source"):
        chains[position] = chains[position] + tails[source] if chains[position] else tails[source]
    return chains
