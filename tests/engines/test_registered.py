"""What a session already has, and what a question is asked with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fxstore import connect
from fxstore import datafusion as store_in
from fxstore.errors import UsageError
from tests.query.conftest import tiny

datafusion = pytest.importorskip("datafusion")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with connect(tmp_path / "store") as store:
        store.commit(tiny("a"))
    return tmp_path / "store"


@pytest.mark.parametrize("name", ["nodes", "_runs", "_nodes"])
def test_a_table_of_the_users_stays(path: Path, name: str) -> None:
    context = datafusion.SessionContext()
    context.sql(f"CREATE TABLE {name} AS SELECT 42 AS mine").collect()
    with pytest.raises(UsageError, match=f"has a table '{name}' already") as error:
        store_in.register(context, path)
    assert "prefix=" in (error.value.hint or "")
    store_in.register(context, path, prefix="a_")
    assert context.sql(f"SELECT mine FROM {name}").to_pydict() == {"mine": [42]}


def test_a_store_is_registered_again(path: Path) -> None:
    context = datafusion.SessionContext()
    for runs in (1, 2):
        store_in.register(context, path)
        assert context.sql("SELECT count(*) AS n FROM runs").to_pydict() == {"n": [runs]}
        with connect(path) as store:
            store.commit(tiny("b"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"metric": None, "by": 0.1}, "needs metric"),
        ({"metric": "cosine", "by": "much"}, "by is a number, not 'much'"),
        ({"metric": 1, "by": 0.1}, "metric is a text, not 1"),
    ],
)
def test_a_question_with_another_kind_of_value(path: Path, values: dict[str, Any], said: str) -> None:
    context = datafusion.SessionContext()
    store_in.register(context, path)
    with pytest.raises(UsageError, match=said):
        store_in.ask(context, "regressions", **values)
