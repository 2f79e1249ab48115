"""The store as its users see it: runs go in, queries come out as results."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb
import numpy as np

from fxstore.errors import QueryError, StoreError, UsageError
from fxstore.query import guard, hints, library, schema
from fxstore.query.completion import with_nodes
from fxstore.query.engine import Engine
from fxstore.query.graph_questions import GraphQuestions, Params, literal
from fxstore.query.limits import Limited
from fxstore.query.result import Coverage, KnownNodes, Result
from fxstore.records import RunRecord
from fxstore.store import RELATIONS as STORED
from fxstore.store import Catalog, CommittedRun, Directory, private_copy, unreadable, write_run
from fxstore.tables import ORDINAL_BITS

if TYPE_CHECKING:
    import pyarrow as pa

_NIDS: Final = "SELECT nid, stage, name FROM nodes gives the nids"
# Names of nodes, metrics and modules of so many runs and stages are kept.
_MOST_KNOWN: Final = 64


class Store(GraphQuestions):
    """An open store; a context manager, and safe to use from several threads."""

    def __init__(self, directory: Directory, memory_mb: int | None = None) -> None:
        self._directory = directory
        self._memory_mb = memory_mb
        self._engine: Engine | None = None
        self._closed = False
        self._known: dict[tuple[object, ...], pa.Table] = {}
        # A store in memory leaves nothing behind, even where nobody closes it.
        self._cleanup = weakref.finalize(self, directory.remove)

    @property
    def path(self) -> Path:
        """The store's directory."""
        return self._directory.root

    @property
    def directory(self) -> Directory:
        """Where the store's files are."""
        return self._directory

    @property
    def read_only(self) -> bool:
        """Whether the store was opened for reading only."""
        return self._directory.read_only

    def close(self) -> None:
        """Closes the store; a second time does nothing."""
        if not self._closed:
            self._closed = True
            if self._engine:
                self._engine.close()
            self._cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<fxstore.Store {str(self.path)!r}>"

    def commit(self, record: RunRecord) -> str:
        """Writes a run and returns its id.

        Raises:
            StoreError: The store is read-only or cannot be written.
        """
        self._check_open()
        return write_run(self._directory, record)

    def sql(
        self,
        query: str,
        params: Params | None = None,
        *,
        timeout: float | None = None,
        memory_mb: int | None = None,
    ) -> Result:
        """Returns the answer to one read-only statement; it is checked and bound now, and run when rows are needed.

        Args:
            query: One SELECT (or EXPLAIN, DESCRIBE, SUMMARIZE) over the store's relations.
            params: Values for ``?`` or ``$name``.
            timeout: Seconds that it may take. With a limit, it is checked and run in a process of its own, which ends
                there whatever the query does.
            memory_mb: Megabytes that it may use.

        Raises:
            QueryError: It is refused, or does not bind.
        """
        if timeout is not None or memory_mb is not None:
            return self.limited(timeout, memory_mb).sql(query, params)
        engine = self._current()
        checked = engine.reading(lambda: guard.check(engine, query, params))
        return self._result(checked, params, query, lambda: with_nodes(query, lambda text: self.sql(text, params)))

    def limited(self, timeout: float | None = None, memory_mb: int | None = None) -> Limited:
        """Returns what asks this store within limits: ``store.limited(timeout=5).worst("cosine")``.

        Args:
            timeout: Seconds that a question may take; it is asked in a process of its own, which ends there.
            memory_mb: Megabytes that it may use.
        """
        self._check_open()
        return Limited(self._directory.location, self._known_nodes, self._finished, timeout, memory_mb)

    def worst(
        self,
        metric: str,
        n: int = 20,
        run: str | None = None,
        stage: str | None = None,
        overlay: str | None = None,
        scope: str | None = None,
    ) -> Result:
        """Returns the worst nodes by a metric, broken values first; ``Result.coverage`` counts what has no value.

        Raises:
            QueryError: The run has no such metric, stage or overlay.
        """
        self._check_metric(metric, run, stage, overlay)
        return self._call("worst", [metric], n=n, run=run, stage=stage, overlay=overlay, scope=scope)

    def first_bad(
        self,
        metric: str,
        threshold: float,
        run: str | None = None,
        overlay: str | None = None,
        scope: str | None = None,
    ) -> Result:
        """Returns the nodes where an error starts: bad ones none of whose measured inputs is bad.

        Raises:
            QueryError: The run has no such metric or overlay.
        """
        self._check_metric(metric, run, None, overlay)
        return self._call("first_bad", [metric, threshold], run=run, overlay=overlay, scope=scope)

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

    def run(self, run: str | None = None) -> CommittedRun | None:
        """Returns a run by id or name, or the latest; None where the store has no run at all.

        Raises:
            QueryError: There is no run of that id or name.
        """
        catalog = self._current().catalog
        if run is None:
            return catalog.latest()
        found = catalog.find(run)
        if found is None:
            raise hints.no_run(catalog, run)
        return found

    def existing_run(self, run: str | None = None) -> CommittedRun:
        """Returns a run by id or name, or the latest.

        Raises:
            QueryError: There is no such run, or no run at all.
        """
        found = self.run(run)
        if found is None:
            raise hints.no_run(self._current().catalog, run)
        return found

    def committed_runs(self) -> list[CommittedRun]:
        """Returns all runs, oldest first."""
        return list(self._current().catalog.runs.values())

    def own_result(self, table: pa.Table, shown: str) -> Result:
        """Returns rows that are not SQL's as a result, which renders as any other."""
        result = self._result(guard.Checked(""), None, shown)
        result.rows_from(table)
        return result

    def rows_of(self, macro: str, *arguments: object) -> pa.Table:
        """Returns what one of fxstore's own macros gives, the private ones included."""
        return self._read(f"FROM {macro}({', '.join('?' * len(arguments))})", list(arguments))

    def _held(self, macro: str, *arguments: object) -> pa.Table:
        """Returns what a committed run holds; asked once, since no committed run ever changes."""
        key = macro, *arguments
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = self.rows_of(macro, *arguments)
        return self._known[key]

    def _read(self, query: str, params: Params | None, few: bool = False) -> pa.Table:
        """Runs a statement that is our own, or checked."""
        engine = self._current()

        def ask() -> pa.Table:
            engine.load(library.uses(query))
            return engine.arrow_of_few(query, params) if few else engine.arrow(query, params)

        try:
            return engine.reading(ask)
        except duckdb.Error as error:
            with engine.lock:
                raise guard.explain(engine, error) from error

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="connect to it again")

    def _current(self) -> Engine:
        """Returns the engine with all runs that are committed now."""
        self._check_open()
        try:
            if self._engine is None:
                self._engine = Engine(Catalog(self._directory), self._memory_mb)
            else:
                self._engine.refresh()
        except OSError as error:
            raise unreadable(self._directory.root, error) from error
        return self._engine

    def _own(self, query: str) -> Result:
        """Returns the answer to a statement that is our own."""
        self._check_open()
        return self._result(guard.Checked(query), None, query)

    def _call(self, macro: str, required: Sequence[object], **optional: object) -> Result:
        """Asks a table macro, every argument bound."""
        self._check_open()
        params = {f"a{i}": value for i, value in enumerate(required)}
        given = {name: value for name, value in optional.items() if value is not None}
        arguments = ", ".join([*(f"${name}" for name in params), *(f"{name} := ${name}" for name in given)])
        shown = ", ".join([*map(literal, required), *(f"{name} := {literal(value)}" for name, value in given.items())])
        params |= given
        coverage = f"FROM _coverage_of_{macro}({arguments})" if macro in guard.RANKINGS else None
        checked = guard.Checked(f"FROM {macro}({arguments})", coverage, tuple(params), gives_few=True)
        return self._result(checked, params, f"FROM {macro}({shown})")

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

    def _finished(self, result: Result) -> Result:
        """Returns the result as this store hands it out."""
        return result

    def _result(
        self,
        checked: guard.Checked,
        params: Params | None,
        shown: str,
        complete: Callable[[], pa.Table | None] = lambda: None,
    ) -> Result:
        return self._finished(
            Result(
                shown,
                lambda: self._read(checked.text, params, checked.gives_few),
                self._known_nodes,
                lambda: self._coverage(checked, params),
                complete,
            )
        )

    def _coverage(self, checked: guard.Checked, params: Params | None) -> Coverage | None:
        if checked.coverage is None:
            return None
        given = params
        if isinstance(params, Mapping):
            given = {name: params[name] for name in checked.coverage_params}
        elif params is not None and len(params) != len(checked.coverage_params):
            return None
        try:
            rows = self._read(checked.coverage, given).to_pylist()
        except QueryError:  # its arguments are columns of the query around it
            return None
        return Coverage.counted(rows)

    def _known_nodes(self) -> KnownNodes:
        runs = sorted(self._current().catalog.runs.values(), key=lambda run: run.run_key)
        keys = np.array([run.run_key for run in runs], np.int64)
        return KnownNodes(keys, np.array([run.nodes for run in runs], np.int64))

    def _check_stage(self, stage: str | None, run: str | None) -> CommittedRun:
        found = self.existing_run(run)
        stages = [str(known["stage"]) for known in found.stages]
        if stage is not None and stage not in stages:
            raise QueryError(f"run {found.name!r} has no stage {stage!r}", hint=hints.among(stage, stages))
        return found

    def _check_node(self, stage: str, node: str, run: str | None) -> None:
        found = self._check_stage(stage, run)
        names = self._held("_held_nodes", found.run_id, stage)["name"].to_pylist()
        if node not in names:
            lister = f"SELECT name FROM nodes WHERE run_id = {literal(found.run_id)} AND stage = {literal(stage)}"
            hint = hints.among(node, names, lister)
            raise QueryError(f"stage {stage!r} of run {found.name!r} has no node {node!r}", hint=hint)

    def _check_nids(self, *nids: int) -> None:
        catalog = self._current().catalog
        for nid in nids:
            if type(nid) is not int:
                raise UsageError(f"a nid is a whole number, not {nid!r}", hint=_NIDS)
            run = catalog.runs.get(f"{nid >> ORDINAL_BITS:08x}")
            if run is None or nid & ((1 << ORDINAL_BITS) - 1) >= run.nodes:
                raise QueryError(f"no node has the nid {nid}", hint=_NIDS)

    def _check_metric(self, metric: str, run: str | None, stage: str | None = None, overlay: str | None = None) -> None:
        """Raises where a ranking could only be empty because a name is wrong."""
        found = self._check_stage(stage, run)
        held = self._held("_held_metrics", found.run_id).to_pylist()
        overlays = sorted({row["overlay"] for row in held})
        if overlay is not None and overlay not in overlays:
            raise QueryError(f"run {found.name!r} has no overlay {overlay!r}", hint=hints.among(overlay, overlays))
        metrics = sorted({row["metric"] for row in held if overlay in (None, row["overlay"]) and row["metric"]})
        if metric not in metrics:
            hint = hints.among(metric, metrics) if metrics else "it holds no metrics: measure it first"
            raise QueryError(f"run {found.name!r} has no metric {metric!r}", hint=hint)
