"""Counterparts stand at equal heights in the panes of a page."""

from __future__ import annotations

import pyarrow as pa

from fxstore.layout import draw
from fxstore.query.aligned import aligned
from fxstore.render.model import DrawnGraph, Pane


def chain_of(nids: list[int], title: str = "") -> Pane:
    edges = [(i, i + 1) for i in range(len(nids) - 1)]
    drawing = draw([(100, 36)] * len(nids), edges, [None] * len(nids))
    table = pa.table({"src": [a for a, _ in edges], "dst": [b for _, b in edges]})
    return Pane("p", (DrawnGraph(title, pa.table({"nid": nids}), table, drawing),))


def heights(pane: Pane) -> dict[int, float]:
    graph = pane.graphs[0]
    return dict(zip(graph.nodes["nid"].to_pylist(), graph.drawing.y.tolist(), strict=True))


def test_counterparts_stand_at_equal_heights() -> None:
    sets = [[(1, True), (11, True)], [(2, True), (14, False), (15, True)], [(3, True), (16, True)]]
    focus = {nid: index for index, members in enumerate(sets) for nid, _ in members}
    one, two = (heights(p) for p in aligned([chain_of([1, 2, 3]), chain_of([11, 12, 13, 14, 15, 16])], sets, focus))
    assert (one[1], one[2], one[3]) == (two[11], two[15], two[16])
    assert two[15] - two[14] == 36 + 30


def test_graphs_of_other_methods_are_left_alone() -> None:
    sets, focus = [[(1, True), (12, True)]], {1: 0, 12: 0}
    before = [chain_of([1], "encode"), chain_of([11, 12], "decode")]
    assert [heights(p) for p in aligned(before, sets, focus)] == [heights(p) for p in before]
