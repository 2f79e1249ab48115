"""One fault at a time, at every place of four real models: ``python -m bench.faults [MODEL…] [--every N]``.

The models of :mod:`bench.numbers`, float and as XNNPACK's quantiser leaves them. A fault is put into one operator of a
copy (a NaN, a wrong scale, its elements in another layout), into one weight, or into one scale of a (de)quantize; both
are measured, and ``first_bad`` has to name that operator and nothing else. A fault that changes no value is none.
``--every N`` tries every Nth fault only.
"""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from bench.arguments import one_of, options, positive  # noqa: E402
from bench.numbers import MODELS  # noqa: E402
from bench.wrong_values import disturbed, faulty_kernel, one_nan, transposed, wrong_scale  # noqa: E402
from torch import Tensor, fx  # noqa: E402

import fxstore  # noqa: E402

METRIC = "mismatch(1e-6,1e-5)"
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
    """

    named: dict[str, int] = field(default_factory=dict)
    missed: list[tuple[str, str, list[str]]] = field(default_factory=list)


def faults_of(module: fx.GraphModule, values: dict[str, Tensor]) -> Iterator[Fault]:
    """Yields every fault that changes a value; ``values`` are what the nodes give."""
    for node in module.graph.nodes:
        value = values.get(node.name)
        if (reader := _reader(node, value)) is not None:
            yield Fault("weight", reader.name, _changed_weight(node.name))
        if node.op != "call_function" or node.target is operator.getitem or value is None:
            continue
        if _has_scale(node) and _stands_for(node, value).any():
            yield Fault("scale of a (de)quantize", node.name, _changed_scale(node.name))
        for change in (one_nan, wrong_scale) if value.is_floating_point() else ():
            if not torch.equal(change(value), value):
                yield Fault(change.__name__, node.name, _changed_result(node.name, change))
        if value.dim() > 1 and not torch.equal(transposed(value), value):
            yield Fault("transposed", node.name, _changed_result(node.name, transposed))


def _reader(node: fx.Node, value: Tensor | None) -> fx.Node | None:
    """Returns the one operator that a weight goes into, where a disturbance of it is one."""
    if node.op != "get_attr" or value is None or not value.is_floating_point() or torch.equal(disturbed(value), value):
        return None
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].op == "call_function" else None


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
        node.update_arg(1, node.args[1] * 1.5)

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
    tried = Tried()
    faults = list(faults_of(module, values_of(module, inputs)))[::every]
    for fault in faults:
        faulty = copy.deepcopy(module)
        fault.put(faulty)
        with fxstore.connect(":memory:") as store:
            with store.record("faults", strict=True) as rec:
                rec.stage("right", module)
                rec.stage("faulty", faulty)
                rec.measure(inputs, reference="right", metrics=[METRIC], statistics=False)
            found = [row["name"] for row in store.first_bad(METRIC, 0.0).arrow().to_pylist()]
        if found == [fault.node]:
            tried.named[fault.kind] = tried.named.get(fault.kind, 0) + 1
        else:
            tried.missed.append((fault.kind, fault.node, found[:4]))
    return tried


def main(names: Sequence[str], every: int) -> None:
    for name in names or MODELS:
        for quantise in (False, True):
            tried = trial(name, quantise, every)
            named = ", ".join(f"{count} {kind}" for kind, count in sorted(tried.named.items()))
            form = "quantised" if quantise else "float"
            total = sum(tried.named.values())
            print(f"{name} {form}: {total} of {total + len(tried.missed)} named first: {named}", flush=True)
            for missed in tried.missed:
                print("  missed:", *missed, flush=True)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=one_of(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--every", metavar="N", type=positive, default=1, help="every Nth fault only")
    given = parser.parse_args()
    main(given.models, given.every)
