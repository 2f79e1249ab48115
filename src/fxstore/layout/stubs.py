"""Edges of hubs and masks: drawn as stubs at their users, in full on demand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fxstore.layout.order import Longs, Marks

HUB = 8
"""A value with at least so many users is a hub."""
FAR = 600
"""Pixels from a hub's box down to a user's; a user that is nearer has a whole edge."""


def stub_edges(ends: Longs, top: npt.NDArray[np.float64], bottom: npt.NDArray[np.float64], feedback: Marks) -> Marks:
    """Marks the edges from hubs to users far below them.

    Args:
        ends: (E, 2) source and target of each edge.
        top, bottom: (n) of each node's box.
        feedback: (E) which edges point up; those are always drawn.
    """
    distinct = np.unique(ends, axis=0)
    users = np.bincount(distinct[:, 0], minlength=len(top))
    far = top[ends[:, 1]] - bottom[ends[:, 0]] > FAR
    stubs: Marks = (users[ends[:, 0]] >= HUB) & far & ~feedback
    return stubs
