"""All nodes of a run laid end to end, with what the linking rules ask about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from fxstore.records import Graph, Stage, starts

# What nodes say about where they come from: the provenance of a whole run as one forest of numbers.


NOTHING = -1


@dataclass
class Lineage:
    """The sources that the nodes of a run cite, each once: equal chains are equal numbers.

    A *hop* is an ancestor as provenance names it, the identity of its graph and its name there, as one number. A
    *source* is a hop with the target that is cited of it, the pass that made it, and the source that it cites itself.
    """

    hops: dict[tuple[int, str], int] = field(default_factory=dict)
    ancestor: list[tuple[int, str]] = field(default_factory=list)
    """Graph identity and name of each hop."""
    hop: list[int] = field(default_factory=list)
    """Hop of each source."""
    target: list[str] = field(default_factory=list)
    pass_name: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    """The next source of each source's chain, or NOTHING."""
    origin: list[int] = field(default_factory=list)
    """Number of what each source names with all that it came from itself, whichever pass made the citing node of it.

    A hop alone does not tell an ancestor: the number of a graph may be used again, and so may a name in it.
    """
    head: list[int] = field(default_factory=list)
    """The nearest source of each node, or NOTHING."""
    branches: dict[int, list[int]] = field(default_factory=dict)
    """Further heads of nodes that have several chains."""
    _known: dict[tuple[int, str, str, int], int] = field(default_factory=dict)
    _origins: dict[tuple[int, str, int], int] = field(default_factory=dict)

    def append(self, graph: Graph) -> None:
        """Takes in what the nodes of the next graph cite."""
        sources = graph.tables["sources"]
        columns = (sources[c].to_pylist() for c in ("name", "target", "graph", "pass_name", "parent"))
        numbers: list[int] = []
        for name, target, home, pass_name, parent in zip(*columns, strict=True):
            before = NOTHING if parent is None else numbers[parent]
            numbers.append(self._number(graph.source_graphs[home], name, target, pass_name, before))
        base = len(self.head)
        self.head += [NOTHING] * len(graph.nodes)
        origins = graph.tables["origins"]
        for position, source in zip(origins["position"].to_pylist(), origins["source"].to_pylist(), strict=True):
            node = base + position
            if self.head[node] == NOTHING:
                self.head[node] = numbers[source]
            else:
                self.branches.setdefault(node, []).append(numbers[source])

    def _number(self, home: int, name: str, target: str, pass_name: str, parent: int) -> int:
        hop = self.hops.setdefault((home, name), len(self.hops))
        if hop == len(self.ancestor):
            self.ancestor.append((home, name))
        key = (hop, target, pass_name, parent)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.hop)
            self.hop.append(hop)
            self.target.append(target)
            self.pass_name.append(pass_name)
            self.parent.append(parent)
            self.origin.append(self._origins.setdefault((hop, target, parent), len(self._origins)))
        return number

    def nearest(self, node: int) -> int:
        """Returns the origin that a node cites first, or NOTHING."""
        head = self.head[node]
        return NOTHING if head == NOTHING else self.origin[head]

    def chain(self, node: int) -> Iterator[int]:
        """Yields the sources of a node, nearest first, branch after branch."""
        for source in (self.head[node], *self.branches.get(node, ())):
            yield from self.above(source)

    def above(self, source: int) -> Iterator[int]:
        """Yields a source and those that it comes from, nearest first."""
        while source != NOTHING:
            yield source
            source = self.parent[source]


BOUNDARY_ROLES = frozenset({"input", "parameter", "buffer", "constant", "token", "output"})
STATE = frozenset({"parameter", "buffer", "constant"})
VIEWS = frozenset(
    {
        "view", "view_copy", "reshape", "permute", "permute_copy", "transpose", "transpose_copy", "t", "t_copy",
        "unsqueeze", "unsqueeze_copy", "squeeze", "squeeze_copy", "expand", "expand_copy", "alias", "alias_copy",
        "flatten", "clone", "_clone_dim_order", "_to_dim_order_copy", "contiguous", "detach", "getitem",
    }
)  # fmt: skip
_SAME_VALUE = frozenset(
    {
        "alias", "alias_copy", "clone", "_clone_dim_order", "_to_dim_order_copy", "_to_copy", "to", "contiguous",
        "detach", "detach_", "lift_fresh", "lift_fresh_copy", "view", "view_copy", "reshape", "_unsafe_view", "flatten",
        "expand", "expand_copy", "unsqueeze", "unsqueeze_copy", "squeeze", "squeeze_copy",
        "slice", "slice_copy",
    }
)  # fmt: skip
"""Operators that give their input's value again, as long as its shape and dtype stay."""
_DROPOUT = frozenset({"dropout", "dropout_", "feature_dropout", "alpha_dropout"})


@dataclass
class Run:
    """The nodes of a run by ordinal; every list below has one entry per node."""

    graphs: tuple[Graph, ...]
    stage_of_graph: list[int]
    base: list[int]
    kind_of_stage: list[str]
    graph: list[int] = field(default_factory=list)
    stage: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    op_type: list[str] = field(default_factory=list)
    role: list[str] = field(default_factory=list)
    dtype: list[str | None] = field(default_factory=list)
    shape: list[int | None] = field(default_factory=list)
    """Number of the shape: equal shapes have equal numbers; None for what is no tensor."""
    ports: list[int] = field(default_factory=list)
    attrs: list[str | None] = field(default_factory=list)
    inputs: list[list[tuple[int, int, str]]] = field(default_factory=list)
    users: list[list[int]] = field(default_factory=list)
    quantiser: list[bool] = field(default_factory=list)
    """True for what observes, quantises or dequantises: it adds no computation of its own."""
    boundary: list[bool] = field(default_factory=list)
    """True for values that come from outside, and for the output: they are matched by signature."""
    lineage: Lineage = field(default_factory=Lineage)

    @classmethod
    def of(cls, stages: Sequence[Stage]) -> Run:
        """Lays the graphs of these stages end to end."""
        graphs = tuple(graph for stage in stages for graph in stage.graphs)
        stage_of_graph = [i for i, stage in enumerate(stages) for _ in stage.graphs]
        run = cls(graphs, stage_of_graph, starts([len(graph.nodes) for graph in graphs]), [s.kind for s in stages])
        shapes: dict[tuple[str, ...], int] = {}
        for index, graph in enumerate(graphs):
            run._append(index, graph, shapes)
        return run

    def _append(self, index: int, graph: Graph, shapes: dict[tuple[str, ...], int]) -> None:
        base, nodes = self.base[index], graph.nodes
        size = len(nodes)
        self.graph += [index] * size
        self.stage += [self.stage_of_graph[index]] * size
        for column in ("name", "target", "op_type", "role", "dtype", "ports", "attrs"):
            getattr(self, column).extend(nodes[column].to_pylist())
        for shape in nodes["shape"].to_pylist():
            self.shape.append(None if shape is None else shapes.setdefault(tuple(shape), len(shapes)))
        self.boundary += [role in BOUNDARY_ROLES for role in self.role[base:]]
        kinds = self.op_type[base:]
        quantisers = {kind for kind in set(kinds) if _quantises(kind)}
        self.quantiser += [kind in quantisers for kind in kinds] if quantisers else [False] * size
        self.inputs += [[] for _ in range(size)]
        self.users += [[] for _ in range(size)]
        for src, port, dst, arg in rows(graph.edges, "src", "src_port", "dst", "dst_arg"):
            self.inputs[base + dst].append((base + src, port, arg))
            self.users[base + src].append(base + dst)
        self.lineage.append(graph)

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def module(self) -> list[tuple[str | None, int | None]]:
        """The module that a node stands in, and which call of it."""
        columns = [(graph.nodes["module_path"], graph.nodes["module_call"]) for graph in self.graphs]
        return [pair for path, call in columns for pair in zip(path.to_pylist(), call.to_pylist(), strict=True)]

    def nodes_of_stage(self, stage: int, method: str) -> Iterator[int]:
        """Yields the ordinals of a stage's nodes that belong to one method, graph after graph."""
        for index, graph in enumerate(self.graphs):
            if self.stage_of_graph[index] == stage and graph.method == method:
                yield from range(self.base[index], self.base[index] + len(graph.nodes))

    def nodes_of(self, graph: int) -> range:
        """Returns the ordinals of a graph's nodes, in program order."""
        return range(self.base[graph], self.base[graph] + len(self.graphs[graph].nodes))

    def is_observer(self, ordinal: int) -> bool:
        """Tells whether a node observes a value, and passes it on."""
        return self.op_type[ordinal].endswith(_OBSERVERS)

    def backend(self, call: int) -> str | None:
        """Returns the backend that a delegate call runs on, where it is recorded."""
        graph = self.graph[call]
        found = self.graphs[graph].nodes["backend"][call - self.base[graph]].as_py()
        return None if found is None else str(found)

    def port(self, ordinal: int) -> int | None:
        """Returns the output that a ``getitem`` reads, or None for any other node."""
        return self.inputs[ordinal][0][1] if self.op_type[ordinal] == "getitem" and self.inputs[ordinal] else None

    def selects_port(self, ordinal: int) -> bool:
        """Tells ``getitem(op, i)``, one of several outputs, from the indexing of a tensor, which takes an axis away."""
        if self.op_type[ordinal] != "getitem" or len(self.inputs[ordinal]) != 1:
            return False
        source = self.inputs[ordinal][0][0]
        return self.ports[source] > 1 or (self.shape[ordinal] is not None and self.shape[ordinal] == self.shape[source])

    def value(self, node: int, port: int = 0) -> tuple[int, int]:
        """Returns what computes a value, and its port there: behind ``getitem``, delegates and ``out`` buffers."""
        for _ in range(_DEEPEST):
            graph = self.calls.get(node) if self.role[node] == "delegate" else None
            if self.selects_port(node):
                node, port = self.inputs[node][0][:2]
            elif node in self.writers:
                node, port = self.writers[node][0], self.writers[node][1] + port
            elif node in self.given:
                node, port = self.given[node]
            elif graph is not None and port < len(values := self.outputs(graph)):
                node, port = values[port]
            else:
                break
        return node, port

    def kind(self, ordinal: int) -> tuple[str, int | None]:
        """Returns a node's operator, a view and the copy that it replaces being one, and the output that it reads."""
        return self.op_type[ordinal].removesuffix("_copy"), self.port(ordinal)

    def passes_on(self, ordinal: int) -> bool:
        """Tells whether a node only gives the value of its first input again: a copy, a layout, a dropout at rest."""
        kind, inputs = self.op_type[ordinal], self.inputs[ordinal]
        if not inputs or inputs[0][2] != "0" or not (kind in _SAME_VALUE or kind in _DROPOUT):
            return False
        source, port, _ = inputs[0]
        if port or self.shape[source] is None or self.shape[ordinal] != self.shape[source]:
            return False
        if kind in _DROPOUT:
            arguments = json.loads(self.attrs[ordinal] or "{}").get("args", {})
            return arguments.get("2", arguments.get("train")) is False
        return self.dtype[source] == self.dtype[ordinal]

    def has_provenance(self, ordinal: int) -> bool:
        """Tells whether any node of a node's graph names an ancestor."""
        return bool(self.graphs[self.graph[ordinal]].tables["origins"].num_rows)

    def carries_handle(self, ordinal: int) -> bool:
        """Tells whether a node has any handle."""
        return ordinal in self._carrying

    @cached_property
    def _carrying(self) -> frozenset[int]:
        return frozenset(
            base + position
            for base, graph in zip(self.base, self.graphs, strict=True)
            for position in graph.tables["handles"]["position"].to_pylist()
        )

    @cached_property
    def inserted_layouts(self) -> frozenset[int]:
        """The transposes in XNNPACK's payloads that stand for no operator: they carry no handle."""
        found = [node for node, target in enumerate(self.target) if target == _TRANSPOSE]
        return frozenset(node for node in found if node not in self._carrying)

    @cached_property
    def otherwise_laid(self) -> frozenset[int]:
        """What XNNPACK computes with channels last: from an inserted transpose to the one that takes it back."""
        found: set[int] = set()
        for graph in sorted({self.graph[node] for node in self.inserted_layouts}):
            base = self.base[graph]
            for node in range(base, base + len(self.graphs[graph].nodes)):
                reads_one = any(src in found for src, _, _ in self.inputs[node])
                if self.role[node] == "op" and reads_one != (node in self.inserted_layouts):
                    found.add(node)
        return frozenset(found)

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

    @cached_property
    def given(self) -> dict[int, tuple[int, int]]:
        """The (ordinal, port) that a delegate's call passes, by the input of its graph."""
        calls = [(call, graph) for call, graph in self.calls.items() if self.role[call] == "delegate"]
        return {inner: value for call, graph in calls for inner, value in self.passed(call, graph)}

    @cached_property
    def writers(self) -> dict[int, tuple[int, int]]:
        """The operator that writes a buffer which ``to_executorch`` planned, and the output that it is there."""
        found: dict[int, tuple[int, int]] = {}
        for node, uses in enumerate(self.inputs):
            buffers = [src for src, _, arg in uses if self.op_type[src] == "alloc" and not arg[:1].isdigit()]
            port = 0
            for buffer in buffers:
                found.setdefault(buffer, (node, port))
                port += max(self.ports[buffer], 1)
        return found

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


_DEEPEST = 64
_TRANSPOSE = "xnnpack.static_transpose"
_OBSERVERS = ("Observer", "FakeQuantize")


def _quantises(kind: str) -> bool:
    return kind.startswith(("quantize_", "dequantize_", "choose_qparams")) or kind.endswith(_OBSERVERS)


def rows(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yields a table's rows, some columns of it."""
    return zip(*(table[column].to_pylist() for column in columns), strict=True)
