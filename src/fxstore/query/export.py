"""A store, or one run of it, in other forms: each relation with its name and columns."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fxstore.errors import UsageError
from fxstore.query import hints, text
from fxstore.query.engine import RELATIONS
from fxstore.store import parquet

if TYPE_CHECKING:
    import pyarrow as pa

    from fxstore.query.session import Store

Write = Callable[["Store", str | None, Path], None]
# The oldest DuckDB that must read a file that we write.
_STORAGE: Final = "v1.2.0"


def export(store: Store, form: str, path: str | os.PathLike[str], run: str | None, overwrite: bool) -> Path:
    """Writes a store, or one run of it; what stands at the path is replaced when all is written.

    Raises:
        UsageError: There is no such format, or something stands at the path and ``overwrite`` is false.
        QueryError: There is no such run.
    """
    if form not in FORMATS:
        raise UsageError(f"there is no export format {form!r}", hint=hints.among(form, FORMATS))
    target = Path(path)
    if target.exists() and not overwrite:
        raise UsageError(f"{target} exists", hint="pass -f (overwrite=True) to overwrite it")
    run_id = None if run is None else store.existing_run(run).run_id
    staged = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        FORMATS[form](store, run_id, staged)
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(staged, target)
    finally:
        if staged.is_dir():
            shutil.rmtree(staged)
        staged.unlink(missing_ok=True)
    return target


def relation_rows(store: Store, relation: str, run_id: str | None) -> pa.Table:
    """Returns the rows of a relation, of all runs or of one."""
    if run_id is None:
        return store.sql(f"FROM {relation}").arrow()
    if relation == "node_roles":
        return store.sql("FROM node_roles WHERE nid >> 22 = ?", [int(run_id, 16)]).arrow()
    return store.sql(f"FROM {relation} WHERE run_id = ?", [run_id]).arrow()


def _folder(ending: str, write: Callable[[pa.Table, Path], None]) -> Write:
    def writer(store: Store, run_id: str | None, path: Path) -> None:
        path.mkdir()
        for relation in RELATIONS:
            write(relation_rows(store, relation, run_id), path / f"{relation}.{ending}")

    return writer


def _text_of(style: str) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        rows = text.rows_of(table)
        path.write_text(text.WRITERS[style](table.column_names, rows), "utf-8")

    return write


def _duckdb(store: Store, run_id: str | None, path: Path) -> None:
    import duckdb

    escaped = str(path).replace("'", "''")
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{escaped}' AS exported (STORAGE_VERSION '{_STORAGE}')")
        for relation in store.schema().relations:
            if relation.kind != "view":
                continue
            connection.register("rows_of", relation_rows(store, relation.name, run_id))
            connection.execute(f"CREATE TABLE exported.{relation.name} AS FROM rows_of")
            connection.unregister("rows_of")
            connection.execute(f"COMMENT ON TABLE exported.{relation.name} IS {_quoted(relation.comment)}")
            for column in relation.columns:
                place = f"exported.{relation.name}.{column.name}"
                connection.execute(f"COMMENT ON COLUMN {place} IS {_quoted(column.comment)}")
        connection.execute("DETACH exported")


def _debugger(store: Store, run_id: str | None, path: Path) -> None:
    from fxstore.query import debugger

    debugger.write(store, run_id, path)


def _quoted(comment: str) -> str:
    return "'" + comment.replace("'", "''") + "'"


# Further formats register themselves here.
FORMATS: Final[dict[str, Write]] = {
    "duckdb": _duckdb,
    "parquet": _folder("parquet", parquet.write),
    "csv": _folder("csv", _text_of("csv")),
    "json": _folder("json", _text_of("json")),
    "debugger": _debugger,
}
