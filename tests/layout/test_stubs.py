from __future__ import annotations

import numpy as np

from tests.layout import graphs


def test_a_mask_is_drawn_as_stubs_at_all_but_its_first_users() -> None:
    graph = graphs.shared_mask(100)
    drawing = graph.draw()
    edges = np.array(graph.edges)
    masks = edges[:, 0] == 0
    assert not drawing.stub[~masks].any()
    assert drawing.stub[masks].sum() > 85
    assert not drawing.stub[masks & (edges[:, 1] <= 5)].any()
    assert (np.diff(drawing.offsets)[drawing.stub] >= 2).all()  # the whole edge is there on demand


def test_what_has_few_users_or_near_ones_is_drawn_in_full() -> None:
    for graph in (graphs.u_net(30), graphs.fan(60, join=True)):
        assert not graph.draw().stub.any()


def test_what_every_layer_gives_out_is_drawn_as_stubs_and_takes_one_lane() -> None:
    drawing = graphs.caches(40).draw()
    edges = np.array(graphs.caches(40).edges)
    outputs = edges[:, 1] == edges.max()
    assert drawing.stub[outputs].sum() > 70
    assert not drawing.stub[~outputs].any()
    assert drawing.width < graphs.caches(4).draw().width + 100


def test_an_edge_against_the_flow_is_no_stub() -> None:
    graph = graphs.plain(60, [(i, i + 1) for i in range(59)] + [(59, i) for i in range(20)])
    assert not graph.draw().stub[59:].any()
