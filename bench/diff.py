"""Times run_diff of two runs of 10,000 nodes: five stages of a network of 2,000 nodes each.

Every stage of the head was traced again in another order of names, and edited: one layer less, one operator more, one
constant changed. Times are CPU seconds of the whole process, best of five, warm; see README.md for figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.arguments import options
from fxstore import connect
from fxstore.ingest.build import GraphBuilder, Place, Value
from fxstore.link import structure_of
from fxstore.records import Graph, RunRecord, Stage

_LAYERS = 222
_STAGES = ("float", "prepared", "quantized", "edge", "lowered")


class _Network:
    """Residual blocks of two linear layers: nine nodes each."""

    def __init__(self, prefix: str, edited: bool) -> None:
        self.graph = GraphBuilder("forward")
        self.names: dict[str, int] = {}
        self.prefix = prefix
        self.edited = edited

    def node(self, kind: str, inputs: tuple[int, ...], module: str, **attrs: object) -> int:
        count = self.names[kind] = self.names.get(kind, -1) + 1
        name = f"{kind}_{count}" if count else kind
        place = Place(module_path=module, module_call=1)
        value = (Value("float32", ("1", "64")),)
        position = self.graph.node(
            name, "call_function", f"aten.{kind}.default", "op", values=value, place=place, attrs=attrs
        )
        for i, source in enumerate(inputs):
            self.graph.use(source, 0, position, str(i))
        return position

    def weight(self, name: str) -> int:
        name = "p_" + name.replace(".", "_")
        return self.graph.node(name, "placeholder", name, "parameter", values=(Value("float32", ("64", "64")),))

    def layer(self, number: int, value: int) -> int:
        module = f"{self.prefix}.layers.{number}"
        up, down = self.weight(f"{module}.up"), self.weight(f"{module}.down")
        hidden = self.node("linear", (value, up), f"{module}.up")
        active = self.node("relu", (hidden,), f"{module}.act")
        scaled = self.node("mul", (active,), f"{module}.act", other=2.0 if self.edited and number == 150 else 1.0)
        back = self.node("linear", (scaled, down), f"{module}.down")
        added = self.node("add", (value, back), module)
        if self.edited and number == 50:
            added = self.node("gelu", (added,), module)
        return self.node("relu", (self.node("layer_norm", (added,), module),), module)

    def build(self) -> Graph:
        value = self.graph.node("x", "placeholder", "x", "input", values=(Value("float32", ("1", "64")),))
        for number in range(_LAYERS):
            if not (self.edited and number == 100):
                value = self.layer(number, value)
        output = self.graph.node("output", "output", "output", "output")
        self.graph.use(value, 0, output, "0")
        return self.graph.finish()


def _run(name: str, prefix: str = "model", edited: bool = False) -> RunRecord:
    stages = tuple(Stage(stage, (_Network(prefix, edited).build(),)) for stage in _STAGES)
    return RunRecord(name, stages, structure_of(stages))


def _cpu(ask: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        ask()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    with connect(":memory:") as store:
        for record in (_run("base"), _run("edited", edited=True), _run("renamed", "net", edited=True)):
            store.commit(record)
        for head in ("base", "edited", "renamed"):
            rows = store.sql("SELECT change, count(*) FROM run_diff('base', ?) GROUP BY change ORDER BY change", [head])
            took = _cpu(lambda head=head: store.run_diff("base", head).arrow())
            print(f"run_diff base {head:8} {1000 * took:6.0f} ms  {dict(rows.fetchall())}")


if __name__ == "__main__":
    options(__file__, __doc__).parse_args()
    main()
