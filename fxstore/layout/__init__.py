"""Layered drawings of graphs: sizes, edges and module paths in, positions and polylines out."""

from fxstore.layout.align import Stretch, align, stretched
from fxstore.layout.columns import Columns, columns, wrapped
from fxstore.layout.drawing import draw
from fxstore.layout.model import Drawing, Folding, Sides
from fxstore.layout.same_order import agrees

__all__ = [
    "Columns",
    "Drawing",
    "Folding",
    "Sides",
    "Stretch",
    "agrees",
    "align",
    "columns",
    "draw",
    "stretched",
    "wrapped",
]
