"""The DuckDB connection behind a store: its views and macros, built at connect and kept up with new runs."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb

from fxstore import schema
from fxstore.errors import QueryError
from fxstore.metrics.definitions import METRICS
from fxstore.query import library, run_loader
from fxstore.query.diff import arrow as matching
from fxstore.query.glob_safe_root import Reach
from fxstore.query.run_cache import MOST_ROWS, Kept
from fxstore.store import Catalog, integrity, reading

if TYPE_CHECKING:
    import pyarrow as pa

RELATIONS: Final = tuple(schema.RELATIONS)
MACROS: Final = (
    "worst", "first_bad", "sync", "sync_nid", "trace", "ancestors", "descendants", "nodes_between", "run_diff",
    "metric_diff", "op_counts", "fallback", "history", "first_broken", "same_operator",
    "neighbourhood", "shortest_path", "common_ancestors", "subgraph", "nested_ancestors", "nested_descendants",
    "stage_errors",
)  # fmt: skip
_FILLED: Final = ("_runs", "_stages", "_known_metrics")
_SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}


# While others compact all the time, the next try meets what the last one found.
_TRIES: Final = 8
# Errors that no file of the store causes. What an error says is never looked at: a question can make it say anything.
_NOT_OF_FILES: Final = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.InterruptException, duckdb.OutOfMemoryException,
    duckdb.ParserException, duckdb.SyntaxException,
)  # fmt: skip
_DAMAGED: Final = "fxstore: a damaged file"
_T = TypeVar("_T")


class Engine:
    """One locked-down in-memory connection; what it can reach is the store's directory.

    Attributes:
        catalog: The runs that the views show.
        lock: Held by whoever uses the connection.
    """

    def __init__(self, catalog: Catalog, memory_mb: int | None = None) -> None:
        self.catalog = catalog
        self.lock = threading.RLock()
        self._filled: dict[str, dict[str, str]] = {}
        self._loaded: set[str] = set()
        self._opened: list[list[str]] = []
        self._loading = False
        self._whole: set[str] = set()
        self._sound: set[str] = set()
        self._told = False
        self._digests: dict[Path, integrity.Digests] = {}
        self._reach = Reach(catalog.directory.root)
        self._connection = duckdb.connect(":memory:", config={"python_enable_replacements": "false"})
        self._kept = Kept(self._connection, catalog.find, 0 if memory_mb else MOST_ROWS)
        self._define_functions()
        self.load(_FILLED)
        self._fill_known_metrics()
        catalog.refresh()
        self._fill_runs()
        if memory_mb is not None:
            self._connection.execute(f"SET memory_limit = '{int(memory_mb)}MB'; SET max_temp_directory_size = '0B'")
        self._lock_down()

    def refresh(self, again: bool = False) -> bool:
        """Takes in the runs that were committed, compacted or removed since; returns whether anything was.

        Args:
            again: Look even where the store seems unchanged.
        """
        with self.lock:
            changed = self.catalog.refresh(again)
            if changed:
                self._fill_runs()
            return changed

    def reading(self, ask: Callable[[], _T]) -> _T:
        """Takes a step of a question, and takes it again where a file was compacted away, or is damaged.

        Runs with a damaged file are left out from then on, with a warning: only where the file itself is not what its
        store says that it must be, whatever the error is.

        Raises:
            duckdb.Error, QueryError: The step fails for another reason.
        """
        with self.lock:
            for _ in range(_TRIES):
                self._opened = []
                try:
                    found = ask()
                except (duckdb.Error, QueryError) as error:
                    if not self._mended(error if isinstance(error, duckdb.Error) else error.__cause__):
                        raise
                else:
                    self._note_undigested()
                    return found
            return ask()

    def _note_undigested(self) -> None:
        """Says, once, that a flipped bit would go unnoticed in some files."""
        if self._told or None not in self._digests.values():
            return
        early = [folder for folder, digests in self._digests.items() if digests is None and folder.name != "empty"]
        if early:
            self._told = True
            warnings.warn(
                f"{early[0]} has no digests, as an early fxstore wrote it: a flipped bit in it would not be noticed",
                stacklevel=5,
            )

    def _mended(self, error: BaseException | None) -> bool:
        if not isinstance(error, duckdb.Error) or isinstance(error, _NOT_OF_FILES):
            return False
        files = {file for files in self._opened for file in files if not file.startswith("fxstore:")}
        if isinstance(error, duckdb.ConversionException):  # mostly the question's own, and each costs a look at all
            files -= self._sound
        try:
            gone = [file for file in files if not os.path.exists(file)]
            if gone and self.refresh(again=True):
                return True
            found = integrity.damaged(map(Path, sorted(gone or files)), digested=self.catalog.digested)
            found = found or integrity.misshapen(map(Path, sorted(files)))
        except (OSError, MemoryError):  # no memory or handles are left, which says nothing about a file
            return False
        damage = {run_id: f"{path}: {why}" for path, why in found.items() for run_id in self.catalog.users(path)}
        if damage:
            self.catalog.leave_out(damage)
            self._fill_runs()
        else:
            self._sound |= files
        return bool(damage)

    def load(self, names: Iterable[str]) -> None:
        """Creates the views and macros of these names, and what they need, where they are not there yet."""
        with self.lock:
            new = [module for module in library.in_order(names) if module.name not in self._loaded]
            if new:
                self._loading = True  # a view is bound when it is made, but who asks for one reads few of them
                try:
                    self._connection.execute("\n".join(["BEGIN;", *(module.text for module in new), "COMMIT;"]))
                except duckdb.Error as error:  # what is made binds but where a file has other columns than it must
                    self._connection.execute("ROLLBACK")
                    raise duckdb.IOException(str(error)) from error
                finally:
                    self._loading = False
                self._loaded.update(module.name for module in new)

    def load_all(self) -> None:
        """Creates every view and macro, for who looks at the catalog itself."""
        self.load((*RELATIONS, *MACROS, *library.modules()))

    def rows(self, query: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Runs one statement; the caller holds the lock and has checked the statement."""
        return self._connection.execute(query, params).fetchall()

    def bind(self, query: str, params: Any = None) -> list[tuple[str, str]]:
        """Binds one query as a subquery and returns its columns, each with its type; the caller holds the lock.

        Raises:
            duckdb.Error: It does not bind.
        """
        self._kept.take_in()
        columns = self.rows(f"DESCRIBE SELECT * FROM (\n{query}\n) AS asked", params)
        self._kept.forget()
        return [(str(name), str(kind)) for name, kind, *_ in columns]

    def forget(self) -> None:
        """Takes what the last statement asked for as not asked: it checked a name only."""
        with self.lock:
            self._kept.forget()

    def arrow(self, query: str, params: Any = None) -> pa.Table:
        """Runs one query, its rows not copied; the caller holds the lock and has checked the statement."""
        self._kept.take_in()
        return self._connection.sql(query, params=params).to_arrow_table()

    def arrow_of_few(self, query: str, params: Any = None) -> pa.Table:
        """Runs one query that gives few rows: these are copied, but the query is bound once only, not twice."""
        self._kept.take_in()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy", UserWarning)
            return self._connection.execute(query, params).to_arrow_table()

    def statements(self, query: str) -> list[duckdb.Statement]:
        """Returns the statements that a text holds, as DuckDB parses it."""
        return self._connection.extract_statements(query)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of all relations, each once, for hints."""
        self.load_all()
        return tuple(dict.fromkeys(str(column) for _, column, *_ in self.rows("FROM _catalog_columns()")))

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection itself, with every view and macro in it."""
        self.load_all()
        return self._connection

    def close(self) -> None:
        """Closes the connection."""
        with self.lock:
            self._connection.close()

    def _define_functions(self) -> None:
        """Gives SQL what it needs to open a run's files; a macro's path is computed when a statement is bound."""
        define = partial(self._connection.create_function, null_handling="special")
        define("_files", self._files, ["VARCHAR", "VARCHAR"], "VARCHAR[]")
        define("_own", self._own, ["VARCHAR", "VARCHAR"], "VARCHAR")
        define("_all_files", self._all_files, ["VARCHAR"], "VARCHAR[]")
        define("_model_files", self._model_files, ["VARCHAR", "VARCHAR"], "VARCHAR[]")
        define("_source", self._kept.source, ["VARCHAR", "VARCHAR"], "VARCHAR")
        define("_key", self._key, ["VARCHAR"], "BIGINT")
        # duckdb.type reads a type that is nested.
        kinds = [duckdb.type(kind) for kind in matching.PARAMETERS]
        define(matching.NAME, matching.diff, kinds, duckdb.type(matching.RESULT), type="arrow")

    def _files(self, run: str | None, relation: str) -> list[str]:
        found = self.catalog.find(run)
        if found is None:
            return [f"fxstore: no run {run or ''}"]
        return self._noted(self.catalog.files(found, relation))

    def _own(self, run: str | None, relation: str) -> str:
        """Returns the statement that gives a run's rows of a relation that has a file of its own, or a segment's."""
        found = self.catalog.find(run)
        statement = f"FROM read_parquet({_literal(self._files(run, relation)[0])})"
        shared = found is not None and self.catalog.is_shared(found)
        return f"{statement} WHERE run_key = {found.run_key}" if found and shared else statement

    def _all_files(self, relation: str) -> list[str]:
        return self._noted(self.catalog.all_files(relation))

    def _noted(self, files: list[str]) -> list[str]:
        """Remembers which files a statement opens; returns none that can be opened where one of them is damaged."""
        self._opened.append(files)
        self.catalog.directory.fetch(files)
        good = not reading.odd(files) if self._loading else self._are_whole(files)
        return self._reach.paths(files) if good else [_DAMAGED]

    def _are_whole(self, files: list[str]) -> bool:
        """Compares files with their digests, each once: a flipped bit may be a number that is wrong, and no error."""
        new = [file for file in files if file not in self._whole]
        if new and integrity.damaged(map(Path, new), self._digests, self.catalog.digested):
            return False
        self._whole.update(new)
        return True

    def _model_files(self, run: str | None, relation: str) -> list[str]:
        """Returns the files of all runs of a run's model; of its name, where it names no model."""
        asked = self.catalog.find(run)
        if asked is None:
            return self._files(run, relation)
        alike = (
            other
            for other in self.catalog.runs.values()
            if other.model == asked.model and (asked.model is not None or other.name == asked.name)
        )
        return self._noted(list(dict.fromkeys(file for other in alike for file in self.catalog.files(other, relation))))

    def _key(self, run: str | None) -> int | None:
        found = self.catalog.find(run)
        return found.run_key if found else None

    def _fill_runs(self) -> None:
        runs = self.catalog.runs
        gone = self._filled.keys() - runs.keys()
        self._kept.drop(gone)
        tagged = {run_id for run_id, tags in self._filled.items() if run_id in runs and runs[run_id].tags != tags}
        if stale := [int(run_id, 16) for run_id in gone | tagged]:
            for table in ("_runs", "_stages"):
                self._connection.execute(f"DELETE FROM {table} WHERE run_key IN (SELECT unnest(?))", [stale])
        known = self._filled.keys() - tagged
        new = run_loader.tables_of([run for run_id, run in runs.items() if run_id not in known])
        for name, table in new.items():
            self._connection.register(name, table)
        self.load(("_runs_in", "_stages_in"))
        self._connection.execute(
            "INSERT INTO _runs BY NAME FROM _runs_in(); INSERT INTO _stages BY NAME FROM _stages_in()"
        )
        for name in new:
            self._connection.unregister(name)
        self._filled = {run_id: run.tags for run_id, run in runs.items()}

    def _fill_known_metrics(self) -> None:
        known = METRICS.values()
        columns = [list(METRICS), [metric.better for metric in known], [metric.identical for metric in known]]
        self._connection.execute("INSERT INTO _known_metrics SELECT unnest(?), unnest(?), unnest(?)", columns)

    def _lock_down(self) -> None:
        self._connection.execute("SET allowed_directories = ?", [[self._reach.root]])
        for setting, value in _SETTINGS.items():
            self._connection.execute(f"SET {setting} = {value}")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
