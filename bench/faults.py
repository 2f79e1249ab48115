"""One fault at a time, at every place of four real models: ``python -m bench.faults [MODEL…] [--every N]``.

The models of :mod:`bench.numbers`, float and as XNNPACK's quantiser leaves them. A fault is put into one operator of a
copy (a NaN, a wrong scale, its elements in another layout), into one weight, or into one scale of a (de)quantize; both
are measured, and ``first_bad`` has to name that operator and nothing else, at a threshold of 0: any other bit is bad.
A fault that changes no bit of what its operator gives is none, and is counted apart. ``--every N`` tries one in N of
them, drawn at random, the same ones each time.
"""

from __future__ import annotations

import copy
import operator
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch import Tensor, fx  # noqa: E402

import fxstore  # noqa: E402
from bench.arguments import one_of, options, positive  # noqa: E402
from bench.numbers import MODELS  # noqa: E402
from bench.wrong_values import disturbed, faulty_kernel, one_nan, transposed, wrong_scale  # noqa: E402

METRIC = "max_abs"
Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Fault:
    """One fault and the operator that must be named for it."""

    kind: str
    node: str
    put: Callable[[fx.GraphModule], None]


@dataclass
class Tried:
    """What became of the faults of one model.

    Attributes:
        named: How often each kind was named first, and alone.
        missed: Kind, node and what was named instead.
        none: How many faults changed nothing.
    """

    named: dict[str, int] = field(default_factory=dict)
    missed: list[tuple[str, str, list[str]]] = field(default_factory=list)
    none: int = 0


def faults_of(module: fx.GraphModule, values: dict[str, Tensor]) -> Iterator[Fault]:
    """Yields every fault; ``values`` are what the nodes give."""
    for node in module.graph.nodes:
        value = values.get(node.name)
        if value is None:
            continue
        if (reader := _reader(node, value)) is not None:
            yield Fault("weight", reader.name, _changed_weight(node.name))
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if _scale(node) is not None:
            yield Fault("scale of a (de)quantize", node.name, _changed_scale(node.name))
        for change in (one_nan, wrong_scale) if value.is_floating_point() else ():
            yield Fault(change.__name__, node.name, _changed_result(node.name, change))
        if value.dim() > 1:
            yield Fault("transposed", node.name, _changed_result(node.name, transposed))


def _reader(node: fx.Node, value: Tensor) -> fx.Node | None:
    """Returns the one operator that a weight goes into."""
    if node.op != "get_attr" or not value.is_floating_point():
        return None
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].op == "call_function" else None


def _scale(node: fx.Node) -> float | None:
    is_quantise = node.op == "call_function" and "quantize_per_tensor" in node.name
    return node.args[1] if is_quantise and isinstance(node.args[1], float) else None


def what_it_gives(module: fx.GraphModule, name: str, value: Tensor) -> Tensor:
    """Returns what a value of a node stands for: codes are numbers by the scale that they were made with."""
    node = _node(module, name)
    scale = _scale(node)
    if scale is None or value.is_floating_point():
        return value
    return (value.double() - node.args[2]) * scale  # type: ignore[operator]


def _node(module: fx.GraphModule, name: str) -> fx.Node:
    return next(node for node in module.graph.nodes if node.name == name)


def _has_scale(node: fx.Node) -> bool:
    return "quantize_per_tensor" in node.name and isinstance(node.args[1], float)


def _stands_for(node: fx.Node, value: Tensor) -> Tensor:
    """Returns what a (de)quantize gives, codes less their zero point: where all of it is 0, no scale changes it."""
    return value if value.is_floating_point() else value.int() - node.args[2]  # type: ignore[operator]


def _changed_weight(name: str) -> Callable[[fx.GraphModule], None]:
    def put(module: fx.GraphModule) -> None:
        owner, _, attribute = str(_node(module, name).target).rpartition(".")
        with torch.no_grad():
            weight = getattr(module.get_submodule(owner), attribute)
            weight.copy_(disturbed(weight))

    return put


def _changed_scale(name: str) -> Callable[[fx.GraphModule], None]:
    def put(module: fx.GraphModule) -> None:
        node = _node(module, name)
        scale = _scale(node)
        assert scale is not None
        node.update_arg(1, scale * 1.5)

    return put


def _changed_result(name: str, change: Change) -> Callable[[fx.GraphModule], None]:
    """The node gives a spoilt value by way of the operator itself: no node is added."""

    def put(module: fx.GraphModule) -> None:
        node = _node(module, name)
        node.target = faulty_kernel(node.target, change)

    return put


def live_module(name: str, quantise: bool) -> tuple[fx.GraphModule, tuple[Any, ...]]:
    """Returns a model of the table as a graph module, and an input."""
    torch.manual_seed(0)
    network, inputs = MODELS[name]()
    program = torch.export.export(network, inputs[0])
    if not quantise:
        return program.module(), inputs[0]
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from fxstore.ingest.demo.pipeline import _quantisation

    prepared = prepare_pt2e(program.module(), XNNPACKQuantizer().set_global(_quantisation()))
    with torch.no_grad():
        prepared(*inputs[0])
    return convert_pt2e(prepared), inputs[0]


def values_of(module: fx.GraphModule, inputs: Sequence[Any]) -> dict[str, Tensor]:
    """Returns what each node gives; of several outputs the first."""
    found: dict[str, Tensor] = {}

    class Kept(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            result = super().run_node(n)
            first = result[0] if isinstance(result, (tuple, list)) and result else result
            if isinstance(first, Tensor):
                found[n.name] = first.detach().clone()
            return result

    with torch.no_grad():
        Kept(copy.deepcopy(module)).run(*inputs)
    return found


def trial(name: str, quantise: bool, every: int = 1) -> Tried:
    """Puts every fault into a model, one at a time."""
    module, inputs = live_module(name, quantise)
    values, tried = values_of(module, inputs), Tried()
    assert bad_nodes(module, copy.deepcopy(module), inputs) == []
    faults = list(faults_of(module, values))
    for fault in random.Random(0).sample(faults, -(-len(faults) // every)):
        faulty = copy.deepcopy(module)
        fault.put(faulty)
        right = what_it_gives(module, fault.node, values[fault.node])
        if torch.equal(right, what_it_gives(faulty, fault.node, values_of(faulty, inputs)[fault.node])):
            tried.none += 1
            continue
        found = bad_nodes(module, faulty, inputs)
        if found == [fault.node]:
            tried.named[fault.kind] = tried.named.get(fault.kind, 0) + 1
        else:
            tried.missed.append((fault.kind, fault.node, found[:4]))
    return tried


def bad_nodes(right: fx.GraphModule, faulty: fx.GraphModule, inputs: Sequence[Any]) -> list[str]:
    """Returns the nodes that ``first_bad`` names."""
    with fxstore.connect(":memory:") as store:
        with store.record("faults", strict=True) as rec:
            rec.stage("right", right)
            rec.stage("faulty", faulty)
            rec.measure(inputs, reference="right", metrics=[METRIC], statistics=False)
        return [row["name"] for row in store.first_bad(METRIC, 0.0).arrow().to_pylist()]


def main(names: Sequence[str], every: int) -> None:
    for name in names or MODELS:
        for quantise in (False, True):
            tried = trial(name, quantise, every)
            named = ", ".join(f"{count} {kind}" for kind, count in sorted(tried.named.items()))
            form = "quantised" if quantise else "float"
            total = sum(tried.named.values())
            about = f"{total} of {total + len(tried.missed)} named first: {named}; {tried.none} changed nothing"
            print(f"{name} {form}: {about}", flush=True)
            for missed in tried.missed:
                print("  missed:", *missed, flush=True)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=one_of(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--every", metavar="N", type=positive, default=1, help="one fault in N only")
    given = parser.parse_args()
    main(given.models, given.every)
