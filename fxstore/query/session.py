"""The store as its users see it: runs go in, queries come out as results."""

from __future__ import annotations

import duckdb

from fxstore.query import schema
from fxstore.query.engine import Engine
from fxstore.query.graph_questions import GraphQuestions
from fxstore.query.hints import literal
from fxstore.query.result import Result
from fxstore.records import RunRecord
from fxstore.store import RELATIONS as STORED
from fxstore.store import Catalog, private_copy, write_run


class Store(GraphQuestions):
    """An open store; a context manager, and safe to use from several threads."""

    def commit(self, record: RunRecord) -> str:
        """Writes a run and returns its id.

        Raises:
            StoreError: The store is read-only or cannot be written.
        """
        self._check_open()
        return write_run(self._directory, record)

    def worst(
        self,
        metric: str,
        n: int = 20,
        run: str | None = None,
        stage: str | None = None,
        overlay: str | None = None,
        scope: str | None = None,
        sample: str | int | None = None,
    ) -> Result:
        """Returns the worst nodes by a metric, broken values first; ``Result.coverage`` counts what has no value.

        Args:
            overlay: Default: every overlay that holds the metric; a row names its own.
            scope: Default: cumulative, where an overlay has both.
            sample: Number or name of the only input that counts; default: the worst of all, of times the median.

        Raises:
            QueryError: The run has no such metric, stage, overlay or sample.
        """
        asked = {"run": run, "stage": stage, "overlay": overlay, "scope": scope, "sample": sample}
        return self._call("worst", [metric], n=n, **asked)

    def first_bad(
        self,
        metric: str,
        threshold: float,
        run: str | None = None,
        overlay: str | None = None,
        scope: str | None = None,
        sample: str | int | None = None,
    ) -> Result:
        """Returns the nodes where an error starts: bad ones none of whose measured inputs is bad.

        Each input is asked on its own: a node is named if an error starts there in any sample, with the worst of these.

        Args:
            threshold: The worst value that still counts as good.
            sample: Number or name of the only input that counts.

        Raises:
            QueryError: The run has no such metric, overlay or sample.
        """
        asked = {"run": run, "overlay": overlay, "scope": scope, "sample": sample}
        return self._call("first_bad", [metric, threshold], **asked)

    def sync(
        self, stage: str, node: str, run: str | None = None, method: str | None = None, path: str | None = None
    ) -> Result:
        """Returns the nodes of all stages that are one computation with a node.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        return self._call("sync", [stage, node], run=run, method=method, path=path)

    def sync_nid(self, nid: int) -> Result:
        """Returns the nodes of all stages that are one computation with a node.

        Raises:
            QueryError: No node has that nid.
        """
        return self._call("sync_nid", [nid])

    def trace(
        self, stage: str, node: str, run: str | None = None, method: str | None = None, path: str | None = None
    ) -> Result:
        """Returns where a node came from and what became of it.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        return self._call("trace", [stage, node], run=run, method=method, path=path)

    def runs(self) -> Result:
        """Returns one row per run, newest first."""
        return self._own("FROM runs")

    def stages(self, run: str | None = None) -> Result:
        """Returns the stages of a run, of the latest one by default."""
        found = self.run(run)
        return self._own(f"FROM stages WHERE run_id = {literal(found.run_id if found else '')}")

    def metrics(self, run: str | None = None) -> Result:
        """Returns what a run has numbers of: one row per metric, overlay, stage and scope, newest overlay first.

        Returns:
            metric, overlay, stage, scope, samples, better, unit, count (numbers and texts there are) and worst.

        Raises:
            QueryError: There is no such run.
        """
        return self._own(f"FROM _metrics_of({literal(self.existing_run(run).run_id)})")

    def overlays(self, run: str | None = None) -> Result:
        """Returns one row per overlay of a run, newest first, with its metrics and the stages that it lies on.

        Raises:
            QueryError: There is no such run.
        """
        return self._own(f"FROM _overlays_of({literal(self.existing_run(run).run_id)})")

    def schema(self, relation: str | None = None) -> schema.Schema:
        """Returns the relations with their comments, or one of them.

        Raises:
            QueryError: There is no relation of that name.
        """
        engine = self._current()
        with engine.lock:
            return schema.describe(engine, relation)

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """Returns a DuckDB connection of your own with the relations and macros in it, as ibis and SQLAlchemy take one.

        It reads a private copy of the store as it is now, so that nothing it does reaches the store itself, and no
        other file: DuckDB cannot hold a directory open for reading alone. The copy goes when the process ends.
        """
        catalog = self._current().catalog
        for relation in STORED:
            self._directory.fetch(catalog.all_files(relation))
        return Engine(Catalog(private_copy(self._directory)), self._memory_mb).connection
