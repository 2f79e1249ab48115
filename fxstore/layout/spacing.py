"""Distances of a drawing, in CSS pixels. All are even, so that every centre is a whole pixel."""

from __future__ import annotations

GAP_X = 18
"""Between two boxes of a row."""
GAP_Y = 30
"""Between two rows of boxes."""
GAP_ASIDE = 120
"""Between the two sides of a training graph, where what is saved passes."""
GAP_BLOCKS = 16
"""Between two rows, one of them of blocks alone."""
GAP_PORTS = 10
"""Between a row of ports and the row of boxes next to it."""
LANE = 8
"""Width kept free for an edge that passes a row."""
PAD = 6
"""Between a module's border and what it holds."""
HEAD = 18
"""Height of a module's title."""
STEP = 24
"""Box widths are rounded up to a multiple of this, so that blocks with nearly the same labels share one layout."""
CLOSED = (220, 36)
"""A closed module is at most so wide, and so tall."""
