"""sync and trace: what is one computation, and where it came from."""

from __future__ import annotations

import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.query.conftest import nid
from tests.store.records import chain, graph, run

STAGES = {
    "float": graph(["conv", "bn", "alone"]),
    "quantized": graph(["quantize", "conv_1"]),
    "edge": [graph(["convolution"], method="forward"), graph(["convolution"], method="prefill", path="true_graph_0")],
}
LINKS = [
    ("float:conv", "quantized:conv_1", "from_node"),
    ("float:bn", "quantized:conv_1", "structure"),
    ("quantized:conv_1", "edge:convolution", "name"),
    ("quantized:conv_1", "edge:convolution", "handle"),
]
SYNC = [
    ["float:conv", "float:bn*", "quantized:conv_1*", "edge:convolution*"],
    ["quantized:quantize*", "edge:convolution!"],
    ["float:bn!", "quantized:quantize!"],
]


def members(store: Store, query: str) -> list[tuple[object, ...]]:
    return store.sql(f"SELECT stage, name, is_primary, evidence FROM {query}").fetchall()


def test_the_focus_set_in_stage_order_with_the_strongest_evidence_on_the_asked_side() -> None:
    with connect(":memory:") as store:
        store.commit(run(STAGES, links=LINKS, sync=SYNC))
        expected = [
            ("float", "bn", True, "structure"),
            ("float", "conv", False, "from_node"),
            ("quantized", "conv_1", True, None),
            ("edge", "convolution", True, "handle"),
        ]
        assert members(store, "sync('quantized', 'conv_1')") == expected
        assert members(store, f"sync_nid({nid(store, 'quantized:conv_1')})") == expected
        other = [row[:2] for row in members(store, "sync('quantized', 'quantize')")]
        assert other == [("quantized", "quantize"), ("edge", "convolution")]


def test_a_node_without_a_set_gives_itself() -> None:
    with connect(":memory:") as store:
        store.commit(run(STAGES, links=LINKS, sync=SYNC))
        assert members(store, "sync('float', 'alone')") == [("float", "alone", True, None)]


def test_a_name_in_several_graphs_is_answered_for_each() -> None:
    with connect(":memory:") as store:
        store.commit(run(STAGES, links=LINKS, sync=SYNC))
        rows = store.sql("SELECT DISTINCT asked_nid FROM sync('edge', 'convolution')").fetchall()
        assert len(rows) == 2
        one = store.sync("edge", "convolution", method="prefill", path="true_graph_0")
        assert [row[1:5] for row in one] == [("edge", "convolution", "prefill", "true_graph_0")]
        assert len(store.sync("edge", "convolution", method="forward")) == 4


def test_trace_follows_links_and_tells_provenance(store: Store) -> None:
    query = (
        "SELECT via, hops, stage, name, evidence, pass_name, nid IS NULL FROM trace('edge', 'aten_convolution_default')"
    )
    assert store.sql(query).fetchall() == [
        ("self", 0, "edge", "aten_convolution_default", None, None, False),
        ("earlier", 1, "float", "conv2d", "from_node", None, False),
        ("provenance", 1, "float", "conv2d", "from_node", "ExportPass", False),
        ("provenance", 2, None, "conv", "from_node", "dynamo", True),
    ]


def test_trace_goes_all_the_way() -> None:
    with connect(":memory:") as store:
        store.commit(run(STAGES, links=LINKS))
        rows = store.sql("SELECT via, hops, stage, name, evidence FROM trace('float', 'conv')").fetchall()
        assert rows == [
            ("self", 0, "float", "conv", None),
            ("later", 1, "quantized", "conv_1", "from_node"),
            ("later", 2, "edge", "convolution", "handle"),
        ]


def test_provenance_of_one_structure_in_two_runs_stays_apart(store: Store) -> None:
    from tests.query.conftest import tiny

    store.commit(tiny("other"))
    query = "SELECT count(*), count(DISTINCT nid) FROM provenance"
    assert store.sql(query).fetchall() == [(4, 2)]
    query = "SELECT count(*) FROM provenance WHERE ancestor_nid >> 22 <> nid >> 22"
    assert store.sql(query).fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("stage", "node", "said", "hint"),
    [
        ("flot", "conv2d", "run 'tiny' has no stage 'flot'", "did you mean 'float'?"),
        ("edge", "conv2d", "stage 'edge' of run 'tiny' has no node 'conv2d'", "stage 'float' has it"),
        ("float", "conv", "stage 'float' of run 'tiny' has no node 'conv'", "did you mean 'conv2d'?"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_told(store: Store, stage: str, node: str, said: str, hint: str) -> None:
    for ask in (store.sync, store.trace):
        with pytest.raises(QueryError) as error:
            ask(stage, node)
        assert (str(error.value), error.value.hint) == (said, hint)


def test_of_many_names_the_first_are_told_and_how_to_list_all() -> None:
    with connect(":memory:") as store:
        for i in range(7):
            run_id = store.commit(run({"float": graph([f"{c}_{i}" for c in "abcdefg"])}, name=f"run {i}"))
        with pytest.raises(QueryError, match="no node 'zzz'") as error:
            store.sync("float", "zzz")
        names, lister = str(error.value.hint).split(": ")
        assert names == "there are 'a_6', 'b_6', 'c_6', 'd_6', 'e_6' and 2 more"
        assert lister == f"SELECT name FROM nodes WHERE run_id = '{run_id}' AND stage = 'float'"
        assert len(store.sql(lister)) == 7
        with pytest.raises(QueryError, match="no run 'zzz'") as error:
            store.stages("zzz")
        assert error.value.hint == "there are 'run 6', 'run 5', 'run 4', 'run 3', 'run 2' and 2 more: fxstore runs"


def test_dense_provenance_chains(store: Store) -> None:
    """Chains that share their tail are stored once and unrolled for each."""
    shared_tail = [("b", "p2"), ("c", "p3")]
    made = graph(
        ["u", "v"], chain("u", "v"), origins={"u": [("a", "p1"), *shared_tail], "v": [("d", "p1"), *shared_tail]}
    )
    store.commit(run({"float": made}, name="shared"))
    query = """
        SELECT n.name, p.hop, p.ancestor_name FROM provenance AS p JOIN nodes AS n USING (nid)
        WHERE p.run_id = (SELECT run_id FROM runs WHERE name = 'shared') ORDER BY ALL"""
    assert store.sql(query).fetchall() == [
        ("u", 1, "a"), ("u", 2, "b"), ("u", 3, "c"), ("v", 1, "d"), ("v", 2, "b"), ("v", 3, "c"),
    ]  # fmt: skip
