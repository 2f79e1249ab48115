"""What a result gives, and the nodes that it names: found by value, whatever the query did with them."""

from __future__ import annotations

import io
import json
import math
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError
from fxstore.query import text
from fxstore.query.result import Coverage
from tests.query.conftest import nid, tiny
from tests.store.records import graph, run


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT nid FROM nodes", ["nid"]),
        ("SELECT name, nid AS q FROM nodes", ["q"]),
        ("WITH a AS (SELECT nid AS k FROM nodes), b AS (SELECT k AS z FROM a) SELECT z FROM b", ["z"]),
        ("SELECT nid FROM nodes UNION ALL SELECT src_nid FROM edges", ["nid"]),
        ("SELECT stage, max(nid) AS last FROM nodes GROUP BY stage", ["last"]),
        ("SELECT op, list(nid) AS members FROM nodes GROUP BY op", ["members"]),
        ("SELECT lag(nid) OVER (ORDER BY nid) AS before, position FROM nodes", ["before"]),
        ("SELECT nid, count(*) AS n FROM provenance GROUP BY nid", ["nid"]),
        ("SELECT src_nid, dst_nid, dst_arg FROM edges", ["src_nid", "dst_nid"]),
        ("SELECT a.nid, b.nid FROM nodes AS a JOIN nodes AS b ON a.nid = b.nid", ["nid", "nid_2"]),
        ("SELECT ancestor_nid FROM provenance", ["ancestor_nid"]),
        ("SELECT (SELECT max(nid) FROM nodes) AS one", ["one"]),
        ("SELECT CASE WHEN position = 0 THEN nid END AS first FROM nodes", ["first"]),
        ("FROM worst('cosine')", ["nid"]),
        ("SELECT graph_id, overlay_id, sync_id FROM graphs, overlays, sync_sets", []),
        ("SELECT position, source_line, length(name) FROM nodes", []),
        ("SELECT nid + 100000 AS moved, nid / 2 AS half, nid::VARCHAR AS said FROM nodes", []),
        ("SELECT nid >> 22 AS run_key, nid & 4194303 AS ordinal FROM nodes", []),
        ("SELECT NULL::BIGINT AS nothing", []),
        ("SELECT 1 AS nid", []),
        ("SELECT 9223372036854775807 AS big, -1 AS small, 18446744073709551615::UBIGINT AS unsigned", []),
    ],
)
def test_node_columns(store: Store, query: str, columns: list[str]) -> None:
    assert store.sql(query).node_columns == columns


def test_nids_are_in_the_order_of_the_rows_each_once(store: Store) -> None:
    conv, relu, mean = (nid(store, f"edge:{name}") for name in ("aten_convolution_default", "relu_1", "mean_1"))
    assert store.worst("cosine").nids() == [relu, mean, conv]
    query = "SELECT list(dst_nid ORDER BY dst_nid) AS uses, src_nid FROM edges WHERE src_nid = ? GROUP BY src_nid"
    result = store.sql(query, [conv])
    assert result.row_nids() == [[relu, conv]]
    assert result.nids() == [relu, conv]


def test_a_result_that_names_no_node_says_what_to_add(store: Store) -> None:
    result = store.sql("SELECT DISTINCT name FROM nodes WHERE stage = 'edge'")
    assert result.row_nids() == [[]] * 5
    with pytest.raises(QueryError, match="names no node") as error:
        result.nids()
    assert error.value.hint == "its rows are distinct, each of several nodes: add nid to the SELECT"
    assert store.sql("SELECT name FROM nodes WHERE false").nids() == []


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT name, value FROM worst('cosine', n := 2)", ["relu_1", "mean_1"]),
        ("SELECT name FROM nodes WHERE stage = 'edge' AND op_type = $kind", ["relu_1"]),
        (
            "FROM nodes AS m SELECT upper(name) WHERE m.stage = 'edge' ORDER BY m.position DESC LIMIT 2",
            ["output", "mean_1"],
        ),
        ("SELECT name AS nid FROM nodes WHERE stage = 'edge' ORDER BY 1 LIMIT 1", ["aten_convolution_default"]),
        ("SELECT stage FROM nodes WHERE stage = 'edge' QUALIFY row_number() OVER (ORDER BY name) = 3", ["output"]),
        ("SELECT value FROM metrics WHERE isnan(value)", ["relu_1"]),
        ("SELECT name FROM sync('edge', 'relu_1')", ["relu", "relu_1"]),
        ("WITH a AS (SELECT 'edge' AS s) SELECT name FROM main.nodes WHERE name = 'relu_1'", ["relu_1"]),
    ],
)
def test_a_query_is_completed_without_changing_its_rows(store: Store, query: str, names: list[str]) -> None:
    params = {"kind": "relu"} if "$kind" in query else None
    result = store.sql(query, params)
    before = repr(result.fetchall())
    nids = result.nids()
    assert [store.sql("SELECT name FROM nodes WHERE nid = ?", [one]).fetchall() for one in nids] == [
        [(n,)] for n in names
    ]
    assert repr(result.fetchall()) == before == repr(store.sql(query, params).fetchall())
    assert result.node_columns == []
    assert len(result.row_nids()) == len(result)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT stage FROM nodes",
        "SELECT stage FROM nodes GROUP BY stage",
        "SELECT stage, count(*) FROM nodes GROUP BY ALL",
        "SELECT count(*) FROM nodes",
        "SELECT max(name) FROM nodes",
        "SELECT name FROM nodes ORDER BY ALL LIMIT 2",
        "SELECT name FROM nodes UNION SELECT name FROM nodes",
        "SELECT n.name FROM nodes AS n JOIN edges AS e ON e.src_nid = n.nid",
        "SELECT name FROM nodes, range(2)",
        "WITH nodes AS (SELECT 1 AS nid, 'a' AS name) SELECT name FROM nodes",
        "SELECT name FROM (SELECT name FROM nodes)",
        "SELECT name FROM runs",
        "VALUES (1)",
    ],
)
def test_what_a_node_could_change_is_not_completed(store: Store, query: str) -> None:
    result = store.sql(query)
    assert len(result) > 0
    with pytest.raises(QueryError, match="names no node"):
        result.nids()
    assert result.row_nids() == [[]] * len(result)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT op_type FROM nodes GROUP BY op_type", "its rows are groups of nodes: add list(nid) to the SELECT"),
        (
            "SELECT a.name FROM nodes a JOIN nodes b USING (nid)",
            "it joins relations; say whose node is meant: add a.nid",
        ),
        ("SELECT name FROM nodes ORDER BY ALL", "it is ordered by all columns: add nid to the SELECT"),
        ("SELECT name FROM nodes UNION ALL SELECT name FROM nodes", "its rows come from several SELECTs"),
        ("SELECT name FROM runs", "its relation has no nid"),
    ],
)
def test_an_error_says_why_a_query_names_no_node(store: Store, query: str, reason: str) -> None:
    with pytest.raises(QueryError, match="names no node") as error:
        store.sql(query).compare()
    assert str(error.value.hint).startswith(reason)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, stage FROM nodes LIMIT 3",
        "(SELECT name, stage FROM nodes) LIMIT 3",
        "SELECT name, stage FROM nodes USING SAMPLE 4 ROWS",
        "SELECT name, stage FROM nodes ORDER BY random() LIMIT 5",
        "WITH few AS (FROM nodes LIMIT 6) SELECT name, stage FROM few",
        "SELECT name, stage FROM (FROM nodes)",
        'SELECT NAME, stage AS "A stage", position + 1, count(*) OVER () FROM NODES AS n LIMIT 4',
    ],
)
def test_each_row_has_its_own_node_whatever_the_order(store: Store, query: str) -> None:
    """DuckDB promises no order, and a LIMIT takes any rows: the node comes with the row, from the same answer."""
    for _ in range(5):
        result = store.sql(query)
        assert len(result.columns) == len(result.fetchall()[0]) == (4 if "NODES" in query else 2)
        for row, (node,) in zip(result.fetchall(), result.row_nids(), strict=True):
            assert store.sql("SELECT name, stage FROM nodes WHERE nid = ?", [node]).fetchall() == [row[:2]]


def test_a_limited_query_has_its_nodes_too(store: Store) -> None:
    result = store.limited(timeout=60).sql("SELECT name, stage FROM nodes LIMIT 3")
    assert result.columns == ["name", "stage"]
    assert len(result.nids()) == len(result) == 3


def test_nodes_of_several_runs(store: Store) -> None:
    store.commit(tiny("other"))
    found = store.sql("SELECT nid FROM nodes WHERE name = 'relu_1'").nids()
    assert sorted(found) == sorted([nid(store, "edge:relu_1"), nid(store, "edge:relu_1", "other")])


def test_rows_columns_and_tables(store: Store) -> None:
    pytest.importorskip("pandas")
    result = store.sql("SELECT position, name FROM nodes WHERE stage = 'edge' ORDER BY position")
    assert result.columns == ["position", "name"]
    assert len(result) == 5
    assert list(result) == result.fetchall()
    assert result.fetchone() == (0, "x")
    assert pa.table(result).equals(result.arrow())
    assert result.df()["name"].tolist() == result.arrow()["name"].to_pylist()
    assert "<td>relu_1</td>" in result._repr_html_()


def test_values_are_plain_python(store: Store) -> None:
    query = """
        SELECT sum(position) AS s, MAP {'a': 1} AS m, [1, NULL] AS l, {'x': 1} AS r,
               1.5::DECIMAL(4, 2) AS d FROM nodes"""
    ((total, mapped, listed, record, exact),) = store.sql(query).fetchall()
    assert (total, mapped, listed, record) == (20, {"a": 1}, [1, None], {"x": 1})
    assert type(total) is int
    assert float(exact) == 1.5  # type: ignore[arg-type]


def test_rows_are_fetched_once_and_when_needed(store: Store) -> None:
    result = store.sql("SELECT count(*) FROM runs")
    store.commit(tiny("other"))
    assert result.fetchall() == [(2,)]
    store.commit(tiny("third"))
    assert result.fetchall() == [(2,)]


def test_coverage_is_that_of_the_ranking(store: Store) -> None:
    for result in (
        store.worst("cosine", n=1),
        store.sql("SELECT name FROM worst('cosine', n := 1)"),
        store.sql("SELECT name FROM first_bad(?, ?)", ["cosine", 0.99]),
        store.sql("WITH w AS (FROM worst($m)) SELECT name FROM w WHERE value > $v", {"m": "cosine", "v": 0}),
    ):
        coverage = result.coverage
        assert coverage is not None
        assert (coverage.nodes, coverage.measured, coverage.not_measured, coverage.reasons) == (
            4,
            3,
            1,
            {"no buffer": 1},
        )
    assert store.sql("FROM nodes").coverage is None
    assert store.sql("SELECT a.name FROM worst('cosine') AS a, worst('cosine') AS b").coverage is None


def test_the_query_is_shown_as_a_user_writes_it(store: Store) -> None:
    assert store.worst("cosine", n=3, stage="edge").query == "FROM worst('cosine', n := 3, stage := 'edge')"
    assert store.sql("FROM runs").query == "FROM runs"


def test_a_store_is_shared_by_threads(store: Store) -> None:
    def ask(i: int) -> tuple[object, ...]:
        if i % 5 == 0:
            store.commit(tiny(f"run-{i}"))
        return store.worst("cosine", run="tiny").fetchall()[1][2:4]

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(20))) == {("mean_1", 0.2)}
    assert len(store.runs()) == 5


def test_a_closed_store_says_so(store: Store) -> None:
    result = store.sql("FROM runs")
    store.close()
    store.close()
    for ask in (store.runs, lambda: store.commit(tiny()), result.fetchall, lambda: store.worst("cosine")):
        with pytest.raises(Exception, match="the store is closed"):
            ask()


HOSTILE = ["</script>", "a|b", "\x1b[31mred", "line\nbreak", '"quoted"', "`code`", "e\u202emoc.exe", "=1+1", "\ud800"]


def test_hostile_strings_stay_on_their_line() -> None:
    names = [f"{i}{name}" for i, name in enumerate(HOSTILE[:-1])]
    with connect(":memory:") as store:
        store.commit(run({"float": graph(names)}))
        result = store.sql("SELECT name, position FROM nodes ORDER BY position")
        shown = text.box(result.columns, result.fetchall(), width=200)
        assert len(shown.splitlines()) == len(names) + 4
        assert not any(c in shown for c in "\x1b\u202e")
        markdown = text.as_markdown(result.columns, result.fetchall())
        assert len(markdown.splitlines()) == len(names) + 2
        assert "</script>" not in markdown + result._repr_html_()
        assert "a\\|b" in markdown


def written(store: Store, style: str, query: str) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, "utf-8", newline="")
    text.write(store.sql(query), out, style)
    return raw.getvalue().decode("utf-8")


def test_json_has_no_nan(store: Store) -> None:
    query = """
        SELECT 'NaN'::DOUBLE AS a, '-inf'::DOUBLE AS b, ['inf'::DOUBLE, NULL] AS c, MAP {'k': 1.5::DOUBLE} AS d,
               NULL AS e"""
    expected = {"a": "NaN", "b": "-Infinity", "c": ["Infinity", None], "d": {"k": 1.5}, "e": None}
    assert json.loads(written(store, "json", query)) == [expected]
    assert json.loads(written(store, "jsonl", query)) == expected
    assert written(store, "csv", query) == 'a,b,c,d,e\nNaN,-Infinity,"[""Infinity"", null]","{""k"": 1.5}",\n'


def test_binary_formats_hold_the_rows(store: Store) -> None:
    import pyarrow.parquet as pq

    for style in ("arrow", "parquet"):
        raw = io.BytesIO()
        result = store.worst("cosine")
        out = io.TextIOWrapper(raw, "utf-8")
        text.write(result, out, style)
        raw.seek(0)
        table = pa.ipc.open_stream(raw).read_all() if style == "arrow" else pq.read_table(raw)
        assert table["name"].to_pylist() == result.arrow()["name"].to_pylist()
        assert math.isnan(table["value"].to_pylist()[0])


def test_a_box_fits_its_terminal() -> None:
    columns = [f"column_{i}" for i in range(12)]
    rows = [tuple("x" * (i * 5) or None for i in range(12)) for _ in range(60)]
    for width in (60, 100, 200):
        lines = text.box(columns, rows, width=width).splitlines()
        assert max(map(len, lines[:44])) <= width
        assert "60 rows, 40 shown" in lines
        assert lines[-1].startswith("columns not shown: column_0")
    assert text.box(["n"], []).splitlines()[-1] == "no rows"


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(1, 9), max_size=20))
def test_a_coverage_lists_the_commonest_reasons_and_counts_all(reasons: dict[str, int]) -> None:
    rows = [{"measured": False, "reason": reason, "nodes": count} for reason, count in reasons.items()]
    coverage = Coverage.counted([*rows, {"measured": True, "reason": None, "nodes": 3}])
    assert coverage.nodes == 3 + sum(reasons.values())
    listed = str(coverage).partition("; not measured: ")[2].split(", ")
    assert len(listed) <= 7
    assert sum(int(one.split()[0]) for one in listed if one) == coverage.not_measured
    assert [int(one.split()[0]) for one in listed[:6] if one] == sorted(reasons.values(), reverse=True)[:6]


@given(st.integers(40, 120), st.lists(st.sampled_from([0.5, 1e-4, 1.5]), min_size=2, max_size=4), st.integers(1, 2**32))
def test_what_is_shown_does_not_hang_on_the_digits_of_a_number(width: int, scales: list[float], run_key: int) -> None:
    columns = ["name", "nid", *(f"v{i}" for i in range(len(scales))), "target"]

    def shape(run_key: int, digits: float) -> list[tuple[str, bool]]:
        row = ["aten_convolution_default", run_key << 22, *(scale * digits for scale in scales), "aten.convolution"]
        lines = text.box(columns, [row], width=width).splitlines()
        heads, cells = ([cell.strip() for cell in lines[i].split("│")[1:-1]] for i in (1, 3))
        return [(head, head in ("name", "target") and "…" in cell) for head, cell in zip(heads, cells, strict=True)]

    assert shape(run_key | 2**20, 1.0001) == shape(2**32 - 1, 1.234567891) == shape(2**20, 1.2345)


def test_a_box_looks_like_this(store: Store) -> None:
    result = store.sql("SELECT name, value FROM worst('cosine') WHERE NOT isnan(value) ORDER BY value")
    assert text.box(result.columns, result.fetchall()) == "\n".join(
        [
            "┌──────────────────────────┬───────┐",
            "│ name                     │ value │",
            "├──────────────────────────┼───────┤",
            "│ mean_1                   │   0.2 │",
            "│ aten_convolution_default │   0.9 │",
            "└──────────────────────────┴───────┘",
        ]
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"),
        (0.99999997, "0.99999997"),
        (0.9998471234, "0.999847"),
        (1 - 2**-53, "0.9999999999999999"),
        (1e-9, "1e-09"),
        (-3.0, "-3"),
        (1234567.0, "1234567"),
        (1234567.54, "1234567.5"),
        (1e20, "1e+20"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (True, "true"),
        (None, ""),
    ],
)
def test_no_value_is_shown_as_a_whole_number_that_is_none(value: object, shown: str) -> None:
    assert text.cell(value) == shown


def test_a_path_that_is_too_long_keeps_its_end() -> None:
    shown = text.box(["source_file"], [("/a/long/way/down/to/model.py",)], width=20)
    assert "…own/to/model.py" in shown
