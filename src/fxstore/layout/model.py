"""The result of a layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Drawing:
    """Where everything stands; units are CSS pixels at scale 1, y grows downwards, the top left corner is (0, 0).

    Attributes:
        x, y: Centre of each node's box, one per node.
        points: (P, 2) corners of all edges' polylines, end to end.
        offsets: (E + 1) index into ``points``: edge ``e`` is ``points[offsets[e]:offsets[e + 1]]``, in the order of
            the edges given; an edge that is not drawn (a self loop, a stub) has no points.
        feedback: (E) true for an edge that points up, against the flow.
        blocks: One module box per row of ``block_boxes``: its module path.
        block_boxes: (B, 4) left, top, width, height of each module box, outermost first.
        width, height: Extent of the whole drawing.
    """

    x: Floats
    y: Floats
    points: Floats
    offsets: Ints
    feedback: npt.NDArray[np.bool_]
    blocks: tuple[str, ...]
    block_boxes: Floats
    width: float
    height: float
