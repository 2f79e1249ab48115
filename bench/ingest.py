"""What ingest costs on MobileNetV2, quantised and lowered to XNNPACK: time a node, share of the compile, size, files.

Run with ``python -m bench.ingest [--small]``. Times are CPU time; compare ratios, not numbers.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

import fxstore
from bench.arguments import options
from bench.figures import Figure, cpu, in_turns, paired, size, size_of
from bench.figures import timed as timed_beside
from bench.models import ConvBn
from fxstore.ingest import adapters
from fxstore.ingest.demo.pipeline import compile_network
from fxstore.ingest.export import live_nodes
from fxstore.ingest.measure.static import static_overlay
from fxstore.link import structure_of
from fxstore.records import RunRecord, Stage

# Expansion, channels, repeats, stride: table 2 of https://arxiv.org/abs/1801.04381
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
# Each stage is read so often.
TIMES = 3
WEIGHTS = ("_state_dict", "_constants", "_example_inputs")


class Inverted(nn.Module):
    """An inverted residual."""

    def __init__(self, cin: int, cout: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = cin * expansion
        first = [ConvBn(cin, hidden, 1)] if expansion > 1 else []
        self.body = nn.Sequential(*first, ConvBn(hidden, hidden, 3, stride, hidden), ConvBn(hidden, cout, 1, act=False))
        self.residual = stride == 1 and cin == cout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.residual else self.body(x)


def mobilenet_v2(small: bool) -> nn.Module:
    cin, layers = 32, [ConvBn(3, 32, stride=2)]
    for expansion, channels, repeats, stride in BLOCKS[:1] if small else BLOCKS:
        for i in range(repeats):
            layers.append(Inverted(cin, channels, stride if i == 0 else 1, expansion))
            cin = channels
    head = [ConvBn(cin, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers, *head).eval()


def timed(call: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(times):
        begin = time.process_time()
        result = call()
        best = min(best, time.process_time() - begin)
    return best, result


@dataclass(frozen=True)
class Ingested:
    """What one compile cost to take in, in CPU seconds, and what there is to measure further."""

    record: RunRecord
    program: Any
    nodes: int
    compiled: float
    reading: list[float]
    linking: float
    static: float


def ingested(small: bool) -> Ingested:
    """Compiles MobileNetV2, or its first block, and reads and links all stages."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 96, 96),)
    stages: list[Stage] = []
    reading = [0.0] * TIMES

    def take(name: str, source: Any) -> None:
        known = dict(live_nodes._walked)

        def read() -> Any:
            live_nodes._walked.clear()  # of this stage's own records, too: a user reads it once
            live_nodes._walked.update(known)
            return adapters.read(source)

        spent = [timed(read, 1) for _ in range(TIMES)]
        reading[:] = [before + one for before, (one, _) in zip(reading, spent, strict=True)]
        found = spent[0][1]
        stages.append(replace(found.stages[0], name=name))
        count = sum(len(graph.nodes) for graph in stages[-1].graphs)
        print(f"{name}: {count} nodes read in {min(spent)[0] / count * 1e6:.1f} us a node")

    with torch.no_grad():
        network = mobilenet_v2(small)
        before = time.process_time()
        program = compile_network(network, inputs, take)
        compiled = time.process_time() - before - sum(reading)
    nodes = sum(len(graph.nodes) for stage in stages for graph in stage.graphs)
    linking, structure = timed(lambda: structure_of(stages), 1)
    static, overlay = timed(lambda: static_overlay(structure))
    assert overlay is not None
    record = RunRecord("mv2", tuple(stages), structure, (overlay,))
    return Ingested(record, program, nodes, compiled, reading, linking, static)


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of ingest."""
    found = ingested(quick)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs = [
            reading + found.static + committed(folder / f"store{i}", found.record)
            for i, reading in enumerate(found.reading)
        ]
        both = costs, [found.compiled] * len(costs)
        yield paired("ingest", "live graphs to rows", "s", "lower", "the compile itself", both)
        path = saved(folder, found.program)
        yield timed_beside("ingest", ".etrecord read", lambda: adapters.read(path), "parse_etrecord", parsed(path))
        packed = archived(path)[0]
        yield size("ingest", "store of all stages", size_of(folder / "store0"), ".etrecord, no weights", packed)


def main(small: bool) -> None:
    found = ingested(small)
    nodes = found.nodes
    with tempfile.TemporaryDirectory() as folder:
        committing = report_store(Path(folder), found.record, found.program)
        reading = min(found.reading)
        cost = reading + found.static + committing
        print(f"nodes {nodes}; linking (apart) {found.linking / nodes * 1e6:.0f} us a node")
        parts = [f"{part / nodes * 1e6:.1f}" for part in (cost, reading, found.static, committing)]
        print("live graphs to committed rows: {} us a node (reading {}, static costs {}, committing {})".format(*parts))
        print(f"this machine now: {timed(yardstick)[0] * 1e3:.1f} ms for 100,000 numbers as text into a dict")
        print(f"share of the compile: {cost / found.compiled:.2%} ({cost:.2f} s of {found.compiled:.1f} s)")
        report_files(Path(folder) / "net.etrecord")


def yardstick() -> dict[int, str]:
    """What a plain loop takes: machines and their load differ by more than versions of this do."""
    found: dict[int, str] = {}
    for number in range(100_000):
        found[number % 97] = str(number)
    return found


def committed(path: Path, record: RunRecord) -> float:
    with fxstore.connect(path) as store:
        return timed(lambda: store.commit(record), 1)[0]


def report_store(folder: Path, record: RunRecord, program: Any) -> float:
    committing = min(committed(folder / name, record) for name in ("first", "second", "store"))
    packed, plain = archived(saved(folder, program))
    used = size_of(folder / "store")
    print(
        f"store {used / 1024:.0f} KiB; .etrecord without weights {packed / 1024:.0f} KiB stored, {plain / 1024:.0f} KiB"
    )
    print(f"store / .etrecord without weights: {used / packed:.2f}")
    parts = {name: (folder / "store" / name).rglob("*") for name in ("empty", "graphs", "structures", "runs")}
    sizes = {name: sum(path.stat().st_size for path in found if path.is_file()) for name, found in parts.items()}
    files = sum(path.is_file() for path in (folder / "store").rglob("*"))
    print(f"{files} files; " + ", ".join(f"{name} {size / 1024:.1f} KiB" for name, size in sizes.items()))
    return committing


def saved(folder: Path, program: Any) -> Path:
    program.get_etrecord().save(str(folder / "net.etrecord"))
    return folder / "net.etrecord"


def archived(path: Path) -> tuple[int, int]:
    """Returns the bytes of an .etrecord without its weights, as stored and unpacked."""
    with zipfile.ZipFile(path) as archive:
        kept = [entry for entry in archive.infolist() if not entry.filename.endswith(WEIGHTS)]
    return sum(entry.compress_size for entry in kept), sum(entry.file_size for entry in kept)


def parsed(path: Path) -> Callable[[], None]:
    from executorch.devtools import parse_etrecord

    def theirs() -> None:
        with quiet():
            parse_etrecord(str(path))

    return theirs


def report_files(path: Path) -> None:
    fast, slow = in_turns(lambda: cpu(lambda: adapters.read(path)), lambda: cpu(parsed(path)))
    print(
        f".etrecord: read {min(fast):.3f} s, parse_etrecord {min(slow):.2f} s: {min(slow) / min(fast):.1f} times faster"
    )
    ratios = sorted(theirs / ours for ours, theirs in zip(fast, slow, strict=True))
    print(f"in pairs, one after the other: {', '.join(f'{ratio:.1f}' for ratio in ratios)}")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("--small", action="store_true", help="a network of three blocks")
    main(parser.parse_args().small)
