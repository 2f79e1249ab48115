"""What ingest costs on MobileNetV2, quantised and lowered to XNNPACK: time a node, share of the compile, size, files.

Run with ``python -m bench.ingest [--small]``. Times are CPU time; compare ratios, not numbers.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from bench.models import ConvBn
from torch import nn

import fxstore
from fxstore.ingest import adapters, provenance
from fxstore.ingest.demo.pipeline import compile_network
from fxstore.ingest.static import static_overlay
from fxstore.link import structure_of
from fxstore.records import RunRecord, Stage

# Expansion, channels, repeats, stride: table 2 of https://arxiv.org/abs/1801.04381
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
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
    for expansion, channels, repeats, stride in BLOCKS[:2] if small else BLOCKS:
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


def main() -> None:
    small = "--small" in sys.argv
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 96, 96),)
    stages: list[Stage] = []
    reading = 0.0

    def take(name: str, source: Any) -> None:
        nonlocal reading
        known = dict(provenance._walked)

        def read() -> Any:
            provenance._walked.clear()  # of this stage's own records, too: a user reads it once
            provenance._walked.update(known)
            return adapters.read(source)

        spent, found = timed(read)
        reading += spent
        stages.append(replace(found.stages[0], name=name))
        count = sum(len(graph.nodes) for graph in stages[-1].graphs)
        print(f"{name}: {count} nodes read in {spent / count * 1e6:.1f} us a node")

    with torch.no_grad():
        network = mobilenet_v2(small)
        before = time.process_time()
        program = compile_network(network, inputs, take)
        compiled = time.process_time() - before - 3 * reading
    nodes = sum(len(graph.nodes) for stage in stages for graph in stage.graphs)
    linking, structure = timed(lambda: structure_of(stages), 1)
    with tempfile.TemporaryDirectory() as folder:
        static, overlay = timed(lambda: static_overlay(structure))
        assert overlay is not None
        record = RunRecord("mv2", tuple(stages), structure, (overlay,))
        committing = report_store(Path(folder), record, program)
        cost = reading + static + committing
        print(f"nodes {nodes} in {len(stages)} stages; linking (apart) {linking / nodes * 1e6:.0f} us a node")
        parts = [f"{part / nodes * 1e6:.1f}" for part in (cost, reading, static, committing)]
        print("live graphs to committed rows: {} us a node (reading {}, static costs {}, committing {})".format(*parts))
        print(f"this machine now: {timed(yardstick)[0] * 1e3:.1f} ms for 100,000 numbers as text into a dict")
        print(f"share of the compile: {cost / compiled:.2%} ({cost:.2f} s of {compiled:.1f} s)")
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
    program.get_etrecord().save(str(folder / "net.etrecord"))
    size = sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())
    with zipfile.ZipFile(folder / "net.etrecord") as archive:
        plain = sum(i.file_size for i in archive.infolist() if not i.filename.endswith(WEIGHTS))
        packed = sum(i.compress_size for i in archive.infolist() if not i.filename.endswith(WEIGHTS))
    print(
        f"store {size / 1024:.0f} KiB; .etrecord without weights {packed / 1024:.0f} KiB stored, {plain / 1024:.0f} KiB"
    )
    print(f"store / .etrecord without weights: {size / packed:.2f}")
    parts = {name: (folder / "store" / name).rglob("*") for name in ("empty", "graphs", "structures", "runs")}
    sizes = {name: sum(path.stat().st_size for path in found if path.is_file()) for name, found in parts.items()}
    files = sum(path.is_file() for path in (folder / "store").rglob("*"))
    print(f"{files} files; " + ", ".join(f"{name} {size / 1024:.1f} KiB" for name, size in sizes.items()))
    return committing


def report_files(path: Path) -> None:
    from executorch.devtools import parse_etrecord

    def theirs() -> None:
        with quiet():
            parse_etrecord(str(path))

    pairs = [(timed(lambda: adapters.read(path), 1)[0], timed(theirs, 1)[0]) for _ in range(6)][1:]
    ratios = sorted(slow / fast for fast, slow in pairs)
    fast, slow = (min(side) for side in zip(*pairs, strict=True))
    print(f".etrecord: read {fast:.3f} s, parse_etrecord {slow:.2f} s: {slow / fast:.1f} times faster")
    print(f"in pairs, one after the other: {', '.join(f'{ratio:.1f}' for ratio in ratios)}")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


if __name__ == "__main__":
    main()
