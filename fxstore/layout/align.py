"""Panes side by side: the same computation at the same height in each.

A key, such as a sync set, has a height in each pane. The heaviest chain of keys that have one order in all panes is
brought to equal heights, by moving what is below down; what breaks that order stays where it is::

    left  right         left  right
     a     a             a ─── a        q is new on the right: b and all below it
     b     q      ->           q        move down on the left until b meets b
     c     b             b ─── b
           c             c ─── c

The chain is a heaviest increasing subsequence, found with a Fenwick tree in O(k log k) for k shared keys (Fredman,
Discrete Math. 1975). A stretch only ever moves things down, and lower ones at least as far, so a drawing that is
stretched obeys all the laws that it obeyed before. The page's script does the same (``leveling.js``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fxstore.layout.model import Doubles, Drawing, Floats, Longs


@dataclass(frozen=True)
class Stretch:
    """How far what stands at each height moves down: more, or as far, the lower it stands.

    Attributes:
        at: Heights, ascending.
        add: What stands at ``at[i]`` or lower, but above ``at[i + 1]``, moves down by ``add[i]`` pixels.
    """

    at: Doubles
    add: Doubles

    def moves(self, y: npt.NDArray[np.floating]) -> Doubles:
        """Returns how far down what stands at ``y`` moves."""
        found = np.concatenate([[0.0], self.add])[np.searchsorted(self.at, y, side="right")]
        return np.asarray(found, np.float64)


def align(panes: Sequence[Mapping[int, float]], weights: Mapping[int, int] | None = None) -> list[Stretch]:
    """Returns a stretch for each pane that brings shared keys to one height, as many as there can be.

    Panes are taken one after the other. The heaviest chain of keys that stand one under the other both in the new pane
    and in those before it is brought to equal heights; what breaks that order stays where it is.

    Args:
        panes: Height of each key in each pane; a key is a computation, such as a set of synced nodes.
        weights: What each key counts, 1 where nothing is said.
    """
    weights = weights or {}
    line: dict[int, float] = {}
    places: list[tuple[Doubles, Doubles]] = []
    for pane in panes:
        own = np.unique(np.array(list(pane.values()), np.float64))
        moved = own.copy()
        shared = sorted(key for key in pane if key in line)
        chain = _chain([(line[key], pane[key]) for key in shared], [weights.get(key, 1) for key in shared])
        down_line, down_pane = _meeting(chain)
        places = [(at, y + down_line.moves(y)) for at, y in places]
        moved += down_pane.moves(moved)
        places.append((own, moved))
        heights = np.array(list(line.values()), np.float64)
        line = dict(zip(line, (heights + down_line.moves(heights)).tolist(), strict=True))
        for key, y in pane.items():
            line.setdefault(key, y + float(down_pane.moves(np.array([y]))[0]))
    return [Stretch(at, y - at) for at, y in places]


def _meeting(chain: list[tuple[float, float]]) -> tuple[Stretch, Stretch]:
    """Returns the stretches after which both heights of each pair are equal."""
    down = [0.0, 0.0]
    adds = []
    for pair in chain:
        meet = max(height + add for height, add in zip(pair, down, strict=True))
        down = [meet - height for height in pair]
        adds.append(down)
    at, add = np.array(chain, np.float64).reshape(-1, 2), np.array(adds, np.float64).reshape(-1, 2)
    return Stretch(at[:, 0], add[:, 0]), Stretch(at[:, 1], add[:, 1])


def _chain(pairs: Sequence[tuple[float, float]], weights: Sequence[int]) -> list[tuple[float, float]]:
    """Returns the chain of pairs, both heights growing, whose given pairs weigh most together.

    It is the heaviest increasing subsequence; ``best`` is a Fenwick tree of the heaviest chain that ends at or above
    each second height.
    """
    distinct, which = np.unique(np.array(pairs, np.float64).reshape(-1, 2), axis=0, return_inverse=True)
    counts = np.bincount(which.reshape(-1), weights, len(distinct)).astype(np.int64)
    heights: list[float] = sorted({y for _, y in distinct.tolist()})
    best: list[tuple[int, int]] = [(0, -1)] * (len(heights) + 1)
    before, weight = [-1] * len(distinct), [0] * len(distinct)
    # Of pairs with one first height the lowest comes first, so that no two of them are in one chain.
    for i in np.lexsort((-distinct[:, 1], distinct[:, 0])).tolist():
        place = bisect_left(heights, float(distinct[i, 1]))
        k, found = place, (0, -1)
        while k > 0:
            found = max(found, best[k], key=lambda entry: entry[0])
            k &= k - 1
        weight[i], before[i] = found[0] + int(counts[i]), found[1]
        k = place + 1
        while k <= len(heights):
            if weight[i] > best[k][0]:
                best[k] = weight[i], i
            k += k & -k
    out = []
    at = max(range(len(weight)), key=lambda i: (weight[i], -i), default=-1)
    while at >= 0:
        out.append((float(distinct[at, 0]), float(distinct[at, 1])))
        at = before[at]
    return out[::-1]


def stretched(drawing: Drawing, stretch: Stretch, ends: Longs) -> Drawing:
    """Returns a drawing with everything moved down; it breaks no law that it obeyed before.

    Args:
        drawing: The drawing.
        stretch: By the heights of its nodes' centres.
        ends: (E, 2) source and target of each edge.
    """
    y = drawing.y + stretch.moves(drawing.y)
    points = drawing.points.astype(np.float64)
    down = stretch.moves(points[:, 1])
    drawn = np.flatnonzero(np.diff(drawing.offsets) > 0)
    for place, node in ((drawing.offsets[drawn], ends[drawn, 0]), (drawing.offsets[drawn + 1] - 1, ends[drawn, 1])):
        down[place] = y[node] - drawing.y[node]
    points[:, 1] += down
    boxes = drawing.block_boxes.astype(np.float64)
    foot = boxes[:, 1] + boxes[:, 3]
    boxes[:, 1] += stretch.moves(boxes[:, 1])
    boxes[:, 3] = foot + stretch.moves(foot) - boxes[:, 1]
    height = drawing.height + float(stretch.add[-1] if len(stretch.add) else 0)
    return replace(drawing, y=_single(y), points=_single(points), block_boxes=_single(boxes), height=height)


def _single(values: npt.NDArray[np.floating]) -> Floats:
    return values.astype(np.float32)
