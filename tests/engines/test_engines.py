"""Each relation has equal rows in DuckDB and in every other engine that reads the store: same SQL, same files."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fxstore import connect
from fxstore.engines import portable
from fxstore.errors import StoreError, UsageError
from fxstore.query.engine import RELATIONS
from fxstore.store import parquet
from tests.engines import odd
from tests.engines.engines import ENGINES, WORKERS, Other, comparable, ours
from tests.store.records import chain, graph, metric, node, overlay, run

pytestmark = pytest.mark.filterwarnings("ignore:run .* is left out")


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Other]:
    with ENGINES[request.param]() as opened:
        yield opened


@pytest.fixture(scope="session")
def odd_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd.make(tmp_path_factory.mktemp("a store's place") / "100% ünï #1, a=b")


@pytest.fixture(scope="session")
def expected(odd_store: Path) -> Iterator[Callable[..., pa.Table]]:
    with ours(odd_store) as ask:
        yield ask


@pytest.fixture(scope="module")
def registered(engine: Other, odd_store: Path) -> Other:
    assert engine.register(odd_store, prefix="odd_") == tuple(f"odd_{name}" for name in RELATIONS)
    return engine


@pytest.mark.parametrize("relation", RELATIONS)
def test_odd_rows_are_equal(registered: Other, expected: Callable[..., pa.Table], relation: str) -> None:
    rows = expected(f"FROM {relation}")
    assert rows.num_rows
    assert comparable(registered.rows(f"SELECT * FROM odd_{relation}")) == comparable(rows)


def test_several_workers_are_asked(registered: Other) -> None:
    if "pyspark" not in type(registered.session).__module__:
        pytest.skip("DataFusion is one process")
    registered.rows("SELECT count(*) FROM odd_nodes")
    rows = registered.rows("SELECT worker_id, status FROM system.cluster.workers").to_pylist()
    assert [row["status"] for row in rows].count("RUNNING") >= WORKERS, rows


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("counts", {}),
    ("history", {"stage": "last", "node": "n1a \"b\"", "metric": "cosine", "model": None}),
    ("history", {"stage": "last", "node": "n2c:\\d", "metric": "mse", "model": "tiny"}),
    ("history", {"stage": "last", "node": "n0it's", "metric": "latency", "model": None}),
    ("regressions", {"metric": "cosine", "by": 0.05}),
    ("regressions", {"metric": "mse", "by": 0}),
    ("regressions", {"metric": "latency", "by": 1500.0}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "values"), QUESTIONS)
def test_questions_over_all_runs_have_equal_answers(
    registered: Other, expected: Callable[..., pa.Table], question: str, values: dict[str, Any]
) -> None:
    rows = expected(portable.questions()[question].sql(dialect="duckdb"), values)
    assert rows.num_rows
    answer = registered.ask(question, prefix="odd_", **values)
    assert comparable(answer) == comparable(rows)
    assert answer["model"].to_pylist() == rows["model"].to_pylist()


def night(cosine: float | None, latency: float, model: str | None = "net") -> Any:
    nodes = [node("x", "placeholder"), "conv2d", "relu", node("out", "output")]
    made = run(
        {"edge": graph(nodes, chain("x", "conv2d", "relu"))},
        name="nightly",
        overlays=[
            overlay("accuracy", [metric("edge:conv2d", "cosine", 1.0), metric("edge:relu", "cosine", cosine),
                                 {**metric("edge:relu", "cosine", 1.0), "sample": 1}]),
            overlay("device", [metric("edge:relu", "latency", latency)], "latency", "lower"),
        ],
    )  # fmt: skip
    return replace(made, model=model)


@pytest.fixture(scope="module")
def nightly(engine: Other, tmp_path_factory: pytest.TempPathFactory) -> Other:
    path = tmp_path_factory.mktemp("nightly") / "store"
    with connect(path) as store:
        for cosine, latency in ((0.99, 10), (0.98, 10), (math.nan, 15), (math.nan, 10), (0.5, 10), (None, 12)):
            store.commit(night(cosine, latency))
        store.commit(night(0.1, 99, model=None))
    engine.register(path, prefix="nightly_")
    return engine


def test_counts_are_of_each_model(nightly: Other) -> None:
    rows = nightly.ask("counts", prefix="nightly_").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (model, "edge", op, runs, 1, 1) for model, runs in (("net", 6), ("nightly", 1)) for op in ("conv2d", "relu")
    ]


def test_history_is_the_worst_of_each_run(nightly: Other) -> None:
    rows = nightly.ask("history", prefix="nightly_", stage="edge", node="relu", metric="cosine", model="net")
    assert repr(rows["value"].to_pylist()) == "[0.99, 0.98, nan, nan, 0.5, 1.0]"
    assert rows["created_at"].to_pylist() == sorted(rows["created_at"].to_pylist())
    everything = nightly.ask("history", prefix="nightly_", stage="edge", node="relu", metric="cosine")
    assert everything["model"].to_pylist() == ["net"] * 6 + ["nightly"]


def test_history_brings_numbers_together_as_the_macro_does(engine: Other, tmp_path: Path) -> None:
    """A cold execution, bytes on two ports, the worst of two samples."""
    times = [{**metric("edge:relu", "latency", v), "sample": i} for i, v in enumerate((90.0, 4.0, 5.0))]
    sizes = [
        {**metric("edge:relu", "size", v, unit="bytes"), "port": p, "sample": s}
        for v, p, s in ((8.0, 0, 0), (4.0, 1, 0), (9.0, 0, 1))
    ]
    cosines = [{**metric("edge:relu", "cosine", v), "sample": i} for i, v in enumerate((0.9, 0.3, 0.8))]
    overlays = [
        overlay("times", times, "latency", "lower"),
        overlay("sizes", sizes, "static", "lower"),
        overlay("acc", cosines),
    ]  # fmt: skip
    with connect(tmp_path / "store") as store:
        store.commit(run({"edge": graph(["relu"])}, name="one", overlays=overlays))
        said = {m: store.history("edge", "relu", m).arrow().to_pylist()[0] for m in ("latency", "size", "cosine")}
    engine.register(tmp_path / "store", prefix="together_")
    for name, known in (("latency", (5.0, None, 3)), ("size", (12.0, 0, None)), ("cosine", (0.3, 1, None))):
        (row,) = engine.ask("history", prefix="together_", stage="edge", node="relu", metric=name).to_pylist()
        assert (row["value"], row["sample"], row["executions"]) == known
        assert (said[name]["value"], said[name]["sample"], said[name]["executions"]) == known


def test_regressions_are_steps_for_the_worse(nightly: Other) -> None:
    rows = nightly.ask("regressions", prefix="nightly_", metric="cosine", by=0.001).to_pylist()
    assert [(row["name"], repr(row["last_value"]), repr(row["value"])) for row in rows] == [
        ("relu", "0.98", "nan"),
        ("relu", "0.99", "0.98"),
    ]
    few = nightly.ask("regressions", prefix="nightly_", metric="cosine", by=0.1).to_pylist()
    assert [row["name"] for row in few] == ["relu"]
    slower = nightly.ask("regressions", prefix="nightly_", metric="latency", by=1).to_pylist()
    assert [(row["last_value"], row["value"]) for row in slower] == [(10, 15), (10, 12)]


def test_a_real_compile_is_equal(engine: Other, demo: Any) -> None:
    """The demo's store: six stages of a network that was quantised, lowered and run."""
    path = demo.folder / "work" / "fxstore-runs"
    engine.register(path, prefix="demo_")
    assert_equal(engine, path, "demo_")
    assert engine.rows("SELECT max(hop) AS hops FROM demo_provenance").to_pylist()[0]["hops"] > 2


def assert_equal(engine: Other, path: Path, prefix: str) -> None:
    with ours(path) as ask:
        for relation in RELATIONS:
            rows = engine.rows(f"SELECT * FROM {prefix}{relation}")
            assert comparable(rows) == comparable(ask(f"FROM {relation}")), relation


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
RUNS = st.lists(
    st.tuples(
        st.lists(st.none() | st.floats(), min_size=1, max_size=4),
        st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS)
def test_any_rows_are_equal(engine: Other, tmp_path_factory: pytest.TempPathFactory, runs: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "store"
    with connect(path) as store:
        for number, (values, texts) in enumerate(runs):
            store.commit(odd.night(number, values=tuple(values), texts=tuple(texts)))
    engine.register(path, prefix="any_")
    assert_equal(engine, path, "any_")


def test_without_a_prefix_and_again_for_later_runs(engine: Other, tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        assert engine.register(tmp_path / "store") == RELATIONS
        for relation in RELATIONS:
            assert engine.rows(f"SELECT * FROM {relation}").num_rows == 0
        store.commit(night(0.5, 1))
        assert engine.rows("SELECT * FROM runs").num_rows == 0
        engine.register(tmp_path / "store")
        assert engine.rows("SELECT * FROM runs").num_rows == 1
        assert engine.rows("SELECT count(*) AS n FROM nodes").to_pylist() == [{"n": 4}]


def test_compacted_and_at_a_url_it_has_the_same_rows(engine: Other, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="needs the extra remote")
    odd.make(tmp_path / "store")
    engine.register(tmp_path / "store", prefix="loose_")
    with connect(tmp_path / "store") as store:
        before = {name: comparable(engine.rows(f"SELECT * FROM loose_{name}")) for name in RELATIONS}
        store.compact()
    assert list((tmp_path / "store" / "segments").iterdir())
    engine.register(tmp_path / "store", prefix="compacted_")
    engine.register(f"file://{tmp_path}/store", prefix="there_")
    for prefix in ("compacted_", "there_"):
        for name in RELATIONS:
            assert comparable(engine.rows(f"SELECT * FROM {prefix}{name}")) == before[name], prefix + name


@contextmanager
def few_open_files(more: int) -> Iterator[None]:
    """This process may open only so many files more than it has open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("runs", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_compacted_store_opens_few_files(
    engine: Other, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    """Where each run has files of its own, DataFusion opens all of them at once."""
    monkeypatch.setattr(parquet, "_flush", lambda handle: None)
    values = [1 - number / (2 * runs) for number in range(runs)]
    with connect(tmp_path / "store") as store:
        for value in values:
            store.commit(night(value, 10))
        if "datafusion" in type(engine.session).__module__:
            with few_open_files(80), pytest.warns(UserWarning, match=r"may open [0-9,]+ files.*fxstore compact"):
                engine.register(tmp_path / "store", prefix="loose_")
        assert store.compact(grace=0).runs == runs
    with few_open_files(80):
        engine.register(tmp_path / "store", prefix="many_")
        counts = engine.ask("counts", prefix="many_").to_pylist()
        history = engine.ask("history", prefix="many_", stage="edge", node="relu", metric="cosine")
    assert [tuple(row.values()) for row in counts] == [("net", "edge", op, runs, 1, 1) for op in ("conv2d", "relu")]
    assert history["value"].to_pylist() == values


def test_wrong_uses_say_what_to_do(engine: Other, odd_store: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        engine.register(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot begin the name of a view"):
        engine.register(odd_store, prefix="a; DROP TABLE x")
    with pytest.raises(UsageError, match="no question 'worst'") as unknown:
        engine.ask("worst")
    assert unknown.value.hint == "there are counts, history, regressions"
    with pytest.raises(UsageError, match="'history' needs metric"):
        engine.ask("history", stage="edge", node="relu")
    with pytest.raises(UsageError, match="'counts' has no metric") as too_much:
        engine.ask("counts", metric="cosine")
    assert too_much.value.hint == "it takes nothing"


def test_a_question_is_no_way_in(registered: Other) -> None:
    for text in ("' OR 1 = 1 --", "\\' OR 1 = 1 --", "\\", "$metric", ":metric", "\n'"):
        assert registered.ask("regressions", prefix="odd_", metric=text, by=0).num_rows == 0


@pytest.mark.slow
def test_pyspark_gives_equal_rows_too(odd_store: Path, expected: Callable[..., pa.Table], tmp_path: Path) -> None:
    """PySpark on a local cluster of two worker processes, in a process of its own: a JVM allows one session only."""
    pytest.importorskip("pyspark", reason="needs the extra spark")
    if shutil.which("java") is None:
        pytest.skip("PySpark needs Java")
    questions = [{"question": name, **values} for name, values in QUESTIONS]
    asked = [sys.executable, "-W", "ignore", "-m", "tests.engines.classic", str(odd_store), str(tmp_path)]
    done = subprocess.run([*asked, json.dumps(questions)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for relation in RELATIONS:
        rows = pq.read_table(tmp_path / f"{relation}.parquet")
        assert comparable(rows) == comparable(expected(f"FROM {relation}")), relation
    for number, (name, values) in enumerate(QUESTIONS):
        rows = expected(portable.questions()[name].sql(dialect="duckdb"), values)
        assert comparable(pq.read_table(tmp_path / f"{number}.parquet")) == comparable(rows), name
