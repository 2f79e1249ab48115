"""Counterparts stand at equal heights in the panes of a page."""

from __future__ import annotations

import pyarrow as pa

from fxstore.layout import draw
from fxstore.render.model import DrawnGraph, Pane
from fxstore.render.page.align import aligned
from fxstore.render.page.drawings import drawn


def chain_of(nids: list[int], title: str = "", kinds: list[str] | None = None) -> Pane:
    edges = [(i, i + 1) for i in range(len(nids) - 1)]
    drawing = draw([(100, 36)] * len(nids), edges, [None] * len(nids))
    table = pa.table({"src": [a for a, _ in edges], "dst": [b for _, b in edges]})
    return Pane(
        "p",
        (
            DrawnGraph(
                title,
                pa.table(
                    {
                        "nid": nids,
                        "height": [36.0] * len(nids),
                        "op": ["call_function"] * len(nids),
                        "op_type": kinds or ["add"] * len(nids),
                    }
                ),
                table,
                drawing,
            ),
        ),
    )


def heights(pane: Pane) -> dict[int, float]:
    graph = pane.graphs[0]
    return dict(zip(graph.nodes["nid"].to_pylist(), graph.drawing.y.tolist(), strict=True))


def test_counterparts_stand_at_equal_heights() -> None:
    sets = [[(1, True), (11, True)], [(2, True), (14, False), (15, True)], [(3, True), (16, True)]]
    one, two = (heights(p) for p in aligned([chain_of([1, 2, 3]), chain_of([11, 12, 13, 14, 15, 16])], sets))
    assert (one[1], one[2], one[3]) == (two[11], two[15], two[16])
    assert two[15] - two[14] == 36 + 30


def test_graphs_of_other_methods_are_left_alone() -> None:
    sets = [[(1, True), (12, True)]]
    before = [chain_of([1], "encode"), chain_of([11, 12], "decode")]
    assert [heights(p) for p in aligned(before, sets)] == [heights(p) for p in before]


def test_operators_count_more_than_what_quantises_them() -> None:
    """Each of three that dequantise stands for the float operator, too; the operator itself is what one looks for."""
    kinds = ["relu", "quantize_per_tensor", *["dequantize_per_tensor"] * 3, "add"]
    sets = [[(1, True), (11, True)], *([(1, True), (nid, True)] for nid in (12, 13, 14, 15)), [(2, True), (16, True)]]
    one, two = (heights(p) for p in aligned([chain_of([1, 2]), chain_of([*range(11, 17)], kinds=kinds)], sets))
    assert (one[1], one[2]) == (two[11], two[16])


def fork_of(nids: list[int], left: int) -> Pane:
    """A node, two branches and their join; ``left`` nodes are in the first branch, one in the other."""
    join = left + 2
    edges = [(0, 1), *[(i, i + 1) for i in range(1, left)], (left, join), (0, left + 1), (left + 1, join)]
    texts = {"name": [f"n{i}" for i in nids], "op_type": ["op"] * len(nids), "target": ["op"] * len(nids)}
    nodes = pa.table(
        {
            "nid": nids,
            "height": [36.0] * len(nids),
            **texts,
            "op": ["call_function"] * len(nids),
            "role": ["op"] * len(nids),
            "module_path": ["m"] * len(nids),
        }
    )
    table = pa.table({"src": [a for a, _ in edges], "dst": [b for _, b in edges]})
    return Pane("p", (DrawnGraph("", nodes, table, drawn(nodes, table)),))


def lefts(pane: Pane) -> dict[int, float]:
    graph = pane.graphs[0]
    return dict(zip(graph.nodes["nid"].to_pylist(), graph.drawing.x.tolist(), strict=True))


def test_branches_have_one_order_whichever_comes_first_in_the_program() -> None:
    # The second program computes the branches the other way round: 2 and 13, and 3 and 12, are counterparts.
    sets = [[(a, True), (b, True)] for a, b in ((1, 11), (2, 13), (3, 12), (4, 14))]
    panes = [fork_of([1, 2, 3, 4], 1), fork_of([11, 12, 13, 14], 1)]
    free = [lefts(pane) for pane in panes]
    assert (free[0][2] < free[0][3]) != (free[1][13] < free[1][12])
    one, two = (lefts(pane) for pane in aligned(panes, sets))
    assert one == free[0]
    assert (one[2] < one[3]) == (two[13] < two[12])
