"""What no name, path or pattern can be is told in one line of our own, wherever it is given; so is a closed store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore import FxstoreError, Store, StoreError, connect
from tests.query.conftest import tiny

HALF = "\ud800"
PATHS = ["a\0b", f"a{HALF}"]
NAMED: list[Callable[[Store], Any]] = [
    lambda store: store.sql(f"SELECT '{HALF}'"),
    lambda store: store.sql("SELECT ?", [HALF]).fetchall(),
    lambda store: store.sql("SELECT $a", {"a": HALF}).fetchall(),
    lambda store: store.worst(HALF),
    lambda store: store.worst("cosine", run=HALF),
    lambda store: store.sync("float", HALF),
    lambda store: store.sync(HALF, "relu"),
    lambda store: store.trace("float", HALF),
    lambda store: store.same_operator(HALF),
    lambda store: store.subgraph(HALF),
    lambda store: store.match(HALF),
    lambda store: store.match("(" * 3000 + "relu" + ")" * 3000),
    lambda store: store.sql("SELECT " + "(" * 3000 + "1" + ")" * 3000).fetchall(),
    lambda store: store.why(HALF),
    lambda store: store.why(metric=HALF),
    lambda store: store.check(HALF, "tiny", ["cosine >= 0"]),
    lambda store: store.check("tiny", "tiny", [f"{HALF} >= 0"]),
    lambda store: store.schema(HALF),
    lambda store: store.compare(color_by=HALF),
]
AT_PATHS: list[Callable[[Store, str], Any]] = [
    lambda store, path: connect(path),
    lambda store, path: store.ingest(path),
    lambda store, path: store.export("json", path),
    lambda store, path: store.compare().save(path),
    lambda store, path: store.merge(path),
]
CLOSED: list[Callable[[Store], Any]] = [
    lambda store: store.verify(),
    lambda store: store.compact(),
    lambda store: store.gc(),
    lambda store: store.merge("elsewhere"),
    lambda store: store.record("name"),
    lambda store: store.tag("tiny", {"a": "b"}),
    lambda store: store.export("json", "out"),
    lambda store: store.compare(),
    lambda store: store.why(),
    lambda store: store.sql("FROM runs"),
    lambda store: store.runs(),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    opened = connect(tmp_path_factory.mktemp("typed") / "store")
    opened.commit(tiny())
    return opened


def told(ask: Callable[[], Any]) -> str:
    with pytest.raises(FxstoreError) as refused:
        ask()
    said = str(refused.value)
    for engine in (
        "Conversion Failure",
        "Binder",
        "Catalog Error",
        "Parser Error",
        "incompatible function",
        "recursion",
    ):
        assert engine not in said
    return said


@pytest.mark.parametrize("half", [0xD800, 0xDCE9], ids=hex)
@pytest.mark.parametrize("ask", NAMED, ids=range(len(NAMED)))
def test_a_name_that_is_no_text_is_told(
    store: Store, ask: Callable[[Store], Any], half: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "HALF", chr(half))  # the second is a byte of a file's name that is no UTF-8
    told(lambda: ask(store))


@pytest.mark.parametrize("path", PATHS, ids=ascii)
@pytest.mark.parametrize("ask", AT_PATHS, ids=["connect", "ingest", "export", "save", "merge"])
def test_a_path_that_no_file_can_have_is_told(store: Store, ask: Callable[[Store, str], Any], path: str) -> None:
    told(lambda: ask(store, path))


def test_a_store_at_a_path_of_other_bytes_than_utf_8_is_told(tmp_path: Path) -> None:
    path = tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")
    with connect(path) as opened, pytest.raises(StoreError, match="is not UTF-8") as refused:
        opened.worst("cosine")
    assert refused.value.hint == "rename it, or give a link to it"


@pytest.mark.parametrize("ask", CLOSED, ids=range(len(CLOSED)))
def test_a_closed_store_says_so(tmp_path: Path, ask: Callable[[Store], Any]) -> None:
    store = connect(tmp_path / "store")
    store.commit(tiny())
    store.close()
    with pytest.raises(StoreError, match="the store is closed") as refused:
        ask(store)
    assert refused.value.hint == "connect to it again"


def test_deep_patterns_that_fit_are_answered(store: Store) -> None:
    assert len(store.match("(" * 20 + "relu" + ")" * 20)) == len(store.match("relu"))
    assert fxstore.QueryError.exit_code == 1
