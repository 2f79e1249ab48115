"""The drawn graphs of a page as columns: nodes, edges, module boxes, and what has brought them to equal heights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fxstore.layout import Drawing, Stretch
from fxstore.render.columns import Columns, Strings, short_path, short_paths
from fxstore.render.model import DrawnGraph, PageModel

TEXTS: Final = (
    *("name", "op", "target", "op_type", "role", "dtype", "module_path", "backend"),
    *("source_file", "source_code", "attrs", "unmatched"),
)
_UNMOVED: Final = Stretch(np.zeros(0), np.zeros(0))


def add_graphs(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph], model: PageModel) -> None:
    """Adds all columns that say what the graphs are and where they stand."""
    _nodes(columns, strings, graphs, model)
    _edges(columns, strings, graphs)
    _blocks(columns, strings, graphs)
    _stretches(columns, graphs)


def _nodes(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph], model: PageModel) -> None:
    columns.floats("node.nid", joined(graphs, "nid"), delta=True)
    for name in TEXTS:
        texts = joined(graphs, name)
        if name == "source_file" and not model.with_sources:
            texts = [text and short_path(text) for text in texts]
        if name in ("attrs", "source_code") and not model.with_sources:
            texts = [text and short_paths(text) for text in texts]
        if name == "source_code" and not model.with_code:
            texts = [None] * len(texts)
        columns.ints(f"node.{name}", strings.numbers(texts), delta=name == "name")
    shapes = [None if shape is None else f"[{', '.join(shape)}]" for shape in joined(graphs, "shape")]
    columns.ints("node.shape", strings.numbers(shapes))
    columns.ints("node.source_line", [-1 if line is None else line for line in joined(graphs, "source_line")])
    for axis in ("x", "y"):
        columns.ints(f"node.{axis}", _half_pixels(getattr(graph.drawing, axis) for graph in graphs), delta=True)
    for extent in ("width", "height"):
        columns.ints(f"node.{extent}", _half_pixels([np.asarray(joined(graphs, extent), dtype=np.float64)]))


def _edges(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph]) -> None:
    base = np.repeat(_starts([graph.nodes.num_rows for graph in graphs]), [graph.edges.num_rows for graph in graphs])
    for end in ("src", "dst"):
        columns.ints(f"edge.{end}", base + np.asarray(joined(graphs, end, "edges"), dtype=np.int64), delta=True)
    columns.ints("edge.src_port", joined(graphs, "src_port", "edges"))
    columns.ints("edge.dst_arg", strings.numbers(joined(graphs, "dst_arg", "edges")))
    columns.ints("edge.feedback", _chained(graph.drawing.feedback for graph in graphs))
    columns.ints("edge.stub", _chained(np.resize(graph.drawing.stub, graph.edges.num_rows) for graph in graphs))
    columns.ints("edge.corners", _chained(np.diff(graph.drawing.offsets) for graph in graphs))
    for axis, name in enumerate(("corner.x", "corner.y")):
        columns.ints(name, _half_pixels(graph.drawing.points.reshape(-1, 2)[:, axis] for graph in graphs), delta=True)


def _blocks(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph]) -> None:
    columns.ints("block.path", strings.numbers(path for graph in graphs for path in graph.drawing.blocks))
    for axis, name in enumerate(("left", "top", "width", "height")):
        boxes = (graph.drawing.block_boxes.reshape(-1, 4)[:, axis] for graph in graphs)
        columns.ints(f"block.{name}", _half_pixels(boxes), delta=True)
    for axis, name in enumerate(("closed_left", "closed_width")):
        columns.ints(f"block.{name}", _half_pixels(_closed(graph.drawing)[:, axis] for graph in graphs), delta=True)


def _stretches(columns: Columns, graphs: Sequence[DrawnGraph]) -> None:
    """Adds how far each graph was moved down for the other panes' sake: each height at which that changes."""
    if all(graph.stretch is None for graph in graphs):
        return
    sizes, at, add = [], [], []
    for stretch in (graph.stretch or _UNMOVED for graph in graphs):
        changes = np.flatnonzero(np.diff(stretch.add, prepend=0.0))
        sizes.append(len(changes))
        at.append(stretch.at[changes])
        add.append(stretch.add[changes])
    columns.ints("stretch.size", sizes)
    columns.ints("stretch.at", _half_pixels(at), delta=True)
    columns.ints("stretch.add", _half_pixels(add), delta=True)


def _closed(drawing: Drawing) -> npt.NDArray[Any]:
    """Returns left and width of each module box when it is closed: its own where the layout names no other."""
    boxes = np.asarray(drawing.block_boxes.reshape(-1, 4)[:, [0, 2]], dtype=np.float64)
    has_border = drawing.folding.module >= 0
    boxes[drawing.folding.module[has_border]] = drawing.folding.closed[has_border][:, :2]
    return boxes


def joined(graphs: Sequence[DrawnGraph], column: str, table: str = "nodes") -> list[Any]:
    """Returns a column of the tables of all graphs, one after the other."""
    return [value for graph in graphs for value in getattr(graph, table).column(column).to_pylist()]


def _half_pixels(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.rint(2 * _chained(parts).astype(np.float64))


def _chained(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts])


def _starts(counts: Sequence[int]) -> npt.NDArray[Any]:
    return np.cumsum([0, *counts], dtype=np.int64)[:-1]
