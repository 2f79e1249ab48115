"""The DuckDB connection behind a store: its views and macros, built at connect and kept up with new runs."""

from __future__ import annotations

import threading
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final

import duckdb
import pyarrow as pa

from fxstore.metrics.definitions import METRICS
from fxstore.store import Catalog, CommittedRun

# Private first: what a file uses comes before it.
_PRIVATE: Final = ("names", "all_runs", "one_run", "sync", "ranking", "coverage", "matching")
RELATIONS: Final = (
    "runs", "stages", "graphs", "nodes", "node_roles", "edges", "provenance", "handles", "links", "sync_sets",
    "value_pairs", "overlays", "metrics", "coverage", "unmatched", "delegation",
)  # fmt: skip
MACROS: Final = (
    "worst", "first_bad", "sync", "sync_nid", "trace", "ancestors", "descendants", "nodes_between", "run_diff",
    "metric_diff",
)  # fmt: skip
_RUNS: Final = pa.schema(
    [
        ("run_key", pa.int64()),
        ("run_id", pa.string()),
        ("name", pa.string()),
        ("model", pa.string()),
        ("created_at", pa.string()),
        ("status", pa.string()),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("versions", pa.map_(pa.string(), pa.string())),
        ("structure_hash", pa.string()),
        ("nodes", pa.int64()),
    ]
)
_STAGES: Final = pa.schema(
    [
        ("run_key", pa.int64()),
        ("stage", pa.string()),
        ("stage_index", pa.int32()),
        ("kind", pa.string()),
        ("status", pa.string()),
        ("note", pa.string()),
    ]
)
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
        self._connection.execute("SET VARIABLE _runs_directory = ?", [f"{catalog.directory.runs}/"])
        catalog.refresh()
        self._set_files()
        self._connection.execute(f"BEGIN; {script()}; COMMIT")
        self._fill("_known_metrics", _known_metrics())
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
        found = self.rows("SELECT table_name FROM information_schema.tables WHERE starts_with(table_name, '_')")
        return frozenset(str(name) for (name,) in found)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of all relations, for hints."""
        found = self.rows(
            "SELECT DISTINCT column_name FROM duckdb_columns() WHERE table_name IN (SELECT unnest(?))",
            [list(RELATIONS)],
        )
        return tuple(str(name) for (name,) in found)

    def close(self) -> None:
        """Closes the connection."""
        with self.lock:
            self._connection.close()

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
        runs = list(self.catalog.runs.values())
        self._connection.execute("DELETE FROM _runs; DELETE FROM _stages")
        self._fill("_runs", pa.Table.from_pylist([_run_row(run) for run in runs], schema=_RUNS))
        stages = [{"run_key": run.run_key, **stage} for run in runs for stage in run.stages]
        self._fill("_stages", pa.Table.from_pylist(stages, schema=_STAGES))
        names = self.catalog.names()
        places = [
            {"run_id": run_id, "structure": self.catalog.runs[run_id].structure_hash} for run_id in names.values()
        ]
        kind = pa.struct([("run_id", pa.string()), ("structure", pa.string())])
        table = pa.table({"name": pa.array(names, pa.string()), "place": pa.array(places, kind)})
        self._with(table, "SET VARIABLE _names = (SELECT map(list(name), list(place)) FROM _given)")
        latest = self.catalog.latest()
        self._connection.execute("SET VARIABLE _latest = ?", [latest.run_id if latest else ""])

    def _fill(self, name: str, table: pa.Table) -> None:
        self._with(table, f"INSERT INTO {name} SELECT * FROM _given")

    def _with(self, table: pa.Table, statement: str) -> None:
        self._connection.register("_given", table)
        try:
            self._connection.execute(statement)
        finally:
            self._connection.unregister("_given")

    def _lock_down(self) -> None:
        self._connection.execute("SET allowed_directories = ?", [[str(self.catalog.directory.root)]])
        for setting, value in _SETTINGS.items():
            self._connection.execute(f"SET {setting} = {value}")


def _known_metrics() -> pa.Table:
    rows = [{"metric": name, "better": known.better, "identical": known.identical} for name, known in METRICS.items()]
    return pa.Table.from_pylist(rows)


def _run_row(run: CommittedRun) -> dict[str, object]:
    return {
        "run_key": run.run_key,
        "run_id": run.run_id,
        "name": run.name,
        "model": run.model,
        "created_at": run.created_at.removesuffix("+00:00"),
        "status": run.status,
        "tags": list(run.tags.items()),
        "versions": list(run.versions.items()),
        "structure_hash": run.structure_hash,
        "nodes": run.nodes,
    }
