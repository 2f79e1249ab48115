"""The engines that read a store beside DuckDB, and rows of any of them as DuckDB would give them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fxstore.query.engine import Engine
from fxstore.store import Catalog, open_directory

WORKERS = 3


@dataclass(frozen=True)
class Other:
    """An engine: its session, and the module of fxstore that knows it."""

    session: Any
    module: Any

    def register(self, path: Path, **options: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = self.module.register(self.session, path, **options)
        return found

    def rows(self, query: str) -> pa.Table:
        return _arrow(self.session.sql(query))

    def ask(self, question: str, **values: Any) -> pa.Table:
        return _arrow(self.module.ask(self.session, question, **values))


def _arrow(frame: Any) -> pa.Table:
    return frame.toArrow() if hasattr(frame, "toArrow") else frame.to_arrow_table()


@contextmanager
def datafusion() -> Iterator[Other]:
    theirs = pytest.importorskip("datafusion", reason="needs the extra datafusion")
    from fxstore import datafusion as module

    yield Other(theirs.SessionContext(), module)


@contextmanager
def sail() -> Iterator[Other]:
    """A Sail cluster of several workers in this process, and a session of it."""
    server = pytest.importorskip("pysail.spark", reason="needs the extra spark").SparkConnectServer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = pytest.importorskip("pyspark.sql.connect.session", reason="needs the extra spark").SparkSession
    from fxstore import spark as module

    asked = {"SAIL_MODE": "local-cluster", "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(WORKERS), "RUST_LOG": "error"}
    before = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    started = server("127.0.0.1", 0)
    try:
        started.start(background=True)
        opened = session.builder.remote(f"sc://127.0.0.1:{started.listening_address[1]}").create()
        try:
            yield Other(opened, module)
        finally:
            with suppress(Exception):
                opened.stop()
    finally:
        started.stop()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


ENGINES = {"datafusion": datafusion, "sail": sail}


@contextmanager
def ours(path: Path) -> Iterator[Callable[..., pa.Table]]:
    """What DuckDB gives to a query and its values, private views included."""
    engine = Engine(Catalog(open_directory(path, read_only=True)))
    try:
        engine.load_all()
        yield engine.arrow
    finally:
        engine.close()


def comparable(table: pa.Table) -> tuple[list[str], list[str]]:
    """Columns with their types, and rows in any order. NaN is equal to NaN, and -0.0 not to 0.0; maps have no order."""
    columns = [f"{field.name}: {_plain(field.type)}" for field in table.schema]
    return columns, sorted(repr([_sorted(value) for value in row.values()]) for row in table.to_pylist())


def _plain(kind: pa.DataType) -> str:
    """A type's name, whoever says what its parts are called and whether they may be NULL."""
    if pa.types.is_map(kind):
        return f"map<{_plain(kind.key_type)}, {_plain(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_plain(kind.value_type)}>"
    return "string" if kind in (pa.string(), pa.large_string(), pa.string_view()) else str(kind)


def _sorted(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value
