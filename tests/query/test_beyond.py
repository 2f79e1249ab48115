"""What leaves a store: exports, connections of one's own, limits, and the agents' server."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest

from fxstore import Store, __version__, connect
from fxstore.cli import fxstore
from fxstore.cli import run as command
from fxstore.errors import QueryError, UsageError
from fxstore.query.engine import RELATIONS
from fxstore.query.sandbox import QUESTIONS
from tests.query.conftest import tiny


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
        store.commit(tiny("other"))
    return tmp_path / "store"


def test_one_duckdb_file_holds_all_relations(store: Store, tmp_path: Path) -> None:
    import duckdb

    path = store.export("duckdb", tmp_path / "out.duckdb")
    with duckdb.connect(str(path), read_only=True) as opened:
        for relation in RELATIONS:
            expected = store.sql(f"SELECT count(*) FROM {relation}").fetchall()
            assert opened.execute(f"SELECT count(*) FROM {relation}").fetchall() == expected
        assert opened.execute("SELECT count(*) FROM metrics WHERE isnan(value)").fetchall() == [(1,)]
        ((comment,),) = opened.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 'nodes'").fetchall()
        assert comment == "One row per node of every graph."


def test_a_folder_of_parquet_of_one_run(store: Store, tmp_path: Path) -> None:
    store.commit(tiny("other"))
    path = store.export("parquet", tmp_path / "out", run="tiny")
    assert {file.name for file in path.iterdir()} == {f"{relation}.parquet" for relation in RELATIONS}
    assert pq.read_table(path / "nodes.parquet").num_rows == pq.read_table(path / "node_roles.parquet").num_rows == 10
    values = pq.read_table(path / "metrics.parquet")["value"].to_pylist()
    assert sum(value is not None and math.isnan(value) for value in values) == 1


def test_text_formats(store: Store, tmp_path: Path) -> None:
    rows = json.loads((store.export("json", tmp_path / "j") / "metrics.json").read_text())
    assert [row["value"] for row in rows if row["value"] == "NaN"] == ["NaN"]
    lines = (store.export("csv", tmp_path / "c") / "nodes.csv").read_text().splitlines()
    assert (len(lines), lines[0][:14]) == (11, "nid,graph_id,r")


def test_an_export_never_overwrites_unasked(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("mine")
    with pytest.raises(UsageError, match="out exists"):
        store.export("csv", target)
    with pytest.raises(UsageError, match="no export format 'cvs'") as error:
        store.export("cvs", tmp_path / "x")
    assert "'csv'" in str(error.value.hint)
    with pytest.raises(QueryError, match="no run 'nope'"):
        store.export("csv", target, run="nope", overwrite=True)
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_export_from_the_command_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = place.parent / "out.duckdb"
    assert command(["export", "duckdb", "--store", str(place), "-o", str(out)]) == 0
    assert f"Wrote {out} (" in capsys.readouterr().err
    assert command(["export", "duckdb", "--store", str(place), "-o", str(out)]) == 2


def test_a_connection_of_ones_own_sees_only_the_store_and_changes_nothing_in_it(place: Path) -> None:
    import duckdb

    secret, before = place.parent / "secret.csv", _bytes(place)
    secret.write_text("a\n1\n")
    inside = next(place.rglob("nodes.parquet"))
    with connect(place, read_only=True) as store, store.duckdb() as own:
        assert own.execute("SELECT count(*) FROM nodes").fetchall() == [(20,)]
        assert own.execute("SELECT name FROM worst('cosine', n := 1)").fetchall() == [("relu_1",)]
        views = own.execute("SELECT table_name FROM information_schema.tables").fetchall()
        assert set(RELATIONS) <= {name for (name,) in views}
        for statement in (
            f"FROM '{secret}'",
            f"FROM '{inside}'",
            f"COPY (SELECT 1) TO '{place.parent}/x'",
            f"COPY (SELECT 1) TO '{inside}'",
            f"COPY (SELECT 1) TO '{inside}' (USE_TMP_FILE false)",
            f"ATTACH '{place}/x.db' AS x",
            f"EXPORT DATABASE '{place}/x'",
            "SET threads = 1",
            "INSTALL spatial",
        ):
            with pytest.raises(duckdb.Error):
                own.execute(statement)
        own.execute("CREATE OR REPLACE VIEW nodes AS SELECT 1 AS x")
        own.execute("DELETE FROM _runs")
    assert _bytes(place) == before


def _bytes(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_sqlalchemy_takes_the_connection(store: Store) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    duckdb_engine = pytest.importorskip("duckdb_engine")
    connection = store.duckdb()
    engine = sqlalchemy.create_engine(
        "duckdb://",
        creator=lambda: duckdb_engine.ConnectionWrapper(connection),
        poolclass=sqlalchemy.pool.StaticPool,
    )
    with engine.connect() as asked:
        assert asked.execute(sqlalchemy.text("SELECT count(*) FROM nodes")).fetchall() == [(10,)]


def test_ibis_writes_sql_that_the_store_answers(store: Store) -> None:
    """ibis 12 itself cannot fetch from DuckDB 2, which has no ``fetch_arrow_table`` any more."""
    ibis = pytest.importorskip("ibis")
    nodes = ibis.table({"nid": "int64", "stage": "string", "name": "string"}, name="nodes")
    asked = nodes.filter(nodes.stage == "edge", nodes.name.startswith("relu")).select("nid", "name")
    result = store.sql(str(ibis.to_sql(asked, dialect="duckdb")))
    assert [name for _, name in result] == ["relu_1"]
    assert len(result.nids()) == 1


def test_ibis_takes_the_connection(store: Store) -> None:
    ibis = pytest.importorskip("ibis")
    connection = store.duckdb()
    if not hasattr(connection, "fetch_arrow_table"):
        pytest.skip("this ibis calls fetch_arrow_table, which DuckDB 2 has no more")
    assert ibis.duckdb.from_connection(connection).table("nodes").count().to_pyarrow().as_py() == 10


def test_limits_hold_in_a_process_of_its_own(place: Path) -> None:
    endless = "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b WHERE a.range % 7 = b.range % 5"
    with connect(place, read_only=True) as store:
        result = store.sql("SELECT name, value FROM worst($m, n := 2)", {"m": "cosine"}, timeout=60, memory_mb=500)
        assert [row[0] for row in result] == ["relu_1", "mean_1"]
        began = time.monotonic()
        with pytest.raises(QueryError, match="took longer than 3 s"):
            store.sql(endless, timeout=3).fetchall()
        assert time.monotonic() - began < 20
        with pytest.raises(QueryError):
            store.sql("SELECT len(list(random())) FROM range(200000000)", memory_mb=64, timeout=60).fetchall()
        with pytest.raises(QueryError, match="refused") as error:
            store.sql("FROM read_text('/etc/passwd')", timeout=60).fetchall()
        assert error.value.hint is not None
        assert len(store.runs()) == 2


def test_every_question_takes_limits(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with connect(place, read_only=True) as store:
        honest = store.worst("cosine")
        limited = store.limited(timeout=60, memory_mb=500).worst("cosine")
        assert repr(limited.fetchall()) == repr(honest.fetchall())
        assert limited.nids() == honest.nids()
        assert limited.coverage == honest.coverage is not None
        with pytest.raises(QueryError, match="no metric 'cosin'") as error:
            store.limited(60).worst("cosin").fetchall()
        assert error.value.hint == "did you mean 'cosine'?"
        with pytest.raises(AttributeError):
            store.limited(60).commit  # noqa: B018
        with pytest.raises(QueryError, match=r"took longer than 0\.01 s"):
            store.limited(0.01).match("conv*").fetchall()
    assert command(["match", "conv*", "--timeout", "0.01", "--store", str(place)]) == 1
    assert "took longer than 0.01 s" in capsys.readouterr().err


def test_every_verb_that_reads_takes_limits() -> None:
    said = {"nodes_between": "between", "run_diff": "diff"}
    questions = {said.get(question, question.replace("_", "-")) for question in QUESTIONS - {"sync_nid"}}
    for name in sorted(questions | {"compare", "check", "export", "schema"}):
        verb = fxstore.get_command(click.Context(fxstore), name)
        assert verb is not None, name
        assert {"timeout", "memory"} <= {option.name for option in verb.params}, name


def test_limits_of_a_whole_verb(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    where = ["--store", str(place)]
    page = tmp_path / "page.html"
    assert command(["compare", "-o", str(page), "--timeout", "60", "--memory", "500", *where]) == 0
    assert page.stat().st_size > 10_000
    assert "Wrote" in capfd.readouterr().err
    assert command(["check", "tiny", "tiny", "--rule", "cosine >= 0.99", "--timeout", "60", *where]) == 3
    assert "1 tripped" in capfd.readouterr().err
    assert command(["schema", "nodes", "--format", "json", "--timeout", "60", *where]) == 0
    assert json.loads(capfd.readouterr().out)[0]["name"] == "nodes"
    assert command(["export", "csv", "-o", str(tmp_path / "csv"), "--timeout", "0.001", *where]) == 1
    assert "took longer than 0.001 s" in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "store"]


def test_a_limit_holds_for_what_a_script_runs_in_the_background(place: Path, tmp_path: Path) -> None:
    """There an interrupt is ignored, which the processes that it starts take over."""
    target = tmp_path / "csv"
    given = ["export", "csv", "-o", str(target), "--timeout", "0.001", "--store", str(place)]
    program = f"from fxstore.cli import limits, main; limits._GRACE_S = 60.0; main({given!r})"
    shell = f"trap '' INT; exec {shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, target.exists()) == (1, False), done.stderr
    assert "took longer than 0.001 s" in done.stderr


@pytest.mark.parametrize("arguments", [["ancestors", "1", "--hops", "0"], ["compare"], ["check", "a"]])
def test_wrong_usage_is_the_same_within_limits(place: Path, arguments: list[str]) -> None:
    for limits in ([], ["--timeout", "60"]):
        assert command([*arguments, *limits, "--store", str(place)]) == 2
    with connect(place, read_only=True) as store, pytest.raises(UsageError, match="a nid is a whole number"):
        store.limited(timeout=60).ancestors(1.5).fetchall()  # type: ignore[arg-type]


def test_errors_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (
        (["sql", "SELECT nme FROM nodes", "--format", "json"], 1),
        (["worst", "--format=json"], 2),
        (["sql", "DROP TABLE x", "--format", "jsonl"], 1),
    ):
        assert command([*arguments, "--store", str(place)]) == code
        captured = capsys.readouterr()
        said = json.loads(captured.err)
        assert captured.out == ""
        assert said["exit_code"] == code
        assert said["error"]
        assert said["hint"]


@pytest.mark.parametrize("wrong", [None, 5, b"x"])
def test_a_store_is_opened_at_a_path(wrong: Any) -> None:
    with pytest.raises(UsageError, match="a store is opened at a path, not at"):
        connect(wrong)


def test_tags_are_a_dict(store: Store) -> None:
    wrong: Any = "ab"
    with pytest.raises(UsageError, match="tags are a dict of texts, not 'ab'"):
        store.record("x", tags=wrong)


def test_an_agent_asks_over_standard_input_and_output(place: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the agents' server needs the extra mcp")
    anyio = pytest.importorskip("anyio")
    code = "from fxstore.cli import main; main()"
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", "--timeout", "5", "--store", str(place)]
    )

    async def ask() -> dict[str, Any]:
        answers = {}
        async with mcp.Client(server) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert listed == QUESTIONS - {"run_diff"} | {"diff", "schema", "why", "check", "compare"}
            assert client.server_info.version == __version__
            for key, tool, arguments in (
                ("worst", "worst", {"metric": "cosine"}),
                ("sql", "sql", {"query": "SELECT count(*) AS n FROM runs"}),
                ("refused", "sql", {"query": "DROP TABLE runs"}),
                ("schema", "schema", {"relation": "runs"}),
                ("sync", "sync", {"stage": "float", "node": "conv2d"}),
                ("trace", "trace", {"stage": "float", "node": "conv2d"}),
                ("diff", "diff", {"base": "tiny", "head": "other"}),
                ("page", "compare", {"query": "FROM worst('cosine')"}),
                ("first", "first_bad", {"metric": "cosine", "threshold": 0.5}),
                ("why", "why", {"run": "tiny"}),
                ("check", "check", {"base": "tiny", "head": "other", "rules": ["cosine >= 0.1"]}),
                ("no rule", "check", {"base": "tiny", "head": "other", "rules": ["cosine"]}),
                ("no run", "why", {"run": "tinny"}),
                ("endless", "sql", {"query": "SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c"}),
                ("after", "runs", {}),
            ):
                told = await client.call_tool(tool, arguments)
                assert told.is_error == (key in ("refused", "no rule", "no run", "endless")), told
                text = told.content[0].text
                answers[key] = json.loads(text[text.index("{") :] if told.is_error else text)
        return answers

    with ThreadPoolExecutor() as threads:  # a browser of other tests may run a loop in this one
        said = threads.submit(anyio.run, ask).result()
    assert [row["value"] for row in said["worst"]["rows"]] == ["NaN", 0.2, 0.9]
    assert said["worst"]["coverage"] == "3 of 4 nodes measured; not measured: 1 no buffer"
    assert said["sql"]["rows"] == [{"n": 2}]
    assert said["refused"]["error"].startswith("refused: ")
    assert said["schema"][0]["name"] == "runs"
    assert {row["stage"] for row in said["sync"]["rows"]} == {"float", "edge"}
    assert said["trace"]["row_count"] >= 2
    assert (said["diff"]["counts"], said["diff"]["rows"]) == ({"same": 10}, [])
    assert Path(said["page"]["path"]).stat().st_size == said["page"]["bytes"]
    assert [row["name"] for row in said["first"]["rows"]] == ["relu_1"]
    assert (said["why"]["level"], said["why"]["stage"]) == ("bad", "edge")
    assert [row["state"] for row in said["check"] if row["name"] == "relu_1"] == ["tripped"]
    assert "cosine" in said["no rule"]["error"]
    assert said["no run"] == {"error": "no run 'tinny' in this store", "hint": "did you mean 'tiny'?"}
    assert "took longer than 5 s" in said["endless"]["error"]
    assert said["after"]["row_count"] == 2
