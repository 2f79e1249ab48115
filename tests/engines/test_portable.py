"""What is said to other engines, without any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from fxstore import connect
from fxstore.engines import portable, spark
from fxstore.errors import StoreError, UsageError
from fxstore.query.engine import RELATIONS
from tests.query.conftest import tiny

SPARK = portable.views("spark", spark._rewrite)


def test_every_relation_is_a_plain_view() -> None:
    assert set(RELATIONS) <= SPARK.keys()
    assert set(portable.public("p_")) <= portable.views("spark", spark._rewrite, "p_").keys()


@pytest.mark.parametrize("name", SPARK)
def test_nothing_stays_that_other_engines_lack_or_read_otherwise(name: str) -> None:
    query = sqlglot.parse_one(SPARK[name], dialect="spark")
    macros = {name for name, made in portable._created().items() if made.kind == "MACRO"}
    assert not [call for call in query.find_all(exp.Anonymous) if call.name.lower() in macros]
    assert not query.find(exp.Qualify)
    assert not [found for found in query.find_all(exp.ArrayAgg) if isinstance(found.this, exp.Order)]


def test_a_list_whose_order_would_be_lost_is_refused() -> None:
    query = sqlglot.parse_one("SELECT list(a ORDER BY b) FROM t", dialect="duckdb")
    with pytest.raises(NotImplementedError, match="would lose the order"):
        spark._rewrite(query)


def test_each_name_that_a_view_reads_has_the_prefix() -> None:
    for query in portable.views("spark", spark._rewrite, "p_").values():
        tree = sqlglot.parse_one(query, dialect="spark")
        inside = {cte.alias for cte in tree.find_all(exp.CTE)}
        assert all(table.name.startswith("p_") or table.name in inside for table in tree.find_all(exp.Table))


class Reader:
    """A session that only notes which files it is told to read."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.read = self

    def schema(self, columns: str) -> Reader:
        return self

    def parquet(self, *files: str) -> Reader:
        self.files += files
        return self

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self


def test_workers_may_reach_the_store_elsewhere(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
    reader = Reader()
    spark.register(reader, tmp_path / "store", at="s3a://bucket/there/")
    assert len(reader.files) > 11
    assert all((tmp_path / "store" / file.removeprefix("s3a://bucket/there/")).is_file() for file in reader.files)
    with pytest.raises(UsageError, match="pattern of paths"):
        spark.register(reader, tmp_path / "store", at="s3a://bucket/{a,b}")


def sources(path: Path, rows: list[tuple[int, int | None]]) -> str:
    columns = {
        "source": pa.array([s for s, _ in rows], pa.int32()),
        "parent": pa.array([p for _, p in rows], pa.int32()),
    }
    pq.write_table(pa.table(columns), path)
    return str(path)


@settings(deadline=None)
@given(parents=st.lists(st.none() | st.integers(0, 30), max_size=31))
def test_hops_are_those_of_the_longest_chain(
    tmp_path_factory: pytest.TempPathFactory, parents: list[int | None]
) -> None:
    rows = [(i, p if p is not None and p < i else None) for i, p in enumerate(parents)]
    depth: list[int] = []
    for _, parent in rows:
        depth.append(1 if parent is None else depth[parent] + 1)
    file = sources(tmp_path_factory.mktemp("hops") / "sources.parquet", rows)
    assert portable.hops([file]) == max(depth, default=1)


def test_a_circle_of_ancestors_ends_where_it_comes_back(tmp_path: Path) -> None:
    circle: list[tuple[int, int | None]] = [(0, 2), (1, 0), (2, 1), (2, 2)]
    assert portable.hops([sources(tmp_path / "sources.parquet", circle)]) == 3


def test_a_chain_that_is_too_long_is_refused(tmp_path: Path) -> None:
    rows = [(i, i - 1 if i else None) for i in range(65)]
    assert portable.hops([sources(tmp_path / "sources.parquet", rows[:64])]) == 64
    with pytest.raises(StoreError, match="more than 64 hops"):
        portable.hops([sources(tmp_path / "sources.parquet", rows)])


def test_both_are_there_when_fxstore_is_and_need_no_engine() -> None:
    code = (
        "import sys\n"
        "for name in ('pyspark', 'pysail', 'datafusion'): sys.modules[name] = None\n"
        "import fxstore\n"
        "print(fxstore.spark.register.__module__, fxstore.datafusion.register.__module__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["fxstore.engines.spark", "fxstore.engines.datafusion"], done.stderr
