"""The store as its users see it: runs go in, queries come out as results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
        self._check_metric(metric, run, stage, overlay)
        self._check_sample(sample, run)
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
        self._check_metric(metric, run, None, overlay)
        self._check_sample(sample, run)
        asked = {"run": run, "overlay": overlay, "scope": scope, "sample": sample}
        return self._call("first_bad", [metric, threshold], **asked)

    def sync(
        self, stage: str, node: str, run: str | None = None, method: str | None = None, path: str | None = None
    ) -> Result:
        """Returns the nodes of all stages that are one computation with a node.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        self._check_node(stage, node, run)
        return self._call("sync", [stage, node], run=run, method=method, path=path)

    def sync_nid(self, nid: int) -> Result:
        """Returns the nodes of all stages that are one computation with a node.

        Raises:
            QueryError: No node has that nid.
        """
        self._check_nids(nid)
        return self._call("sync_nid", [nid])

    def trace(
        self, stage: str, node: str, run: str | None = None, method: str | None = None, path: str | None = None
    ) -> Result:
        """Returns where a node came from and what became of it.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        self._check_node(stage, node, run)
        return self._call("trace", [stage, node], run=run, method=method, path=path)

    def runs(self) -> Result:
        """Returns one row per run, newest first."""
        return self._own("FROM runs")

    def stages(self, run: str | None = None) -> Result:
        """Returns the stages of a run, of the latest one by default."""
        found = self.run(run)
        return self._own(f"FROM stages WHERE run_id = {literal(found.run_id if found else '')}")

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

    def export(
        self,
        format: str,
        path: str | os.PathLike[str],
        run: str | Sequence[str] | None = None,
        overwrite: bool = False,
        **options: Any,
    ) -> Path:
        """Writes all runs, or one, in another format, or a picture of one, and returns the path.

        Args:
            format: ``duckdb`` (one file, for DuckDB from 1.2), ``parquet``, ``csv`` or ``json`` (a folder, a file
                per relation), or ``debugger`` (of one run, the latest by default: ``nodes.csv``, a row per node, and
                each graph as SVG, coloured by verdict); or a still picture: ``svg``, ``png``, ``pdf``, or ``dot`` for
                graphviz; or ``model-explorer`` (of one run: a folder with collections, node data, a manifest and a
                README).
            run: Id or name; several only for a picture, whose default is the latest complete run.
            overwrite: Replace what stands at the path.
            options: Of pictures, all by name. ``stages``: which, in this order; default: those of the selected nodes,
                else all. ``query``: SQL, or a result: draws the nodes that its rows name, and what is near to them;
                ``nids``: the same for nodes. ``hops``: how near; default: 1. ``whole``: draws the whole stages, the
                selection marked in them. ``color_by``: an overlay, a metric, ``verdict`` or ``role``; default: as on a
                page. ``cluster`` (for dot): ``module``, ``side`` (forward and backward) or ``none``. ``columns``: wraps
                graphs that are much taller than wide. ``theme``: ``light`` or ``dark``. ``scale`` (for png): pixels
                per CSS pixel; default: 2. ``title``. ``privacy``: as for a page. Of Model Explorer:
                ``stages``, ``privacy``, ``overlays`` (names of overlays or metrics), ``steps`` (the module each call of
                which is a step), ``budget`` (characters of JSON that the steps of a graph may take);
                ``compare_with=((run, stage), (run, stage))`` and ``metric`` write a comparison instead, where a run of
                None is ``run``.

        Raises:
            UsageError: There is no such format, it takes no such option, or something stands at the path and
                ``overwrite`` is false.
            QueryError: There is no such run, or nothing is selected.
            MissingExtraError: What makes PNG and PDF is not installed.
        """
        from fxstore.query.export import export

        return export(self, format, path, run, overwrite, options)

    def model_explorer(
        self,
        run: str | None = None,
        stages: Sequence[str] | None = None,
        privacy: str | None = None,
    ) -> dict[str, Any]:
        """Returns a run's graphs as Model Explorer reads them: a collection, ``{"label", "graphs"}``.

        Args:
            run: Id or name; default: the latest complete run.
            stages: Which; default: all.
            privacy: ``public`` leaves out sources, code, texts, values and what is derived from these.

        Raises:
            QueryError: There is no such run or stage.
            UsageError: There is no such privacy.
        """
        from fxstore.query.explorer import Options, exported

        return exported(self, run, Options(stages, overlays=(), privacy=privacy)).main.payload
