"""What measuring costs: ``python -m bench.measure time|memory``.

``time``: CPU time of ``measure`` (two stages, default metrics) against the plain sum of running both modules: stacks of
eight convolutions, and two transformers of two layers and MobileNetV2 against their quantised forms.
``memory``: peak memory of the process on a chain with 4 GB of intermediates.
"""

from __future__ import annotations

import copy
import resource
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import fxstore  # noqa: E402
from bench.arguments import one_of, options  # noqa: E402
from bench.figures import Figure, cpu, in_turns, paired  # noqa: E402


@dataclass(frozen=True)
class Case:
    """Two stages that are measured, the same as modules that are run, and the samples."""

    name: str
    stages: dict[str, Any]
    modules: Sequence[Callable[..., Any]]
    samples: Sequence[tuple[Any, ...]]

    @property
    def nodes(self) -> int:
        """Nodes of both stages."""
        return sum(len(stage.graph.nodes) for stage in self.stages.values())

    def plain(self) -> float:
        """Returns the CPU seconds of running both."""
        with torch.no_grad():
            return cpu(lambda: [module(*sample) for sample in self.samples for module in self.modules])

    def measured(self, statistics: bool) -> float:
        """Returns the CPU seconds of measuring one against the other."""
        with fxstore.connect(":memory:") as store, store.record("bench", strict=True) as rec:
            for name, source in self.stages.items():
                rec.stage(name, source)
            return cpu(lambda: rec.measure(list(self.samples), statistics=statistics))


class Chain(nn.Module):
    """Pointwise operators one after another on one large tensor."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.length):
            x = x * 1.01
        return x


def convolutions(width: int) -> Case:
    """Returns a stack of convolutions of that width, on 32 x 32 images."""
    layers = [layer for _ in range(8) for layer in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU())]
    return against_core(f"{width} channels", nn.Sequential(*layers).eval(), torch.randn(1, width, 32, 32))


def against_core(name: str, network: nn.Module, x: torch.Tensor) -> Case:
    """Returns a network beside its decomposed form with other weights: of equal values there is little to compute."""
    program = torch.export.export(network, (x,))
    core = copy.deepcopy(program).run_decompositions({})
    with torch.no_grad():
        for weight in core.state_dict.values():
            weight.mul_(1.01)
    return Case(name, {"float": program, "core": core}, [program.module(), core.module()], [(x,)])


def against_quantised(name: str, network: nn.Module, sample: tuple[Any, ...], *samples: tuple[Any, ...]) -> Case:
    """Returns a network beside its quantised form, calibrated with ``sample``."""
    from fxstore.ingest.demo.pipeline import quantised

    program = torch.export.export(network, sample)
    stages = {"float": program, "quantized": quantised(program, sample)}
    return Case(name, stages, [program.module(), stages["quantized"]], samples)


def transformer() -> Case:
    """Returns a BERT of two layers beside its quantised form: many small operators, three samples."""
    from bench.numbers import bert

    network, samples = bert()
    return against_quantised("transformer", network, samples[0], *[tuple(one.flip(-1) for one in samples[0])] * 3)


def mobilenet() -> Case:
    """Returns MobileNetV2 beside its quantised form, on an image of its usual size."""
    from bench.numbers import mobilenet as network

    return against_quantised("MobileNetV2", network()[0], *[(torch.randn(1, 3, 224, 224),) for _ in range(2)])


def wide_bert() -> Case:
    """Returns two layers as wide as those of BERT's base model beside their quantised form, on 128 tokens."""
    from transformers import BertConfig, BertModel

    from bench.numbers import First

    network = First(BertModel(BertConfig(num_hidden_layers=2), add_pooling_layer=False)).eval()
    return against_quantised("BERT, 768 wide", network, *[(torch.randint(0, 1000, (1, 128)),) for _ in range(2)])


def cases(quick: bool) -> Iterator[Case]:
    """Yields what is measured."""
    yield convolutions(64)
    if not quick:
        yield convolutions(256)
        yield transformer()
        yield wide_bert()
        yield mobilenet()


def of_case(case: Case, rounds: int) -> Iterator[Figure]:
    """Yields the ratio without and with statistics."""
    for statistics in (False, True):
        both = in_turns(lambda s=statistics: case.measured(s), case.plain, rounds)  # type: ignore[misc]
        about = f"{case.name}{', statistics' if statistics else ''}"
        yield paired("measure", about, "ms", "lower", "running both stages", both, lambda seconds: 1e3 * seconds)


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of measuring."""
    torch.set_num_threads(1)  # threads that wait for each other burn CPU time on a busy machine
    for case in cases(quick):
        yield from of_case(case, 5)


def times() -> None:
    """Prints the ratios."""
    torch.set_num_threads(1)
    for case in cases(False):
        for one in of_case(case, 7):
            each = (one.value - one.peer_value) * 1e3 / case.nodes / len(case.samples)
            print(
                f"{one.name}: both runs {one.peer_value:.0f} ms, measure {one.value:.0f} ms, ratio {one.ratio:.2f}; "
                f"{each:.0f} us more per node and sample",
                flush=True,
            )


def memory() -> None:
    """Prints the peak."""
    case = against_core("chain", Chain(128), torch.randn(1 << 23))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    took = case.measured(statistics=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"4 GB of intermediates: before {before} MB, peak {peak} MB, {took:.0f} s of CPU")


ASKED = {"time": times, "memory": memory}

if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("what", type=one_of(ASKED), help="time or memory")
    ASKED[parser.parse_args().what]()
