"""Numbers that a user brings: mappings, tables and files; cases 38 and 39, and what other tools make of NaN."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import fxstore
from fxstore.api import Store
from fxstore.errors import FxstoreError, QueryError, SourceError, UsageError
from fxstore.ingest import adapters
from fxstore.ingest.adapters import Ingested
from tests.ingest.lines import chain

CASE_38 = {"model_a": {"conv2d": 0.91, "relu": 0.99}, "model_b": {"conv2d": 0.42, "relu": 0.50}}


def found(
    store: Store, overlay: str, columns: str = "node, metric, value, text, status, reason"
) -> list[tuple[Any, ...]]:
    query = (
        f"SELECT {columns} FROM (SELECT n.stage, n.name AS node, m.* FROM metrics m JOIN overlays o USING (overlay_id)"
        " LEFT JOIN nodes n ON n.nid = m.nid WHERE o.name = ?) ORDER BY ALL"
    )
    return store.sql(query, [overlay]).fetchall()


@pytest.fixture
def store() -> Any:
    with fxstore.connect(":memory:") as opened:
        yield opened


def ingest(store: Store, data: Any, *operators: str, **options: Any) -> Any:
    return store.ingest({"float": chain(*operators or ("sin", "tanh", "exp")), "given": data}, **options)


def test_case_38_a_name_in_two_stages_is_an_error_not_a_guess(store: Store) -> None:
    models = {name: chain("conv2d", "relu") for name in CASE_38}
    with pytest.raises(UsageError, match="'conv2d' names several nodes: in model_a, model_b") as caught:
        store.ingest({**models, "mine": CASE_38["model_b"]})
    assert "stage=" in str(caught.value.hint)
    assert store.runs().fetchall() == []
    with store.record("both") as rec:
        for name, graph in models.items():
            rec.stage(name, graph)
        with pytest.raises(UsageError, match="names several nodes"):
            rec.overlay("mine", CASE_38["model_b"])
        for name, values in CASE_38.items():
            rec.overlay(name, values, stage=name)
    for name, values in CASE_38.items():
        assert dict(found(store, name, "node, value")) == values
        assert {stage for (stage,) in found(store, name, "stage")} == {name}


def test_case_39_missing_stays_missing(store: Store) -> None:
    operators = ("sin", "cos", "tanh", "relu", "exp", "neg", "add")
    ingest(store, {"sin": 0.9, "tanh": 0.6, "exp": 0.9}, *operators, metric="cosine")
    assert store.sql(
        "SELECT nodes, measured, not_measured, reasons FROM coverage JOIN overlays USING (overlay_id)"
        " WHERE name = 'given'"
    ).fetchall() == [(7, 3, 4, {"no data": 4})]
    assert next(row[2] for row in store.sql("SELECT nid, stage, name FROM worst('cosine')").fetchall()) == "tanh"
    assert len(store.worst("cosine").fetchall()) == 3
    assert store.sql("SELECT avg(value), count(value) FROM metrics WHERE metric = 'cosine'").fetchall() == [
        (pytest.approx(0.8), 3)
    ]


def test_nan_is_a_number_and_none_is_missing(store: Store) -> None:
    ingest(store, {"sin": math.nan, "tanh": None, "exp": math.inf, ("exp", 1): True})
    rows = {row[:2]: row[2:] for row in found(store, "given", "node, port, value, text, status, reason")}
    assert math.isnan(rows["sin", 0][0])
    assert rows["sin", 0][2] == "non_finite"
    assert rows["tanh", 0] == (None, None, "not_measured", "no value given")
    assert rows["exp", 0][0] == math.inf
    assert rows["exp", 1] == (None, "true", "ok", None)
    assert {better for (better,) in found(store, "given", "better")} == {None}
    with pytest.raises(QueryError, match="'value' has no direction") as error:
        store.worst("value")
    assert "better='higher'" in str(error.value.hint)


def test_overlays_lie_on_inputs_and_outputs_and_span_stages(store: Store) -> None:
    data = pa.table(
        {
            "node": ["x", "output", "sin", "sin"],
            "stage": ["float", "float", "float", "edge"],
            "mse": [0.0, 1.0, 2.0, 3.0],
            "owner": ["a", None, "b", "c"],
        }
    )
    store.ingest({"float": chain("sin"), "edge": chain("sin"), "spans": data})
    rows = found(store, "spans", "stage, node, metric, value, text")
    assert ("float", "output", "mse", 1.0, None) in rows
    assert ("float", "x", "mse", 0.0, None) in rows
    assert ("edge", "sin", "owner", None, "c") in rows
    assert ("float", "output", "owner", None, None) in rows


def test_ids_that_match_nothing_are_counted_with_the_nearest_names(store: Store) -> None:
    run = ingest(store, {"sine": 1.0, "tanh": 2.0, "zzz": 3.0})
    assert run.notes == (
        "overlay given: 2 ids lie on no node: 'sine' names no node; did you mean 'sin'?; 'zzz' names no node",
    )
    lost = store.sql("SELECT text, value FROM metrics WHERE nid IS NULL ORDER BY value").fetchall()
    assert lost == [("sine", 1.0), ("zzz", 3.0)]


def test_texts_alone_are_categories(store: Store) -> None:
    ingest(store, {"sin": "XNNPACK", "exp": "portable"})
    assert store.sql("SELECT name, kind FROM overlays WHERE name = 'given'").fetchall() == [("given", "category")]


def test_csv_keeps_nan_missing_and_text_apart(store: Store, tmp_path: Path) -> None:
    (tmp_path / "acc.csv").write_text(
        'name,cosine,mse,label\nsin,NaN,0.5,"a,b ""c"""\ntanh,,inf,=SUM(A1)\nexp,0.25,N/A,\n', encoding="utf-8-sig"
    )
    store.ingest({"float": chain("sin", "tanh", "exp"), "acc": tmp_path / "acc.csv"}, stage="float")
    rows = {row[:2]: row[2:] for row in found(store, "acc")}
    assert math.isnan(rows["sin", "cosine"][0])
    assert rows["tanh", "cosine"] == (None, None, "not_measured", "no value given")
    assert rows["tanh", "mse"][0] == math.inf
    assert rows["sin", "label"][1] == 'a,b "c"'
    assert rows["tanh", "label"][1] == "=SUM(A1)"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(separator: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(separator.join(["node", "mse"]) + "\n" + separator.join(["sin", "1.5"]) + "\n")
    (layer,) = adapters.read(tmp_path / "m.csv").overlays
    assert layer.rows.select(["node", "value"]).to_pylist() == [{"node": "sin", "value": 1.5}]  # type: ignore[attr-defined]


def test_a_long_table_and_parquet(store: Store, tmp_path: Path) -> None:
    table = pa.table(
        {
            "node": ["sin", "sin", "exp"],
            "metric": ["mse", "psnr", "mse"],
            "value": [0.5, math.nan, None],
            "port": pa.array([0, 0, 1], pa.int64()),
            "reason": [None, None, "shape (2) vs (3)"],
        }
    )
    parquet.write_table(table, tmp_path / "long.parquet")
    store.ingest({"float": chain("sin", "exp"), "long": tmp_path / "long.parquet"})
    rows = {row[:3]: row[3:] for row in found(store, "long", "node, metric, port, value, status, reason")}
    assert rows["exp", "mse", 1] == (None, "not_measured", "shape (2) vs (3)")
    assert math.isnan(rows["sin", "psnr", 0][0])
    store.ingest({"float": chain("sin"), "long": table}, metrics=["psnr"])
    assert {metric for (metric,) in found(store, "long", "metric")} == {"mse", "psnr"}


def test_frames(store: Store) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"mse": [math.nan, 1.0], "who": ["a", None]}, index=["sin", "exp"])
    frame["n"] = pandas.array([None, 3], dtype="Int64")
    store.ingest({"float": chain("sin", "exp"), "frame": frame})
    rows = {row[:2]: row[2:] for row in found(store, "frame")}
    assert math.isnan(rows["sin", "mse"][0])
    assert rows["sin", "n"][0] is None
    assert rows["exp", "n"][0] == 3.0
    assert rows["exp", "who"][:2] == (None, None)


def test_any_arrow_stream(store: Store) -> None:
    class Stream:
        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            return pa.table({"node": ["sin"], "mse": [2.5]}).__arrow_c_stream__(schema)

    store.ingest({"float": chain("sin"), "s": Stream()})
    assert found(store, "s", "node, value") == [("sin", 2.5)]


def test_the_frame_of_calculate_numeric_gap(store: Store) -> None:
    pandas = pytest.importorskip("pandas")
    ones, nan = [[1.0, 2.0]], [[math.nan, 1.0]]
    frame = pandas.DataFrame(
        {
            "aot_ops": [["sin", "tanh"], ["exp"], ["neg"], ["abs"]],
            "aot_intermediate_output": [ones, nan, ones, ones],
            "runtime_ops": [["native_call_tanh.out"], ["DELEGATE_CALL"], ["x"], ["y"]],
            "runtime_intermediate_output": [ones, ones, [[0.0, 0.0]], ones],
            "gap": [[0.25], [0.0], [2.5], [7.0]],
        }
    )
    ingest(store, frame, "sin", "tanh", "exp", "neg", "abs", metric="MSE")
    rows = {row[0]: row[1:] for row in found(store, "given", "node, metric, value, text, reason")}
    assert rows["tanh"] == ("MSE", 0.25, "sin, tanh", None)
    assert math.isnan(rows["exp"][1])
    assert "Inspector reports it as 0" in rows["exp"][3]
    assert rows["neg"][1] == 2.5
    assert "buffer may be missing" in rows["neg"][3]
    assert "sin" not in rows


def gap_frame(pandas: Any) -> Any:
    """As Inspector makes it, with tensors that are printed as a file has them."""
    ones, nan, cut = "tensor([[1., 2.]])", "tensor([[nan, 1.]])", "tensor([[1., ..., 2.]])"
    return pandas.DataFrame(
        {
            "aot_ops": [["sin", "tanh"], ["exp"], ["neg"], ["abs"]],
            "aot_intermediate_output": [ones, nan, cut, ones],
            "runtime_ops": [["a"], ["b"], ["c"], ["d"]],
            "runtime_intermediate_output": [ones, ones, cut, ones],
            "gap": [[25.5], [0.0], [12.5], [math.inf]],
            "stacktraces": [{"sin": None}, {}, {}, {}],
        }
    )


@pytest.mark.parametrize(
    ("metric", "better"),
    [("SNR", "higher"), ("Cosine", "higher"), ("MSE", "lower"), ("L1", "lower"), (None, None), ("my score", None)],
)
@pytest.mark.parametrize("form", ["frame", "csv", "tsv"])
def test_a_gap_has_a_direction_where_its_metric_is_told(
    form: str, metric: str | None, better: str | None, store: Store, tmp_path: Path
) -> None:
    frame = gap_frame(pytest.importorskip("pandas"))
    data: Any = frame
    if form != "frame":
        data = tmp_path / f"given.{form}"
        frame.to_csv(data, sep={"csv": ",", "tsv": "\t"}[form])
    ingest(store, data, "sin", "tanh", "exp", "neg", "abs", **({"metric": metric} if metric else {}))
    rows = {row[0]: row[1:] for row in found(store, "given", "node, metric, value, text, reason, better")}
    assert rows["tanh"] == (metric or "gap", 25.5, "sin, tanh", None, better)
    assert math.isnan(rows["exp"][1])
    assert rows["abs"][1] == math.inf
    assert "not known" in rows["neg"][3]
    if better == "higher":
        assert [row[2] for row in store.worst(metric or "", n=2).fetchall()] == ["exp", "abs"]
        assert store.first_bad(metric or "", 20).fetchall()[0][2] == "exp"
    elif better is None:
        with pytest.raises(QueryError, match="no direction"):
            store.worst(metric or "gap")


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_a_gap_has_the_direction_that_it_is_given(form: str, store: Store, tmp_path: Path) -> None:
    frame = gap_frame(pytest.importorskip("pandas"))
    frame.to_csv(tmp_path / "given.csv")
    data = frame if form == "frame" else tmp_path / "given.csv"
    ingest(store, data, "sin", "tanh", "exp", "neg", "abs", better="higher")
    assert [row[2:4] for row in store.worst("gap").fetchall()][2:] == [("neg", 12.5), ("tanh", 25.5)]


def events_frame(pandas: Any, unit: str) -> Any:
    times = {name: [1.5, 4.0, 0.5, 9.0] for name in (f"p50{unit}", f"avg{unit}")}
    return pandas.DataFrame(
        {
            "event_block_name": ["Execute"] * 4,
            "event_name": ["native_call_sin.out", "DELEGATE_CALL", "Method::execute", "native_call_exp.out"],
            "raw": [[1.0, 2.0], [4.0, 4.0], [0.5, 0.5], [9.0]],
            **times,
            "delegate_debug_identifier": [None, None, None, None],
            "stack_traces": [{"sin_": "model.py:3"}, {"tanh_": None, "neg_": None}, {}, {}],
            "module_hierarchy": [{"sin_": {"L__self__": ("", "__main__.Net")}}, {}, {}, {}],
            "is_delegated_op": [False] * 4,
        }
    )


@pytest.mark.parametrize("form", ["frame", "csv"])
@pytest.mark.parametrize(
    ("unit", "stored", "factor"), [(" (ms)", "ns", 1e6), (" (cycles)", "cycles", 1), ("", None, 1)]
)
def test_the_events_of_an_inspector_lie_on_the_nodes_that_they_name(
    form: str, unit: str, stored: str | None, factor: float, store: Store, tmp_path: Path
) -> None:
    frame = events_frame(pytest.importorskip("pandas"), unit)
    frame.to_csv(tmp_path / "given.csv")
    ingest(store, frame if form == "frame" else tmp_path / "given.csv", "sin", "tanh", "neg", "exp")
    rows = {row for row in found(store, "given", "node, metric, value, sample, text, better, unit") if row[0]}
    own = "native_call_sin.out", "lower", stored
    assert rows == {
        ("sin", "latency", 1.0 * factor, 0, *own),
        ("sin", "latency", 2.0 * factor, 1, *own),
        *(
            (name, "latency_shared", 4.0 * factor, i, "DELEGATE_CALL", "lower", stored)
            for name in ("tanh", "neg")
            for i in (0, 1)
        ),
    }
    lost = dict.fromkeys(row[1:] for row in found(store, "given", "node, text, metric, reason") if row[0] is None)
    assert [row[:2] for row in lost] == [("Method::execute", "latency_framework"), ("native_call_exp.out", "latency")]
    assert [row[2] is not None and "ETRecord" in row[2] for row in lost] == [False, True]


def test_events_without_their_times_one_by_one_have_statistics(store: Store, tmp_path: Path) -> None:
    frame = events_frame(pytest.importorskip("pandas"), " (us)").drop(columns=["raw"])
    frame.to_csv(tmp_path / "given.tsv", sep="\t")
    ingest(store, tmp_path / "given.tsv", "sin", "tanh", "neg", "exp")
    rows = found(store, "given", "node, metric, value, unit, better")
    assert ("sin", "latency.p50", 1500.0, "ns", "lower") in rows
    assert ("sin", "latency.mean", 1500.0, "ns", "lower") in rows
    assert store.sql("SELECT kind FROM overlays WHERE name = 'given'").fetchall() == [("statistics",)]


QNN_HEADER = "name,op_code,target,num_users,pytorch_layout,scale(s),zero_point(s),debug_handle,{},is_valid_score\n"


def test_the_csv_of_the_qnn_debugger(store: Store, tmp_path: Path) -> None:
    (tmp_path / "debug.csv").write_text(
        QNN_HEADER.format("cosine_similarity")
        + 'x,placeholder,x,1,"torch.Size([1, 3])",,,,,\r\n'
        + 'sin,call_function,aten.sin.default,1,"torch.Size([1, 3])",0.02,-3,5,0.4,False\r\n'
        + 'exp,call_function,aten.exp.default,1,"torch.Size([1, 3])",,,7,0.999,True\r\n'
    )
    store.ingest({"edge": chain("sin", "exp"), "debug": tmp_path / "debug.csv"})
    rows = {row[:2]: row[2:] for row in found(store, "debug", "node, metric, value, text, reason")}
    assert rows["sin", "cosine_similarity"] == (0.4, None, None)
    assert rows["sin", "is_valid_score"] == (None, "not valid", None)
    verdicts = found(store, "debug", "node, verdict")
    assert {row for row in verdicts if row[1]} == {("sin", "fail"), ("exp", "pass")}
    assert rows["x", "cosine_similarity"] == (None, None, "the debugger has no match between device and CPU")
    assert store.sql("SELECT kind, better FROM overlays WHERE name = 'debug'").fetchall() == [("accuracy", "higher")]
    assert store.worst("cosine_similarity").fetchall()[0][2] == "sin"


def test_numbers_are_taken_in_after_their_graphs_by_the_command_line(tmp_path: Path) -> None:
    from fxstore.cli import run

    (tmp_path / "g.json").write_text('[{"id": "g", "nodes": [{"id": "sin", "label": "sin"}]}]')
    (tmp_path / "m.csv").write_text("node,mse\nsin,1.5\n")
    arguments = [
        "ingest",
        "--store",
        str(tmp_path / "s"),
        str(tmp_path / "g.json"),
        str(tmp_path / "m.csv"),
        "-O",
        "kind=static",
    ]
    assert run(arguments) == 0
    with fxstore.connect(tmp_path / "s") as store:
        assert found(store, "m", "node, value") == [("sin", 1.5)]
        assert store.sql("SELECT kind FROM overlays WHERE name = 'm'").fetchall() == [("static",)]


@pytest.mark.parametrize(
    ("data", "options", "says"),
    [
        ({"sin": 1.0}, {"kind": "acuracy"}, "no overlay kind 'acuracy'"),
        ({"sin": 1.0}, {"better": "up"}, "better cannot be 'up'"),
        ({"sin": 1.0}, {"stage": "flaot"}, "stage 'flaot' is not in this run"),
        ({"sin": object()}, {}, "value of node 'sin' is a object"),
        ({3: 1.0}, {}, "3 names no node"),
        (7, {}, "an overlay cannot be made of a int"),
        (pa.table({"a": [1.0]}), {}, "no column names the nodes"),
        (pa.table({"node": ["sin"], "mse": [1.0]}), {"metrics": ["msa"]}, "no column 'msa'"),
        (pa.table({"node": ["sin"], "mse": [1.0]}), {"node": "nod"}, "no column 'nod'"),
        (pa.table({"node": ["sin"], "mse": [1.0], "port": ["a"]}), {}, "column 'port'"),
    ],
)
def test_arguments_are_checked_at_the_call(store: Store, data: Any, options: dict[str, Any], says: str) -> None:
    with store.record("run") as rec:
        rec.stage("float", chain("sin"))
        with pytest.raises(UsageError, match=says) as caught:
            rec.overlay("mine", data, **options)
        assert caught.value.hint
    assert store.runs().fetchall()


def test_an_overlay_that_is_wrong_does_not_cost_the_run_its_graphs(store: Store) -> None:
    with store.record("run") as rec:
        rec.stage("a", chain("sin"))
        rec.stage("b", chain("sin"))
        rec.stage("numbers", {"sin": 1.0})
    assert rec.run is not None
    assert rec.run.status == "partial"
    assert rec.run.notes == ("overlay numbers is not laid: overlay numbers: 'sin' names several nodes: in a, b",)


def bombs() -> dict[str, bytes]:
    return {
        "rows.csv": b"node,mse\n" + b"a,1\n" * 3_000_000,
        "wide.csv": b",".join(b"c" * 2 for _ in range(200_000))
        + b"\n"
        + b",".join(b"1" for _ in range(200_000))
        + b"\n" * 40,
        "large.csv": b"node,mse\n" + b"x" * (65 << 20),
        "latin.csv": "node,mse\nsün,1\n".encode("latin-1"),
        "utf16.csv": "node,mse\nsin,1\n".encode("utf-16"),
        "ragged.csv": b"node,mse\nsin,1,2,3\nsin\n",
        "nul.csv": b"\0" * 1000,
        "nothing.csv": b"",
        "not.parquet": b"PAR1" + b"\xff" * 1000 + b"PAR1",
    }


@pytest.mark.parametrize("name", sorted(bombs()))
def test_hostile_tables_are_refused_in_time(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(bombs()[name])
    begun = time.process_time()
    with pytest.raises(FxstoreError) as caught:
        adapters.read(tmp_path / name)
    assert isinstance(caught.value, SourceError | UsageError)
    assert time.process_time() - begun < 2


def test_a_parquet_bomb_of_one_long_text_is_refused(tmp_path: Path) -> None:
    table = pa.table({"node": pa.array(["x" * 10_000] * 100_000).dictionary_encode(), "mse": [1.0] * 100_000})
    parquet.write_table(table, tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 1 << 20
    begun = time.process_time()
    with pytest.raises(SourceError, match="MiB of text"):
        adapters.read(tmp_path / "bomb.parquet")
    assert time.process_time() - begun < 2


def test_many_numbers_are_laid_in_time(store: Store) -> None:
    operators = [f"op{i}" for i in range(2000)]
    table = pa.table({"node": operators, **{f"m{i}": [float(i)] * 2000 for i in range(10)}})
    begun = time.process_time()
    store.ingest({"float": chain(*operators), "many": table})
    assert time.process_time() - begun < 5
    assert store.sql("SELECT count(*) FROM metrics WHERE metric LIKE 'm_'").fetchall() == [(20_000,)]


def test_what_is_read_says_nothing_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("node,mse\nsin,1.5\n")
    found = adapters.read(tmp_path / "m.csv")
    assert isinstance(found, Ingested)
    assert [(layer.name, layer.source) for layer in found.overlays] == [("m", "CSV")]  # type: ignore[attr-defined]
