"""A store, or one run of it, in other forms: each relation with its name and columns."""

from __future__ import annotations

import inspect
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fxstore.errors import UsageError, path_of
from fxstore.export import debugger, explorer_compare, pictures
from fxstore.query import hints, text
from fxstore.query.engine import RELATIONS
from fxstore.store import parquet

if TYPE_CHECKING:
    import pyarrow as pa

    from fxstore.query.session import Store

Write = Callable[..., None]
"""Takes the store, the run (or None), the path to write at, and options by name."""
Runs = str | Sequence[str] | None
# The oldest DuckDB that must read a file that we write.
_STORAGE: Final = "v1.2.0"


def export(
    store: Store, form: str, path: str | os.PathLike[str], run: Runs, overwrite: bool, options: Mapping[str, Any]
) -> Path:
    """Writes a store, or a part of it; what stands at the path is replaced when all is written.

    Args:
        options: What the format takes by name; None stands for what was not given.

    Raises:
        UsageError: There is no such format, it takes no such option, or something stands at the path and ``overwrite``
            is false.
        QueryError: There is no such run.
    """
    if form not in FORMATS:
        raise UsageError(f"there is no export format {form!r}", hint=hints.among(form, FORMATS))
    target = path_of(path)
    if target.exists() and not overwrite:
        raise UsageError(f"{target} exists", hint="pass -f (overwrite=True) to overwrite it")
    given = _accepted(form, options)
    for name in [run] if isinstance(run, str) else run or ():
        store.existing_run(name)
    if not (run is None or isinstance(run, str) or form in PICTURES):
        raise UsageError(f"{form} is written of one run or of all", hint="give one run, or none")
    staged = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        FORMATS[form](store, run, staged, **given)
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(staged, target)
    finally:
        if staged.is_dir():
            shutil.rmtree(staged)
        staged.unlink(missing_ok=True)
    return target


def _accepted(form: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that were given."""
    parameters = inspect.signature(FORMATS[form]).parameters.values()
    known = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in known:
            hint = hints.among(name, known) if known else f"{form} takes no options"
            raise UsageError(f"the export to {form} takes no {name!r}", hint=hint)
    return given


def relation_rows(store: Store, relation: str, run: str | None) -> pa.Table:
    """Returns the rows of a relation, of all runs or of one."""
    run_id = None if run is None else store.existing_run(run).run_id
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

    with duckdb.connect(":memory:") as connection:
        try:
            connection.execute(f"ATTACH {_quoted(str(path))} AS exported (STORAGE_VERSION '{_STORAGE}')")
        except duckdb.Error as error:
            said = str(error).split("\n", 1)[0].removeprefix("IO Error: ")
            raise UsageError(f"cannot write there: {said}", hint="give a path that may be written") from error
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


def _quoted(said: str) -> str:
    return "'" + said.replace("'", "''") + "'"


PICTURES: Final = ("svg", "png", "pdf", "dot")
# Further formats register themselves here.
FORMATS: Final[dict[str, Write]] = {
    "duckdb": _duckdb,
    "parquet": _folder("parquet", parquet.write),
    "csv": _folder("csv", _text_of("csv")),
    "json": _folder("json", _text_of("json")),
    "debugger": debugger.write,
    "model-explorer": explorer_compare.write,
    **{form: partial(pictures.write, form) for form in PICTURES},
}
