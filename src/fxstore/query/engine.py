"""The DuckDB connection behind a store: its views and macros, built at connect and kept up with new runs."""

from __future__ import annotations

import json
import threading
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import duckdb

from fxstore.metrics.definitions import METRICS
from fxstore.query.matching import arrow as matching
from fxstore.store import Catalog

if TYPE_CHECKING:
    import pyarrow as pa

# Private first: what a file uses comes before it.
_PRIVATE: Final = (
    "names", "all_runs", "one_run", "named", "sync", "ranking", "coverage", "matching", "reach", "held", "fallback",
    "over_runs", "gates", "page", "catalog",
)  # fmt: skip
RELATIONS: Final = (
    "runs", "stages", "graphs", "nodes", "node_roles", "edges", "provenance", "handles", "links", "sync_sets",
    "value_pairs", "overlays", "metrics", "coverage", "unmatched", "delegation", "operators",
)  # fmt: skip
MACROS: Final = (
    "worst", "first_bad", "sync", "sync_nid", "trace", "ancestors", "descendants", "nodes_between", "run_diff",
    "metric_diff", "op_counts", "fallback", "history", "first_broken", "same_operator",
)  # fmt: skip
_SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}


@cache
def script() -> str:
    """Returns all SQL of the query side, in the order in which it runs."""
    root = resources.files("fxstore.query") / "sql"
    parts = [("private", name) for name in _PRIVATE]
    parts += [("relations", name) for name in RELATIONS] + [("macros", name) for name in MACROS]
    return "\n".join((root / kind / f"{name}.sql").read_text("utf-8") for kind, name in parts)


class Engine:
    """One locked-down in-memory connection; what it can reach is the store's directory.

    Attributes:
        catalog: The runs that the views show.
        lock: Held by whoever uses the connection.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.lock = threading.RLock()
        self._structures: set[str] = set()
        self._connection = duckdb.connect(":memory:", config={"python_enable_replacements": "false"})
        self._register()
        self._connection.execute("SET VARIABLE _runs_directory = ?", [f"{catalog.directory.runs}/"])
        catalog.refresh()
        self._set_files()
        self._connection.execute(f"BEGIN; {script()}; COMMIT")
        self._fill_known_metrics()
        self._take_in()
        self._lock_down()

    def refresh(self) -> None:
        """Takes in the runs that were committed or removed since."""
        with self.lock:
            if self.catalog.refresh():
                self._set_files()
                self._take_in()

    def rows(self, query: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Runs one statement; the caller holds the lock and has checked the statement."""
        return self._connection.execute(query, params).fetchall()

    def arrow(self, query: str, params: Any = None) -> pa.Table:
        """Runs one query; the caller holds the lock and has checked the statement."""
        return self._connection.sql(query, params=params).to_arrow_table()

    def statements(self, query: str) -> list[duckdb.Statement]:
        """Returns the statements that a text holds, as DuckDB parses it."""
        return self._connection.extract_statements(query)

    @cached_property
    def private_names(self) -> frozenset[str]:
        """Names of the tables and views that queries may not use."""
        return frozenset(str(name) for (name,) in self.rows("FROM _catalog_private()"))

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of all relations, each once, for hints."""
        return tuple(dict.fromkeys(str(column) for _, column, *_ in self.rows("FROM _catalog_columns()")))

    def close(self) -> None:
        """Closes the connection."""
        with self.lock:
            self._connection.close()

    def _register(self) -> None:
        """Adds what SQL calls and Python does."""
        parameters = [duckdb.type(kind) for kind in matching.PARAMETERS]
        create: Any = self._connection.create_function
        create(
            matching.NAME,
            matching.diff,
            parameters,
            duckdb.type(matching.RESULT),
            type="arrow",
            null_handling="special",
        )

    def _set_files(self) -> None:
        for relation, files in self.catalog.all_files().items():
            self._connection.execute(f"SET VARIABLE _all_{relation} = ?", [files])

    def _take_in(self) -> None:
        """Fills the tables of the session; a structure is read once."""
        new = {
            run.structure_hash: run for run in self.catalog.runs.values() if run.structure_hash not in self._structures
        }
        graphs = []
        for structure, run in new.items():
            files = self.catalog.structure_files(structure, run.graph_hashes)
            self._connection.execute(f"SET VARIABLE _files_{structure} = ?", [files])
            graphs += files["graphs"]
        if graphs:
            self._connection.execute("INSERT INTO _graphs SELECT * FROM read_parquet(?)", [graphs])
        self._structures.update(new)
        self._fill_runs()

    def _fill_runs(self) -> None:
        """Hands the runs over as JSON, which, unlike ``pyarrow.array``, does not import pandas."""
        texts = [json.dumps(vars(run)) for run in self.catalog.runs.values()]
        self._connection.execute("DELETE FROM _runs; DELETE FROM _stages")
        for table in ("_runs", "_stages"):
            self._connection.execute(f"INSERT INTO {table} FROM {table}_in(?)", [texts])
        names = self.catalog.names()
        self._connection.execute("SET VARIABLE _names = _places(?, ?)", [list(names), list(names.values())])
        latest = self.catalog.latest()
        self._connection.execute("SET VARIABLE _latest = ?", [latest.run_id if latest else ""])

    def _fill_known_metrics(self) -> None:
        known = METRICS.values()
        columns = [list(METRICS), [metric.better for metric in known], [metric.identical for metric in known]]
        self._connection.execute("INSERT INTO _known_metrics SELECT unnest(?), unnest(?), unnest(?)", columns)

    def _lock_down(self) -> None:
        self._connection.execute("SET allowed_directories = ?", [[str(self.catalog.directory.root)]])
        for setting, value in _SETTINGS.items():
            self._connection.execute(f"SET {setting} = {value}")
