"""Whether a drawing has the order of another one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.levels import keeps_levels
from fxstore.layout.model import Drawing

Doubles = npt.NDArray[np.float64]


def agrees(drawing: Drawing, wishes: npt.ArrayLike, heights: npt.ArrayLike) -> bool:
    """Tells whether rows have the order of their counterparts, sidewards and downwards: no new drawing is needed.

    Args:
        drawing: Any drawing that ``draw`` made; one that cannot be folded has no rows, and agrees.
        wishes: (n, 2) place of each node's counterpart in another drawing, NaN where it has none; a block's x is the
            mean of what it holds, and it reaches from the highest border to the lowest.
        heights: (n) of the nodes' boxes.
    """
    folding, n = drawing.folding, len(drawing.x)
    blocks = len(folding.parent)
    wish, x = np.full(n + blocks, np.nan), np.empty(n + blocks)
    places, tall = np.asarray(wishes, np.float64).reshape(-1, 2), 2 * np.maximum(np.ceil(np.asarray(heights) / 2), 1)
    wish[:n], x[:n] = places[:, 0], drawing.x
    low, high = (np.concatenate([places[:, 1] + side * tall / 2, np.full(blocks, np.nan)]) for side in (-1, 1))
    x[n:] = folding.closed[:, 0] + folding.closed[:, 1] / 2
    home = np.searchsorted(folding.first_row, folding.row, side="right") - 1
    inner = np.flatnonzero(folding.row >= 0)
    inner = inner[np.argsort(home[inner], kind="stable")]
    starts = np.searchsorted(home[inner], np.arange(blocks + 1))
    for block in range(blocks - 1, -1, -1):
        held = inner[starts[block] : starts[block + 1]]
        held = held[~np.isnan(wish[held])]
        if len(held):
            wish[n + block], low[n + block], high[n + block] = (
                wish[held].mean(),
                np.fmin.reduce(low[held]),
                np.fmax.reduce(high[held]),
            )
            held = held[~np.isnan(low[held])]
            if not keeps_levels(low[held], high[held], folding.row[held]):
                return False
    shown = inner[~np.isnan(wish[inner])]
    shown = shown[np.lexsort((x[shown], folding.row[shown]))]
    same_row = folding.row[shown][1:] == folding.row[shown][:-1]
    return bool((np.diff(wish[shown])[same_row] >= 0).all())
