"""The store as Python users see it: ingest and record on one side, queries and pages on the other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fxstore.errors import UsageError, path_of
from fxstore.query import across
from fxstore.query.result import Result
from fxstore.store import (
    GRACE_S,
    Collected,
    Compacted,
    Merged,
    Verified,
    add_tags,
    collect,
    compact,
    merge,
    open_directory,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fxstore.record.recorder import Recorder, Run
    from fxstore.render.html import Page


class Store(across.Store):
    """An open store; a context manager. Queries as in :class:`fxstore.query.across.Store`."""

    def ingest(
        self,
        source: object,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        *,
        model: str | None = None,
        privacy: str | None = None,
        strict: bool = False,
        **options: Any,
    ) -> Run:
        """Takes a source in as one run.

        Args:
            source: Whatever an adapter accepts (a graph module, an exported program, a program manager, an ETRecord, a
                path), what an adapter has read, or a dict from stage names to such sources, in pipeline order. A
                source of numbers alone lies on the stages of the others; its key is its overlay's name then.
            name: The run's name; default: the file's, or ``run``.
            tags: Free text by which runs are found again.
            model: Name of the model.
            privacy: ``public`` stores no source, no code, no texts, no values and nothing that is derived from them.
            strict: Raise what would make the run ``partial``.
            options: What the sources' adapters take. For any source: ``etdump`` and ``debug_buffer``, the files of a
                traced run of it, whose events are laid on the stages that they fit (``stage`` says which program ran,
                where several do); ``inputs`` (and ``kwargs``), what that run was given, one tuple for each execution:
                its values are compared with ``reference``, by default the first stage that is a live object and can
                be run. Nothing in a file is ever run. ``values``: tensors by debug handle, as
                :meth:`fxstore.record.recorder.Recorder.values` takes them, of the stage ``values_stage``.

        Raises:
            SourceError: The source, or each of several, cannot be read; nothing is stored then.
            UsageError: No source takes such an option.
            StoreError: The store is read-only or cannot be written.
        """
        from fxstore.record import sources

        recorder = self.record(
            name or sources.default_name(source),
            model=model,
            tags=tags,
            strict=strict,
            privacy=privacy,
        )
        return sources.ingest(recorder, source, options)

    def record(
        self,
        name: str,
        model: str | None = None,
        tags: Mapping[str, str] | None = None,
        *,
        strict: bool = False,
        privacy: str | None = None,
    ) -> Recorder:
        """Returns a context manager that records one run, stage by stage.

        Args:
            strict: Raise a stage's error; else it is logged and stored, and the compile goes on.
            privacy: As :meth:`ingest` takes it.
        """
        from fxstore.record.recorder import Recorder

        self._check_open()
        texts = None if tags is None else _texts(tags)
        return Recorder(self.commit, name, model=model, tags=texts, strict=strict, privacy=privacy)

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
                README); or ``tensors`` (the values of a dump: a ``.npy`` file for each, and ``index.json`` with nodes,
                shapes, dtypes and layouts).
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
                None is ``run``. Of ``tensors``: ``etdump`` and ``debug_buffer``, the files that the traced run wrote,
                since a store keeps numbers about values, not the values; ``source``, what ran (a file, a live program,
                or a dict of stages), where ``run`` is not to name the nodes.

        Raises:
            UsageError: There is no such format, it takes no such option, or something stands at the path and
                ``overwrite`` is false.
            QueryError: There is no such run, or nothing is selected.
            SourceError: A dump cannot be read, or has no values.
            MissingExtraError: What makes PNG and PDF is not installed.
        """
        from fxstore.export import tensors
        from fxstore.export.stores import export

        assert tensors.FORMAT
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
        from fxstore.export.explorer import Options, exported

        return exported(self, run, Options(stages, overlays=(), privacy=privacy)).main.payload

    def tag(self, run: str, tags: Mapping[str, str]) -> None:
        """Adds tags to a run that is already there; one of a key that it has replaces that.

        Raises:
            QueryError: There is no such run.
            UsageError: The tags are no dict of texts, or too long.
            StoreError: The store is read-only or cannot be written.
        """
        add_tags(self.directory, self.existing_run(run).run_id, _texts(tags))

    def compact(self, grace: float = GRACE_S) -> Compacted:
        """Puts the overlays and metrics of many runs into few, larger files; others may read and write meanwhile.

        Args:
            grace: Seconds for which the files that are replaced stay, for who has listed them outside of fxstore. The
                next :meth:`compact` or :meth:`gc` takes them away.

        Raises:
            StoreError: The store is read-only or cannot be written, or another process compacts or collects.
        """
        self._check_open()
        return compact(self.directory, grace)

    def gc(
        self,
        keep_last: int | None = None,
        keep_tag: str | Sequence[str] = (),
        *,
        grace: float = GRACE_S,
        dry_run: bool = False,
    ) -> Collected:
        """Removes what killed writers left, graphs of no run, and runs that are not to be kept; others may go on.

        Args:
            keep_last: How many of the newest runs of each model (of each name, of runs without a model) to keep;
                default: all runs stay.
            keep_tag: Runs with this tag, or one of these, stay, too: ``release``, or ``release=2.1``.
            grace: Seconds for which what a writer has staged stays, and what was compacted.
            dry_run: Only tell.

        Raises:
            UsageError: ``keep_last`` is below 1, or ``keep_tag`` is given without it.
            StoreError: The store is read-only or cannot be written, or another process compacts or collects.
        """
        self._check_open()
        tags = [keep_tag] if isinstance(keep_tag, str) else keep_tag
        return collect(self.directory, keep_last, tags, grace, dry_run)

    def merge(self, other: str | os.PathLike[str] | Store) -> Merged:
        """Takes the runs of another store in, with their tags; a run that is here already is not taken twice.

        Args:
            other: A store, its path, or its URL; it may be written meanwhile.

        Raises:
            UsageError: It is this store.
            StoreError: A run there has the id of another one here, and nothing is taken in then; or a store cannot be
                opened, or this one not be written.
        """
        self._check_open()
        if isinstance(other, Store):
            return merge(self.directory, other.directory)
        with connect(other, read_only=True) as opened:
            return merge(self.directory, opened.directory)

    def dump_diff(
        self,
        a: str | os.PathLike[str] | Mapping[str, object],
        b: str | os.PathLike[str] | Mapping[str, object],
        metrics: Sequence[str] | str | None = None,
    ) -> Result:
        """Compares two dumps value by value, as :func:`fxstore.dump_diff` does; a store keeps no values of its own.

        Raises:
            SourceError: A dump cannot be read or holds no values.
            UsageError: There is no such metric, the dumps have no name in common, or a run is given.
        """
        from fxstore.export.dump_diff import dump_diff

        for one in (a, b):
            if isinstance(one, str) and not os.path.exists(path_of(one)) and self._current().catalog.find(one):
                hint = f"give the files of its traced run: store.dump_diff({'a.etdp'!r}, {'b.etdp'!r})"
                raise UsageError(f"run {one!r} keeps no values", hint=hint)
        return dump_diff(a, b) if metrics is None else dump_diff(a, b, metrics)

    def verify(self) -> Verified:
        """Reads every file that a run needs, and compares it with its digest; others may read and write meanwhile."""
        self._check_open()
        return verify(self.directory)

    def compare(
        self,
        run: str | Sequence[str] | None = None,
        stages: Sequence[str] | None = None,
        color_by: str | None = None,
        highlight: Result | Sequence[int] | None = None,
        title: str | None = None,
        with_sources: bool = False,
        privacy: str | None = None,
        hops: int | None = None,
        whole: bool = False,
        columns: bool = False,
    ) -> Page:
        """Returns the page with the stages of a run, or of several, side by side.

        Args:
            run: Id or name, or several; default: the latest complete run.
            stages: Which, in this order; default: all.
            color_by: Overlay or metric that colours the nodes, or ``verdict`` (whether they pass their thresholds);
                default: the newest accuracy overlay.
            highlight: A result, whose rows are listed beside the graphs, or nids.
            title: The page's title; default: the names of the runs.
            with_sources: Show absolute paths of source files, not only their ends.
            privacy: ``public`` leaves out sources, code, texts, values, what is derived from these, and the rows of the
                result; its nodes stay highlighted.
            hops: Draw only what is highlighted and what is that near to it; default: everything, and of more than
                30,000 nodes what is within 3 hops.
            whole: Draw everything, however much it is.
            columns: Begin with graphs that are much taller than wide in columns, which the page can undo.

        Raises:
            QueryError: A run, a stage or an overlay is not there, or the result names no node.
            UsageError: There is no such privacy.
        """
        from fxstore.render.html import Page
        from fxstore.render.page.options import shown

        given = (run, stages, color_by, highlight, title, with_sources, privacy, hops, whole, columns)
        return Page(shown(self, *given))

    def _finished(self, result: Result) -> Result:
        result.renderer = self._render
        return result

    def _render(self, result: Result, **options: Any) -> Page:
        return self.compare(highlight=result, **options)


def _texts(tags: object) -> dict[str, str]:
    if not (isinstance(tags, Mapping) and all(isinstance(key, str) for key in tags)):
        raise UsageError(f"tags are a dict of texts, not {tags!r}", hint='tags={"soc": "sm8650"}')
    return {key: str(value) for key, value in tags.items()}


def connect(path: str | os.PathLike[str], read_only: bool = False) -> Store:
    """Opens, or creates, the store at a path.

    Args:
        path: A directory, ``":memory:"`` for a store that leaves nothing behind, or the URL of a store elsewhere
            (``s3://bucket/store``), which is for reading only.
        read_only: Never write; then the store must exist.

    Raises:
        StoreError: The path is no store, is of a newer format, is missing or may not be written.
        MissingExtraError: What a URL needs is not installed.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"a store is opened at a path, not at {path!r}", hint='fxstore.connect("fxstore-runs")')
    return Store(open_directory(path, read_only))
