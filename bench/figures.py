"""One measured figure, and how it is taken beside its peer or its physical limit: in turns, in one run.

The machine's speed and load are in both, so the ratio is what lasts. Times are CPU time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

SIZES = {"B": 1, "KiB": 1 << 10, "MB": 10**6}
Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        area: ingest, link, measure, query, layout, page or store.
        name: What is measured; unique in its area.
        value: The median, in ``unit``.
        unit: Such as ``µs/node`` or ``MB/s``.
        better: Which way is better.
        peer: What it is measured beside: another tool, a plain way, or what the machine can do at most.
        peer_value: The peer's median, in the same unit.
        ratios: Value through peer, each pair taken one right after the other; sizes have one.
    """

    area: str
    name: str
    value: float
    unit: str
    better: Better
    peer: str
    peer_value: float
    ratios: list[float] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether it is counted, not timed: it has no noise."""
        return self.unit in (*SIZES, "pairs")

    @property
    def ratio(self) -> float:
        """The median ratio of value to peer."""
        return statistics.median(self.ratios)

    def to_json(self) -> dict[str, Any]:
        """Returns what a file of figures keeps."""
        return asdict(self)


def cpu(call: Callable[[], object]) -> float:
    """Returns the CPU seconds of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def in_turns(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int = 5
) -> tuple[list[float], list[float]]:
    """Returns what two measurements give in turns, the first of each not counted: it warms up."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    first, second = zip(*pairs, strict=True)
    return list(first), list(second)


def paired(
    area: str,
    name: str,
    unit: str,
    better: Better,
    peer: str,
    measured: tuple[Sequence[float], Sequence[float]],
    convert: Callable[[float], float] = lambda seconds: seconds,
) -> Figure:
    """Returns the figure of two measurements in turns, each converted into the unit."""
    ours, theirs = ([convert(one) for one in side] for side in measured)
    ratios = [one / max(other, 1e-12) for one, other in zip(ours, theirs, strict=True)]
    return Figure(area, name, statistics.median(ours), unit, better, peer, statistics.median(theirs), ratios)


def timed(
    area: str,
    name: str,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    *,
    per: float = 1,
    unit: str = "ms",
    rounds: int = 5,
) -> Figure:
    """Returns the CPU time of a call beside that of its peer: in milliseconds, or in microseconds ``per`` something."""
    measured = in_turns(lambda: cpu(ours), lambda: cpu(theirs), rounds)
    scale = 1e3 if unit == "ms" else 1e6 / per
    return paired(area, name, unit, "lower", peer, measured, lambda seconds: seconds * scale)


def size(area: str, name: str, value: float, peer: str, peer_value: float, unit: str = "KiB") -> Figure:
    """Returns a size beside another, both in bytes: it has no noise."""
    scale = SIZES[unit]
    return Figure(area, name, value / scale, unit, "lower", peer, peer_value / scale, [value / max(peer_value, 1)])


def size_of(path: Path) -> int:
    """Returns the bytes in all files of a directory."""
    return sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())


COLUMNS = ("area", "figure", "value", "unit", "beside", "its value", "ratio", "noise")


def noise(ratios: Sequence[float]) -> float:
    """Returns how far single ratios lie from their median: the median of that, as a share of it."""
    middle = statistics.median(ratios)
    return statistics.median(abs(ratio - middle) for ratio in ratios) / abs(middle) if middle else 0.0


def rows(figures: Iterable[Figure]) -> Iterator[tuple[str, ...]]:
    """Yields a row of text per figure, as COLUMNS names them."""
    for one in figures:
        spread = f"±{noise(one.ratios):.0%}" if len(one.ratios) > 1 else ""
        numbers = shown(one.value), one.unit, one.peer, shown(one.peer_value), shown(one.ratio)
        yield one.area, one.name, *numbers, spread


def shown(value: float) -> str:
    """Returns a number with three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(found: Iterable[Sequence[str]], columns: Sequence[str] = COLUMNS) -> str:
    """Returns rows as a Markdown table, its columns aligned."""
    texts = [tuple(columns), *found]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in texts]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
