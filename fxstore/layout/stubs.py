"""Edges of hubs, masks and wide joins: drawn as stubs at their ends, in full on demand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.order import Longs, Marks

HUB = 8
"""A node with at least so many users, or inputs, is a hub."""
FAR = 600
"""Pixels from a hub's box down to a user's, or from an input's down to a hub's; what is nearer has a whole edge."""


def stub_edges(ends: Longs, top: npt.NDArray[np.float64], bottom: npt.NDArray[np.float64], feedback: Marks) -> Marks:
    """Marks the edges from hubs to users far below them, and from inputs far above hubs.

    Args:
        ends: (E, 2) source and target of each edge.
        top, bottom: (n) of each node's box.
        feedback: (E) which edges point up; those are always drawn.
    """
    distinct = np.unique(ends[:, 0] * len(top) + ends[:, 1])
    users, inputs = (np.bincount(side, minlength=len(top)) for side in np.divmod(distinct, max(len(top), 1)))
    far = top[ends[:, 1]] - bottom[ends[:, 0]] > FAR
    stubs: Marks = ((users[ends[:, 0]] >= HUB) | (inputs[ends[:, 1]] >= HUB)) & far & ~feedback
    return stubs
