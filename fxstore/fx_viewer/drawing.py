"""A pane's graphs drawn for the labels that its nodes have, one beside the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fxstore.fx_viewer.capture import CapturedPane
from fxstore.fx_viewer.models import GraphBlock, GraphEdge, GraphNode, GraphPart
from fxstore.layout import draw
from fxstore.query.aligned import aligned
from fxstore.query.drawings import drawn_modules, sides, sides_of
from fxstore.query.stored import Sets, StoredGraph
from fxstore.render.boxes import lines_size
from fxstore.render.model import DrawnGraph, Pane

_APART = 60.0
"""Pixels between two graphs of a pane."""


@dataclass(frozen=True)
class DrawnPane:
    """Where everything in a pane stands; nodes have neither label nor info yet."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    graphs: list[GraphPart]
    blocks: list[GraphBlock]


def draw_panes(
    panes: Sequence[CapturedPane],
    labels: Sequence[Mapping[str, tuple[str, Sequence[str]]]],
    sets: Sets,
) -> list[DrawnPane]:
    """Draws panes so that counterparts stand at equal heights, as far as can be.

    Args:
        labels: Per pane, each node's first line and the lines under it, by the node's id.
        sets: Members of each sync set as (nid, is_primary).
    """
    drawn = [
        Pane(str(i), tuple(_drawn(graph, pane, texts) for graph in pane.graphs))
        for i, (pane, texts) in enumerate(zip(panes, labels, strict=True))
    ]
    if len(panes) > 1:
        drawn = list(aligned(drawn, sets))
    return [_placed(one.graphs, pane) for one, pane in zip(drawn, panes, strict=True)]


def _drawn(graph: StoredGraph, pane: CapturedPane, labels: Mapping[str, tuple[str, Sequence[str]]]) -> DrawnGraph:
    sizes = [lines_size(*labels[pane.ids[nid]]) for nid in graph.nodes["nid"].to_pylist()]
    pairs = list(zip(graph.edges["src"].to_pylist(), graph.edges["dst"].to_pylist(), strict=True))
    roles = graph.nodes["role"].to_pylist()
    drawing = draw(sizes, pairs, drawn_modules(graph.nodes), sides(sides_of(roles)))
    boxes = np.array(sizes, np.float32).reshape(-1, 2)
    nodes = graph.nodes
    for axis, name in enumerate(("width", "height")):
        column = pa.Array.from_buffers(pa.float32(), len(boxes), [None, pa.py_buffer(boxes[:, axis].tobytes())])
        nodes = nodes.append_column(name, column)
    return DrawnGraph(graph.title, nodes, graph.edges, drawing, graph.parent_nid)


def _placed(graphs: Sequence[DrawnGraph], pane: CapturedPane) -> DrawnPane:
    """Puts the graphs side by side, all at the same height."""
    placed = DrawnPane([], [], [], [])
    left = 0.0
    for number, graph in enumerate(graphs):
        drawing = graph.drawing
        ids = [pane.ids[nid] for nid in graph.nodes["nid"].to_pylist()]
        boxes = zip(*(graph.nodes[name].to_pylist() for name in ("width", "height")), strict=True)
        for i, (id_, (width, height)) in enumerate(zip(ids, boxes, strict=True)):
            x, y = float(drawing.x[i]) + left, float(drawing.y[i])
            placed.nodes.append(GraphNode(id_, x=x, y=y, width=width, height=height, topo_index=i))
        placed.edges.extend(_edges(graph, ids, left))
        for path, box in zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True):
            placed.blocks.append(GraphBlock(path, number, box[0] + left, *box[1:]))
        parent = pane.ids.get(graph.parent_nid) if graph.parent_nid is not None else None
        extent = left, 0.0, float(drawing.width), float(drawing.height)
        placed.graphs.append(GraphPart(graph.title, parent, len(ids), graph.edges.num_rows, *extent))
        left += float(drawing.width) + _APART
    return placed


def _edges(graph: DrawnGraph, ids: Sequence[str], left: float) -> list[GraphEdge]:
    drawing = graph.drawing
    points = drawing.points.astype(np.float64).tolist()
    starts = drawing.offsets.tolist()
    return [
        GraphEdge(
            ids[row["src"]],
            ids[row["dst"]],
            [{"x": x + left, "y": y} for x, y in points[starts[i] : starts[i + 1]]],
            row["src_port"],
            row["dst_arg"] or "",
            bool(drawing.feedback[i]),
        )
        for i, row in enumerate(graph.edges.to_pylist())
    ]
