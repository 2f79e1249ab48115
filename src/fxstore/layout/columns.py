"""A drawing that is much taller than wide, offered as columns beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from fxstore.layout.model import GAP_PARTS, Drawing
from fxstore.layout.order import Longs

MOST_ASPECT = 3
"""A drawing up to so many times as tall as wide stays one column."""
SEARCH = 0.1
"""A column may be this part shorter than the others for the sake of a better cut."""

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Where a drawing is cut, and where its parts go.

    No box of a node is cut. A module's box, and an edge, that reaches over a cut goes on at the top of the next
    column, at the same x within it; so every piece of an edge still points down.

    Attributes:
        cuts: (C + 1) height at which each column begins, and the last one ends.
        width: Of each column; column ``c`` stands at ``c * (width + GAP_PARTS)``.
    """

    cuts: Doubles
    width: float

    def of(self, y: npt.NDArray[np.floating]) -> Longs:
        """Returns the column of what stands at each height."""
        found = np.searchsorted(self.cuts[1:-1], y, side="right")
        return np.asarray(found, np.int64)

    def place(self, x: npt.NDArray[np.floating], y: npt.NDArray[np.floating]) -> tuple[Doubles, Doubles]:
        """Returns where points of the drawing stand in its columns."""
        column = self.of(y)
        return np.asarray(x + column * (self.width + GAP_PARTS), np.float64), np.asarray(
            y - self.cuts[column], np.float64
        )


def columns(drawing: Drawing, sizes: npt.ArrayLike) -> Columns:
    """Returns the columns of a drawing: one, unless it is too tall for its width.

    Cuts run where no node is, of the places near the wanted one where the fewest edges and module boxes are.

    Args:
        drawing: The drawing.
        sizes: (n, 2) width and height of each node's box.
    """
    whole = np.array([0.0, drawing.height])
    if drawing.height <= MOST_ASPECT * drawing.width:
        return Columns(whole, drawing.width)
    heights = np.asarray(sizes, np.float64).reshape(-1, 2)[:, 1]
    places, cost = _places(drawing, heights)
    count = ceil(sqrt(drawing.height / (drawing.width + GAP_PARTS)))
    share = drawing.height / count
    cuts = [0.0]
    while drawing.height - cuts[-1] > share * (1 + SEARCH):
        low, high = np.searchsorted(places, [cuts[-1] + share * (1 - SEARCH), cuts[-1] + share * (1 + SEARCH)])
        if low == len(places):
            break
        best = low + np.argmin(cost[low : max(high, low + 1)])
        cuts.append(float(places[best]))
    return Columns(np.array([*cuts, drawing.height]), drawing.width)


def _places(drawing: Drawing, heights: Doubles) -> tuple[Doubles, Longs]:
    """Returns the heights that no node's box is at, and how many lines and module boxes are there."""
    top, bottom = np.sort(drawing.y - heights / 2), np.sort(drawing.y + heights / 2)
    clear = np.searchsorted(top, bottom, side="right") == np.arange(1, len(bottom) + 1)
    middles = bottom[clear][:-1]
    places = np.unique((middles + top[np.minimum(np.searchsorted(top, middles), len(top) - 1)]) / 2)
    boxes = drawing.block_boxes.astype(np.float64)
    cost = np.searchsorted(np.sort(boxes[:, 1]), places) - np.searchsorted(np.sort(boxes[:, 1] + boxes[:, 3]), places)
    drawn = np.flatnonzero(np.diff(drawing.offsets) > 0)
    ends = np.stack([drawing.points[drawing.offsets[drawn], 1], drawing.points[drawing.offsets[drawn + 1] - 1, 1]])
    begun = np.searchsorted(np.sort(ends.min(axis=0)), places)
    ended = np.searchsorted(np.sort(ends.max(axis=0)), places)
    return places, np.asarray(cost + begun - ended, np.int64)
