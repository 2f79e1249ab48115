"""What measuring costs: ``python -m bench.measure time|memory``.

``time``: CPU time of ``measure`` (two stages, default metrics) against the plain sum of running both modules.
``memory``: peak memory of the process on a chain with 4 GB of intermediates.
"""

from __future__ import annotations

import copy
import resource
import sys
import warnings
from collections.abc import Iterator

import torch
from bench.figures import Figure, cpu, in_turns, paired
from torch import nn

import fxstore

warnings.filterwarnings("ignore")


class Chain(nn.Module):
    """Pointwise operators one after another on one large tensor."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.length):
            x = x * 1.01
        return x


def measured(program: torch.export.ExportedProgram, x: torch.Tensor, statistics: bool) -> float:
    with fxstore.connect(":memory:") as store, store.record("bench", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", disturbed(program))
        return cpu(lambda: rec.measure((x,), statistics=statistics))


def disturbed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Returns the decomposed program with other weights: of equal values there would be little to compute."""
    other = copy.deepcopy(program).run_decompositions({})
    with torch.no_grad():
        for weight in other.state_dict.values():
            weight.mul_(1.01)
    return other


def times() -> None:
    """Prints the ratios for a light and a heavier stack."""
    for width in (64, 256):
        time_of(width)


def time_of(width: int) -> None:
    """Prints the ratio for a stack of convolutions of that width."""
    for one in of_width(width, 3):
        print(f"{one.name}: both runs {one.peer_value:.0f} ms, measure {one.value:.0f} ms, ratio {one.ratio:.2f}")


def of_width(width: int, rounds: int) -> Iterator[Figure]:
    """Yields the ratio without and with statistics."""
    convolutions = [layer for _ in range(8) for layer in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU())]
    x = torch.randn(1, width, 32, 32)
    program = torch.export.export(nn.Sequential(*convolutions).eval(), (x,))
    module, core = program.module(), program.run_decompositions({}).module()

    def plain() -> float:
        with torch.no_grad():
            return cpu(lambda: (module(x), core(x)))

    for statistics in (False, True):
        both = in_turns(lambda s=statistics: measured(program, x, s), plain, rounds)  # type: ignore[misc]
        about = f"{width} channels{', statistics' if statistics else ''}"
        yield paired("measure", about, "ms", "lower", "running both stages", both, lambda seconds: 1e3 * seconds)


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of measuring."""
    torch.set_num_threads(1)  # threads that wait for each other burn CPU time on a busy machine
    for width in (64,) if quick else (64, 256):
        yield from of_width(width, 5)


def memory() -> None:
    x = torch.randn(1 << 23)
    program = torch.export.export(Chain(128), (x,))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    took = measured(program, x, statistics=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"4 GB of intermediates: before {before} MB, peak {peak} MB, {took:.0f} s of CPU")


if __name__ == "__main__":
    {"time": times, "memory": memory}[sys.argv[1]]()
