"""Each relation of the contract: a tiny run, a query, the rows."""

from __future__ import annotations

import datetime
import math

import pyarrow as pa
import pytest

from fxstore import Store, connect, tables
from tests.query.conftest import nid, tiny
from tests.store.records import chain, graph, metric, node, overlay, run

# A nid is shown as the name of its node.
NAMES = "(SELECT n.stage || ':' || n.name FROM nodes AS n WHERE n.nid = {})"
PROVENANCE = f"SELECT {NAMES.format('p.nid')}, hop, branch, ancestor_name, {NAMES.format('p.ancestor_nid')}, pass_name"
CONV = "edge:aten_convolution_default"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT name, model, status, tags, versions, nodes FROM runs",
         [("tiny", "tiny", "complete", {"soc": "s1"}, {"torch": "2.13"}, 10)]),
        ("SELECT stage, stage_index, kind, status, note FROM stages",
         [("float", 0, "graph", "complete", None), ("edge", 1, "graph", "complete", None)]),
        ("SELECT stage, stage_index, method, path, parent_nid, nodes FROM graphs ORDER BY 2",
         [("float", 0, "forward", "", None, 5), ("edge", 1, "forward", "", None, 5)]),
        ("SELECT position, name, op, op_type, role, dtype, shape, module_path, source_line FROM nodes "
         "WHERE stage = 'edge' AND position < 2 ORDER BY position",
         [(0, "x", "placeholder", "x", "input", "float32", ["1", "8"], None, None),
          (1, "aten_convolution_default", "call_function", "convolution", "op", "float32", ["1", "8"], "c", 7)]),
        ("SELECT role, count(*) FROM node_roles GROUP BY role ORDER BY role", [("input", 2), ("op", 6), ("output", 2)]),
        (f"SELECT {NAMES.format('e.src_nid')}, src_port, {NAMES.format('e.dst_nid')}, dst_arg FROM edges AS e "
         "JOIN graphs USING (graph_id) WHERE stage = 'float' ORDER BY e.dst_nid LIMIT 2",
         [("float:x", 0, "float:conv2d", "0"), ("float:conv2d", 0, "float:relu", "0")]),
        (f"{PROVENANCE} FROM provenance AS p ORDER BY hop",
         [(CONV, 1, 0, "conv2d", "float:conv2d", "ExportPass"), (CONV, 2, 0, "conv", None, "dynamo")]),
        (f"SELECT {NAMES.format('h.nid')}, method, namespace, handle FROM handles AS h ORDER BY 1, 4",
         [(CONV, "forward", "debug_handle", 1), (CONV, "forward", "debug_handle", 2),
          ("edge:relu_1", "forward", "debug_handle", 2)]),
        (f"SELECT {NAMES.format('l.src_nid')}, {NAMES.format('l.dst_nid')}, evidence, inferred "
         "FROM links AS l ORDER BY 1",
         [("float:conv2d", CONV, "from_node", False), ("float:relu", "edge:relu_1", "name", True)]),
        ("SELECT stage, name, is_primary, focus FROM sync_sets ORDER BY sync_id DESC, nid",
         [("float", "conv2d", True, True), ("edge", "aten_convolution_default", True, True),
          ("float", "relu", True, True), ("edge", "relu_1", True, True)]),
        (f"SELECT {NAMES.format('v.ref_nid')}, ref_port, {NAMES.format('v.nid')}, port, evidence FROM value_pairs AS v",
         [("float:relu", 0, "edge:relu_1", 0, "from_node")]),
        ("SELECT name, kind, source, unit, better FROM overlays", [("acc", "accuracy", "test", None, "higher")]),
        (f"SELECT {NAMES.format('m.nid')}, metric, value, status, reason, {NAMES.format('m.ref_nid')} "
         "FROM metrics AS m "
         "WHERE NOT isnan(coalesce(value, 0)) ORDER BY ALL NULLS LAST",
         [(CONV, "cosine", 0.9, "ok", None, "float:conv2d"), ("edge:mean_1", "cosine", 0.2, "ok", None, None),
          ("edge:x", "cosine", None, "not_measured", "no buffer", None), (None, "load_ms", 3.0, "ok", None, None)]),
        ("SELECT stage, nodes, measured, not_measured, reasons FROM coverage", [("edge", 4, 3, 1, {"no buffer": 1})]),
        ("SELECT stage, name, towards, reason FROM unmatched", [("edge", "mean_1", "float", "no ancestor")]),
    ],
)  # fmt: skip
def test_rows(store: Store, query: str, rows: list[tuple[object, ...]]) -> None:
    assert store.sql(query).fetchall() == rows


def test_a_node_names_its_run(store: Store) -> None:
    rows = store.sql(
        "SELECT DISTINCT run_id, printf('%08x', nid >> 22), printf('%08x', graph_id >> 22) FROM nodes"
    ).fetchall()
    ((run_id, by_nid, by_graph),) = rows
    assert run_id == by_nid == by_graph


def test_created_at_is_a_time_in_utc(store: Store) -> None:
    ((made,),) = store.sql("SELECT created_at FROM runs").fetchall()
    assert isinstance(made, datetime.datetime)
    assert abs(made - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(minutes=1)


def test_nan_is_found_through_parquet(store: Store) -> None:
    """With Parquet's statistics DuckDB would find no NaN here, and 0.9 as the maximum."""
    assert store.sql("SELECT count(*) FROM metrics WHERE isnan(value)").fetchall() == [(1,)]
    ((largest,),) = store.sql("SELECT max(value) FROM metrics WHERE metric = 'cosine'").fetchall()
    assert isinstance(largest, float)
    assert math.isnan(largest)


def test_an_empty_store_has_all_relations() -> None:
    with connect(":memory:") as store:
        for relation in store.schema().relations:
            if relation.kind == "view":
                assert store.sql(f"FROM {relation.name}").fetchall() == []


def test_delegates_know_what_is_inside() -> None:
    inner = graph(
        [node("a", "placeholder"), "mul", node("output", "output")],
        chain("a", "mul", "output"),
        path="lowered_module_0", parent=("", "call_delegate"), handles={"mul": [7, 3]},
    )  # fmt: skip
    outer = graph(
        [node("x", "placeholder"), node("call_delegate", role="delegate", backend="Xnn"), node("output", "output")],
        chain("x", "call_delegate", "output"), handles={"call_delegate": [9]},
    )  # fmt: skip
    numbers = inner.tables["handles"].to_pylist()
    numbers += [{"position": 1, "namespace": "instruction", "handle": 5}, {**numbers[0], "position": 0}]
    inner.tables["handles"] = pa.Table.from_pylist(numbers, schema=tables.HANDLES)
    with connect(":memory:") as store:
        store.commit(run({"lowered": [outer, inner]}))
        rows = store.sql("SELECT name, backend, inner_nodes, inner_ops, handles FROM delegation").fetchall()
        assert rows == [("call_delegate", "Xnn", 3, 1, [3, 7])]
        assert store.sql("SELECT path FROM graphs WHERE parent_nid IS NOT NULL").fetchall() == [("lowered_module_0",)]


def test_handles_join_nodes_by_nid(store: Store) -> None:
    rows = store.sql("SELECT stage, name, handle FROM handles JOIN nodes USING (nid) ORDER BY ALL").fetchall()
    assert rows == [("edge", CONV[5:], 1), ("edge", CONV[5:], 2), ("edge", "relu_1", 2)]


def test_pairs_are_of_different_stages_only() -> None:
    stages = {name: graph(["relu", "copy"]) for name in ("a", "b", "c")}
    with connect(":memory:") as store:
        store.commit(run(stages, values=[["a:relu", "a:copy", "b:relu", "c:relu"]]))
        pairs = store.sql("""
            SELECT r.stage || ':' || r.name, n.stage || ':' || n.name
            FROM value_pairs AS v JOIN nodes AS r ON r.nid = v.ref_nid JOIN nodes AS n ON n.nid = v.nid ORDER BY ALL
        """).fetchall()
        assert pairs == [
            ("a:copy", "b:relu"), ("a:copy", "c:relu"), ("a:relu", "b:relu"), ("a:relu", "c:relu"),
            ("b:relu", "c:relu"),
        ]  # fmt: skip


def test_coverage_counts_what_the_overlay_does_not_mention() -> None:
    """Three of seven operators carry a number."""
    names = ["sin", "cos", "tanh", "relu", "exp", "neg", "add"]
    made = graph([node("x", "placeholder"), *names, node("output", "output")], chain("x", *names, "output"))
    values = [metric(f"float:{name}", "cosine", value) for name, value in (("sin", 0.9), ("tanh", 0.6), ("exp", 0.9))]
    with connect(":memory:") as store:
        store.commit(run({"float": made}, overlays=[overlay("acc", values)]))
        query = "SELECT nodes, measured, not_measured, reasons FROM coverage"
        assert store.sql(query).fetchall() == [(7, 3, 4, {"no data": 4})]
        worst = store.worst("cosine")
        assert len(worst) == 3
        assert str(worst.coverage) == "3 of 7 nodes measured; not measured: 4 no data"


def test_runs_of_equal_graphs_stay_apart(store: Store) -> None:
    store.commit(tiny("other"))
    assert store.sql("SELECT count(*), count(DISTINCT nid) FROM nodes").fetchall() == [(20, 20)]
    assert store.sql("SELECT count(*) FROM graphs").fetchall() == [(4,)]
    assert nid(store, "float:relu") != nid(store, "float:relu", "other")


def test_new_runs_are_seen_by_an_open_store(store: Store) -> None:
    with connect(store.path, read_only=True) as reader:
        assert len(reader.runs()) == 1
        store.commit(tiny("other"))
        assert [row[1] for row in reader.runs()] == ["other", "tiny"]
        assert reader.worst("cosine", run="other").nids()[0] == nid(reader, "edge:relu_1", "other")


def test_a_store_may_stand_at_a_path_with_a_pattern_in_it(tmp_path: object) -> None:
    with connect(f"{tmp_path}/a[1]*? 'x'/st\"ore") as store:
        store.commit(tiny())
        assert len(store.worst("cosine")) == 3
        assert store.sql("SELECT count(*) FROM nodes").fetchall() == [(10,)]
