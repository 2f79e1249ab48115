"""Tiny graphs written by hand, without torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fxstore.ingest.build import GraphBuilder, Value
from fxstore.link import structure_of
from fxstore.link.contradictions import contradictions
from fxstore.link.run import Run
from fxstore.records import Graph, Stage, Structure

_BOUNDARY = {"placeholder": "input", "get_attr": "parameter", "output": "output"}


class N(NamedTuple):
    """A node: its name, operator, the names (or ``name.port``) that it uses, and its ancestors, nearest first."""

    name: str
    kind: str
    inputs: str = ""
    came_from: Sequence[tuple[int, str] | tuple[int, str, str]] = ()
    shape: tuple[str, ...] = ("2",)
    ports: int = 1
    key: str | None = None
    target: str | None = None
    handles: Sequence[int] = ()
    runs: Sequence[int] = ()
    space: str = "debug_handle"


def graph(
    identity: int, nodes: Sequence[N], *, path: str = "", parent: tuple[str, int] | None = None, method: str = "forward"
) -> Graph:
    """Builds a graph; an ancestor's target follows from its name (``mul_1`` is a mul), unless a third part tells it."""
    builder = GraphBuilder(method, path, [identity])
    for n in nodes:
        op = n.kind if n.kind in _BOUNDARY else "call_function"
        role = _BOUNDARY.get(n.kind, {"executorch_call_delegate": "delegate", "subgraph": "subgraph"}.get(n.kind, "op"))
        target = n.target or (n.name if op in _BOUNDARY else f"aten.{n.kind}.default")
        position = builder.node(n.name, op, target, role, kind=n.kind, values=(Value("float32", n.shape),) * n.ports)
        for i, used in enumerate(n.inputs.split()):
            name, _, port = used.partition(".")
            builder.use(builder.positions[name], int(port or 0), position, str(i))
        builder.origin(
            position,
            0,
            [(name, *(cited or [_target(name)]), home, "retrace", "create") for home, name, *cited in n.came_from],
        )
        builder.handle(position, n.space, n.handles)
        builder.handle(position, "instruction", n.runs)
        if n.key:
            builder.signature[n.name] = n.key
    return builder.finish(*(parent or (None, None)))


def _target(name: str) -> str:
    return f"aten.{re.sub(r'_[0-9]+$', '', name)}.default"


class Linked:
    """The links of a run, readable by ``stage:name``."""

    def __init__(self, *stages: Graph | Sequence[Graph]) -> None:
        self._link([Stage(f"s{i}", (s,) if isinstance(s, Graph) else tuple(s)) for i, s in enumerate(stages)])

    @classmethod
    def of(cls, stages: Sequence[Stage]) -> Linked:
        """Links stages that have their names already."""
        linked = cls.__new__(cls)
        linked._link(stages)
        return linked

    def _link(self, stages: Sequence[Stage]) -> None:
        self.stages = stages
        self.run = Run.of(stages)
        self.tables = structure_of(stages).tables

    def label(self, ordinal: int) -> str:
        home = self.run.graphs[self.run.graph[ordinal]]
        stage, path = self.stages[self.run.stage[ordinal]].name, f"{home.path}/" if home.path else ""
        return f"{stage}:{path}{self.run.name[ordinal]}"

    def stage(self, ordinal: int) -> str:
        return self.stages[self.run.stage[ordinal]].name

    def links(self) -> dict[tuple[str, str], str]:
        """Returns the evidence of each link by its two ends."""
        return {(self.label(r["src"]), self.label(r["dst"])): r["evidence"] for r in self.tables["links"].to_pylist()}

    def inferred(self) -> set[tuple[str, str]]:
        return {(self.label(r["src"]), self.label(r["dst"])) for r in self.tables["links"].to_pylist() if r["inferred"]}

    def set_of(self, label: str) -> dict[str, bool]:
        """Returns the members of the set that a click on a node shows, and whether each is primary."""
        rows = self.tables["sync_sets"].to_pylist()
        (number,) = {r["sync_set"] for r in rows if r["focus"] and self.label(r["ordinal"]) == label}
        return {self.label(r["ordinal"]): r["is_primary"] for r in rows if r["sync_set"] == number}

    def values(self, label: str, port: int = 0) -> set[str]:
        """Returns what holds the same value as a node's port, as ``stage:name.port``."""
        rows = self.tables["value_classes"].to_pylist()
        number = {r["value_class"] for r in rows if self.label(r["ordinal"]) == label and r["port"] == port}
        return {f"{self.label(r['ordinal'])}.{r['port']}" for r in rows if r["value_class"] in number} - {
            f"{label}.{port}"
        }

    def contradictions(self) -> list[str]:
        """Returns what the links say that cannot be."""
        return sorted(one.what for one in contradictions(self.run, Structure(self.run.graphs, self.tables)))

    def unmatched(self) -> dict[tuple[str, str], str]:
        return {(self.label(r["ordinal"]), r["towards"]): r["reason"] for r in self.tables["unmatched"].to_pylist()}


def delegated(first: int) -> list[object]:
    top = graph(first, [
        N("x", "placeholder", key="input:0"),
        N("lowered_module_0", "subgraph"),
        N("call", "executorch_call_delegate", "lowered_module_0 x", ports=2),
        N("out_a", "getitem", "call.0", [(1, "relu")]),
        N("out_b", "getitem", "call.1", [(1, "softmax")]),
        N("output", "output", "out_a out_b"),
    ])  # fmt: skip
    inner = graph(first + 1, [
        N("x", "placeholder"),
        N("relu", "relu", "x", [(1, "relu")]),
        N("linear", "linear", "relu", [(1, "linear")]),
        N("softmax", "softmax", "linear", [(1, "softmax")]),
        N("output", "output", "relu softmax"),
    ], path="lowered_module_0", parent=("", 2))  # fmt: skip
    return [top, inner]
