"""Whether a drawing has the order of another one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.model import Drawing

Doubles = npt.NDArray[np.float64]


def agrees(drawing: Drawing, wishes: npt.ArrayLike) -> bool:
    """Tells whether what stands in one row has the order of its counterparts already, so that no new drawing is needed.

    Args:
        drawing: Any drawing that ``draw`` made; one that cannot be folded has no rows, and agrees.
        wishes: (n) x of each node's counterpart in another drawing, NaN where it has none; a block's is the mean of
            what it holds.
    """
    folding, n = drawing.folding, len(drawing.x)
    blocks = len(folding.parent)
    wish, x = np.full(n + blocks, np.nan), np.empty(n + blocks)
    wish[:n], x[:n] = wishes, drawing.x
    x[n:] = folding.closed[:, 0] + folding.closed[:, 1] / 2
    home = np.searchsorted(folding.first_row, folding.row, side="right") - 1
    inner = np.flatnonzero(folding.row >= 0)
    inner = inner[np.argsort(home[inner], kind="stable")]
    starts = np.searchsorted(home[inner], np.arange(blocks + 1))
    for block in range(blocks - 1, -1, -1):
        held = wish[inner[starts[block] : starts[block + 1]]]
        known = held[~np.isnan(held)]
        if len(known):
            wish[n + block] = known.mean()
    shown = inner[~np.isnan(wish[inner])]
    shown = shown[np.lexsort((x[shown], folding.row[shown]))]
    same_row = folding.row[shown][1:] == folding.row[shown][:-1]
    return bool((np.diff(wish[shown])[same_row] >= 0).all())
