"""Deep graphs in columns on a page."""

from __future__ import annotations

import pyarrow as pa

from fxstore.render.model import DrawnGraph, Pane
from fxstore.render.page.align import in_columns
from fxstore.render.page.drawings import drawn


def chain_of(count: int, title: str = "") -> DrawnGraph:
    texts = {name: [f"{name}_{i}" for i in range(count)] for name in ("name", "op_type", "role")}
    nodes = pa.table({"nid": range(count), **texts, "module_path": [f"m.{i // 10}" for i in range(count)]})
    nodes = nodes.append_column("width", pa.array([100.0] * count)).append_column("height", pa.array([36.0] * count))
    edges = pa.table({"src": range(count - 1), "dst": range(1, count)})
    return DrawnGraph(title, nodes, edges, drawn(nodes, edges))


def test_deep_graphs_stand_in_columns_cut_alike_and_short_ones_stay() -> None:
    short = chain_of(3, "short")
    panes = in_columns([Pane("a", (chain_of(300), short)), Pane("b", (chain_of(300),))])
    one, two = (pane.graphs[0].drawing for pane in panes)
    assert one.height == two.height < 300 * 36 / 3
    assert one.width < 4 * one.height
    assert panes[0].graphs[1].drawing.y.tolist() == short.drawing.y.tolist()
