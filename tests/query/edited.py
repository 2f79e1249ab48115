"""Graphs as edit scripts make them: each node has a key that it keeps, so the right answer of a diff is known."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from fxstore.query.diff.runs import Matching
from fxstore.query.diff.side import Graphs, Nodes, Side, Uses
from fxstore.records import Graph
from tests.store.records import graph, node

OPERATORS = ("linear", "relu", "add", "mul", "softmax", "cat")


@dataclass(frozen=True)
class Op:
    """One node: ``key`` is what it is through all edits; ``inputs`` are keys."""

    key: str
    op_type: str
    inputs: tuple[str, ...] = ()
    module: str | None = None
    shape: tuple[str, ...] = ("1", "8")
    attrs: str | None = None
    name: str = ""

    @property
    def leaf(self) -> bool:
        return self.op_type == "placeholder"


@dataclass(frozen=True)
class Model:
    """Nodes in program order."""

    ops: tuple[Op, ...]

    def __getitem__(self, key: str) -> Op:
        return next(op for op in self.ops if op.key == key)

    def edit(self, key: str, **fields: object) -> Model:
        return Model(tuple(replace(op, **fields) if op.key == key else op for op in self.ops))  # type: ignore[arg-type]

    def rewire(self, old: str, new: str, but: str = "") -> Model:
        """Every use of ``old`` becomes one of ``new``."""

        def moved(op: Op) -> Op:
            return op if op.key == but else replace(op, inputs=tuple(new if k == old else k for k in op.inputs))

        return Model(tuple(map(moved, self.ops)))

    def insert_after(self, key: str, op: Op) -> Model:
        """The new node takes the value of ``key`` and stands in its place."""
        made = replace(op, inputs=(key,))
        out = self.rewire(key, op.key)
        at = [o.key for o in self.ops].index(key) + 1
        return Model((*out.ops[:at], made, *out.ops[at:]))

    def remove(self, *keys: str) -> Model:
        """Each removed node's users take its first input."""
        out = self
        for key in keys:
            source = out[key].inputs
            out = Model(tuple(op for op in out.ops if op.key != key))
            out = out.rewire(key, source[0]) if source else out
        return out

    def reorder(self, seed: int) -> Model:
        """Another topological order; outputs stay last."""
        rng, left, done, order = random.Random(seed), list(self.ops), set[str](), list[Op]()
        while left:
            ready = [op for op in left if done.issuperset(op.inputs)]
            ready = [op for op in ready if op.op_type != "output"] or ready
            op = rng.choice(ready)
            left.remove(op)
            done.add(op.key)
            order.append(op)
        return Model(tuple(order))

    def renumber(self) -> Model:
        """Names as a re-trace gives them: counted in program order; parameters keep theirs."""
        counts: Counter[str] = Counter()
        named = []
        for op in self.ops:
            count = counts[op.op_type]
            counts[op.op_type] += 1
            named.append(op if op.leaf else replace(op, name=f"{op.op_type}_{count}" if count else op.op_type))
        return Model(tuple(named))

    def rename_modules(self, rename: Callable[[str], str]) -> Model:
        def renamed(op: Op) -> Op:
            name = f"p_{rename(op.name[2:])}" if op.leaf and op.name.startswith("p_") else op.name
            return replace(op, name=name, module=rename(op.module) if op.module else None)

        return Model(tuple(map(renamed, self.ops)))

    def without_modules(self) -> Model:
        return Model(tuple(replace(op, module=None) for op in self.ops))

    def graph(self) -> Graph:
        names = {op.key: op.name for op in self.ops}
        rows = [
            node(op.name, {"placeholder": op.op_type, "output": "output"}.get(op.op_type, "call_function"),
                 op_type=op.op_type, target=op.op_type, module_path=op.module, module_call=1 if op.module else None,
                 shape=list(op.shape), attrs=op.attrs)
            for op in self.ops
        ]  # fmt: skip
        return graph(rows, [(names[source], op.name) for op in self.ops for source in op.inputs])


@dataclass
class Maker:
    """Makes the layers of a model one by one."""

    ops: list[Op] = field(default_factory=list)
    count: itertools.count[int] = field(default_factory=itertools.count)

    def op(self, kind: str, *inputs: str, module: str | None = None, name: str = "", **fields: object) -> str:
        key = f"k{next(self.count)}"
        self.ops.append(Op(key, kind, inputs, module, name=name, **fields))  # type: ignore[arg-type]
        return key

    def layer(self, source: str, module: str) -> str:
        """A residual block with two linear layers of its own."""
        up, down = (self.op("placeholder", name=f"p_{module}.{part}_weight") for part in ("up", "down"))
        hidden = self.op("linear", source, up, module=f"{module}.up", shape=("1", "32"))
        active = self.op("relu", hidden, module=f"{module}.act", shape=("1", "32"))
        back = self.op("linear", active, down, module=f"{module}.down")
        return self.op("add", source, back, module=module)


def stacked(layers: int = 20) -> Model:
    """``layers`` equal blocks, one after the other: layer i is ``model.layers.i``."""
    maker = Maker()
    value = maker.op("placeholder", name="x")
    for i in range(layers):
        value = maker.layer(value, f"model.layers.{i}")
    maker.op("output", value)
    return Model(tuple(maker.ops)).renumber()


def branches(count: int = 2, depth: int = 3) -> Model:
    """Equal, independent branches on one input, and their sum."""
    maker = Maker()
    x = maker.op("placeholder", name="x")
    ends = []
    for branch in range(count):
        value = x
        for i in range(depth):
            weight = maker.op("placeholder", name=f"p_branch{branch}.{i}_weight")
            value = maker.op("relu", maker.op("linear", value, weight, module=f"branch{branch}.{i}"))
        ends.append(value)
    maker.op("output", maker.op("cat", *ends))
    return Model(tuple(maker.ops)).renumber()


def drawn(seed: int, size: int = 40) -> Model:
    """A random graph in modules of a few nodes; equal operators are common, inputs come from anywhere before."""
    rng, maker = random.Random(seed), Maker()
    values = [maker.op("placeholder", name=f"x{i}") for i in range(2)]
    for i in range(size):
        module = f"net.stage{i // 12}.block{i // 4}"
        kind = rng.choice(OPERATORS)
        shape = ("1", str(rng.choice((8, 8, 16))))
        if kind == "linear":
            weight = maker.op("placeholder", name=f"p_{module}.{i}_weight")
            values.append(maker.op(kind, values[-1], weight, module=f"{module}.{i}", shape=shape))
        else:
            inputs = (values[-1],) if kind in ("relu", "softmax") else (values[-1], rng.choice(values))
            values.append(maker.op(kind, *inputs, module=module, shape=shape))
    maker.op("output", values[-1])
    return Model(tuple(maker.ops)).renumber()


def _side(model: Model, content: str) -> Side:
    rows = {op.key: i for i, op in enumerate(model.ops)}
    numbers = lambda texts: np.array([hash(text) & (2**63 - 1) for text in texts], np.uint64)  # noqa: E731
    nodes = Nodes(
        graph=np.zeros(len(rows), np.int64),
        label=numbers((op.op_type, op.shape, op.attrs) for op in model.ops),
        kind=numbers(op.op_type for op in model.ops),
        name=numbers(op.name for op in model.ops),
        call=np.array([bool(op.module) for op in model.ops], np.int64),
        leaf=np.array([op.leaf for op in model.ops]),
        modules=[op.module for op in model.ops],
    )
    uses = [(rows[source], rows[op.key], slot) for op in model.ops for slot, source in enumerate(op.inputs)]
    src, dst, slots = (np.array(column, np.int64) for column in zip(*uses, strict=True))
    return Side(Graphs([0], ["float"], [""], [None], [content]), nodes, Uses(src, dst, slots.astype(np.uint64)))


def matched(base: Model, head: Model) -> dict[str, str]:
    """The key in the base of each matched node, to its key in the head."""
    found = Matching(_side(base, "base"), _side(head, "head")).partner.tolist()
    return {base.ops[b].key: head.ops[h].key for b, h in enumerate(found) if h >= 0}


def truth(base: Model, head: Model) -> dict[str, str]:
    """Nodes of both are themselves."""
    return {op.key: op.key for op in base.ops if any(other.key == op.key for other in head.ops)}
