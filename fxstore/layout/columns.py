"""A drawing that is much taller than wide, offered as columns beside each other."""

from __future__ import annotations

from collections.abc import Sequence
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
    return Columns(cut_together([drawing], [sizes]), drawing.width)


def cut_together(drawings: Sequence[Drawing], sizes: Sequence[npt.ArrayLike]) -> Doubles:
    """Returns the heights at which drawings that stand beside each other are cut, the first 0, the last the end.

    Args:
        drawings: The drawings, brought to equal heights.
        sizes: Per drawing the (n, 2) widths and heights of its boxes.
    """
    width, height = sum(d.width for d in drawings), max([d.height for d in drawings], default=0.0)
    cuts = [0.0]
    if height > MOST_ASPECT * width:
        places, cost = _places(drawings, sizes)
        count = ceil(sqrt(height / (width + GAP_PARTS * len(drawings))))
        share = height / count
        while height - cuts[-1] > share * (1 + SEARCH):
            low, high = np.searchsorted(places, [cuts[-1] + share * (1 - SEARCH), cuts[-1] + share * (1 + SEARCH)])
            if low == len(places):
                break
            best = low + np.argmin(cost[low : max(high, low + 1)])
            cuts.append(float(places[best]))
    return np.array([*cuts, height])


def _places(drawings: Sequence[Drawing], sizes: Sequence[npt.ArrayLike]) -> tuple[Doubles, Longs]:
    """Returns the heights that no node's box is at, and how many lines and module boxes are there."""
    half = np.concatenate([np.asarray(own, np.float64).reshape(-1, 2)[:, 1] for own in sizes]) / 2
    y = np.concatenate([d.y for d in drawings]).astype(np.float64)
    top, bottom = np.sort(y - half), np.sort(y + half)
    clear = np.searchsorted(top, bottom, side="right") == np.arange(1, len(bottom) + 1)
    middles = bottom[clear][:-1]
    places = np.unique((middles + top[np.minimum(np.searchsorted(top, middles), len(top) - 1)]) / 2)
    boxes = np.concatenate([d.block_boxes for d in drawings]).astype(np.float64)
    cost = np.searchsorted(np.sort(boxes[:, 1]), places) - np.searchsorted(np.sort(boxes[:, 1] + boxes[:, 3]), places)
    ends = np.concatenate([_line_ends(d) for d in drawings], axis=1)
    begun = np.searchsorted(np.sort(ends.min(axis=0)), places)
    ended = np.searchsorted(np.sort(ends.max(axis=0)), places)
    return places, np.asarray(cost + begun - ended, np.int64)


def _line_ends(drawing: Drawing) -> npt.NDArray[np.float32]:
    """Returns the two ends' heights of each line that is drawn."""
    drawn = np.flatnonzero(np.diff(drawing.offsets) > 0)
    return np.stack([drawing.points[drawing.offsets[drawn], 1], drawing.points[drawing.offsets[drawn + 1] - 1, 1]])
