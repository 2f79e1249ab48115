"""Tables of runs in memory: the same answers, whoever asks how often."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError
from fxstore.query.result import Result
from fxstore.query.run_cache import Kept
from tests.query.conftest import nid, tiny

QUESTIONS: list[Callable[[Store], Result]] = [
    lambda store: store.worst("cosine"),
    lambda store: store.first_bad("cosine", 0.95),
    lambda store: store.stage_errors("cosine", 0.95),
    lambda store: store.sync("edge", "relu_1"),
    lambda store: store.trace("edge", "aten_convolution_default"),
    lambda store: store.ancestors(nid(store, "edge:mean_1")),
    lambda store: store.descendants(nid(store, "float:conv2d"), nested=True),
    lambda store: store.match("conv* -> relu*"),
    lambda store: store.match("conv* -> relu*", nested=True),
    lambda store: store.subgraph("c"),
    lambda store: store.op_counts(),
    lambda store: store.sql("SELECT name, value FROM worst('cosine', n := 2)"),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_every_time_the_same_answer(store: Store, ask: Callable[[Store], Result]) -> None:
    """The first answers come from files, later ones from memory."""
    first, *later = [repr(ask(store).fetchall()) for _ in range(4)]
    assert later == [first] * 3
    assert kept(store)


def test_what_is_asked_once_is_not_kept(store: Store) -> None:
    store.sql("FROM sync('edge', 'relu_1')").fetchall()
    store.runs().fetchall()
    assert not kept(store)
    store.sql("FROM sync('edge', 'relu_1')").fetchall()
    store.runs().fetchall()
    assert {relation for _, relation in kept(store)} == {"graphs", "links", "nodes", "sync_sets"}


def test_a_run_that_is_gone_is_let_go(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        gone, stays = store.commit(tiny("gone")), store.commit(tiny("stays"))
        for _ in range(3):
            for run in (gone, stays):
                store.worst("cosine", run=run).fetchall()
        shutil.rmtree(store.directory.run(gone))
        assert len(store.worst("cosine")) == 3
        assert {run for run, _ in kept(store)} == {stays}
        with pytest.raises(QueryError, match="no run"):
            store.sql(f"FROM worst('cosine', run := '{gone}')").fetchall()


def test_the_tables_that_were_used_last_stay(store: Store) -> None:
    run = store.existing_run()
    with duckdb.connect(":memory:") as connection:
        for relation, rows in (("a", 6), ("b", 7), ("c", 8)):
            connection.execute(f"CREATE MACRO _read_{relation}(run) AS TABLE FROM range({rows})")
        held = Kept(connection, lambda name: run if name in (None, "tiny", run.run_id) else None, most_rows=15)
        for relation in "aabbac":
            assert held.source("tiny", relation)
            held.take_in()
        assert held.source(None, "b") == f"FROM main._kept_b_{run.run_id}"
        held.source(run.run_id, "c")
        held.take_in()
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert tables == {f"_kept_b_{run.run_id}", f"_kept_c_{run.run_id}"}
        assert held.source("it's", "a") == "FROM main._read_a('it''s')"


def test_no_more_than_fits(store: Store) -> None:
    run = store.existing_run()
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE MACRO _read_a(run) AS TABLE FROM range(5)")
        held = Kept(connection, lambda name: run, most_rows=0)
        for _ in range(3):
            assert held.source(None, "a") == f"FROM main._read_a('{run.run_id}')"
            held.take_in()


def kept(store: Store) -> set[tuple[str, str]]:
    return set(store._current()._kept._rows)
