"""Tells what got worse between two runs of the suite: ``python -m bench.compare BASE.json HEAD.json``.

Compared are the ratios to the peer, which the machine's speed and load leave alone. A figure is worse (or better) where
its median ratio moved by more than a floor and by more than four times the noise of the two medians; what moved by more
than the floor, but not by more than the noise, is noisy, not the same. What was nothing, such as a count of faults, and
is something now, is worse. A figure that is gone is a regression, too. With a regression the exit code is 3.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import existing, options
from bench.figures import Figure, noise, shown, table

FLOOR = 0.10
"""Less than this is never told: of figures with noise."""
SIZE_FLOOR = 0.02
"""The same, of figures that have none, such as sizes."""
SIGMAS = 4.0
# A normal distribution's median absolute deviation times the first is its standard deviation; the standard error of a
# median is the second times that of the mean, sqrt(pi / 2).
_TO_SIGMA = 1.4826 * 1.2533
BAD = ("worse", "gone")


@dataclass(frozen=True)
class Change:
    """What became of one figure.

    Attributes:
        change: worse, better, same, noisy, new or gone.
        by: How much worse the ratio got, as a share of the base's: 0.5 is half as much again.
        allowed: How much it may move before it counts.
    """

    area: str
    name: str
    change: str
    base: float | None = None
    head: float | None = None
    by: float = 0.0
    allowed: float = 0.0


def error(ratios: list[float]) -> float:
    """Returns the standard error of the median of some ratios, as a share of it; 0 for a single one."""
    return noise(ratios) * _TO_SIGMA / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0


def compared(base: Figure, head: Figure) -> Change:
    """Returns what became of a figure."""
    by = grown(base.ratio, head.ratio) * (1 if head.better == "lower" else -1)
    floor = SIZE_FLOOR if head.exact else FLOOR
    spread = SIGMAS * math.hypot(error(base.ratios), error(head.ratios))
    least = math.log1p(floor)
    if abs(by) <= least:
        change = "same"
    elif abs(by) <= spread:
        change = "noisy"
    else:
        change = "worse" if by > 0 else "better"
    allowed = math.expm1(max(least, spread))
    return Change(head.area, head.name, change, base.ratio, head.ratio, math.expm1(by), allowed)


def grown(before: float, after: float) -> float:
    """Returns the logarithm of how many times as large a ratio is; infinite where only one of the two is nothing."""
    if before > 0 and after > 0:
        return math.log(after / before)
    return math.inf if after > before else -math.inf if after < before else 0.0


def changes(base: list[Figure], head: list[Figure]) -> Iterator[Change]:
    """Yields what became of each figure, what is bad first, then what moved most."""
    old, new = ({(one.area, one.name): one for one in side} for side in (base, head))
    found = [compared(old[key], new[key]) for key in old.keys() & new.keys()]
    found += [Change(*key, "gone", old[key].ratio) for key in old.keys() - new.keys()]
    found += [Change(*key, "new", None, new[key].ratio) for key in new.keys() - old.keys()]
    yield from sorted(found, key=lambda one: (one.change not in BAD, -abs(one.by), one.area, one.name))


def load(path: Path) -> list[Figure]:
    """Returns the figures of a file that the suite wrote.

    Raises:
        SystemExit: It is none, or says that it is of another form.
    """
    try:
        said = json.loads(path.read_text("utf-8"))
        if said["format"] != 1:
            raise ValueError(f"format {said['format']}")
        return [Figure(**one) for one in said["figures"]]
    except (OSError, ValueError, KeyError, TypeError) as reason:
        sys.exit(f"{path} holds no figures of the suite: {reason}")


def main(base: Path, head: Path) -> int:
    """Prints a row per figure; returns the exit code."""
    found = list(changes(load(base), load(head)))
    rows = [
        (one.change, one.area, one.name, *("" if side is None else shown(side) for side in (one.base, one.head)),
         f"{one.by:+.0%}", f"±{one.allowed:.0%}")
        for one in found
    ]  # fmt: skip
    print(table(rows, ("change", "area", "figure", "base ratio", "head ratio", "worse by", "allowed")))
    bad = [one for one in found if one.change in BAD]
    print(f"{len(bad)} of {len(found)} figures got worse" if bad else f"no figure of {len(found)} got worse")
    return 3 if bad else 0


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("base", type=existing, help="a file of figures")
    parser.add_argument("head", type=existing, help="another one")
    arguments = parser.parse_args()
    sys.exit(main(arguments.base, arguments.head))
