"""An open store and how it is asked: a statement is checked, bound, and run when its rows are needed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb
import numpy as np

from fxstore.errors import QueryError, StoreError, is_encodable
from fxstore.query import guard, library
from fxstore.query.caption import Caption
from fxstore.query.engine import Engine
from fxstore.query.hints import literal
from fxstore.query.result import NODE_IS_LAST, Coverage, KnownNodes, Result
from fxstore.query.sandbox import Limited
from fxstore.store import Catalog, Directory, unreadable

if TYPE_CHECKING:
    import pyarrow as pa

Params = Sequence[Any] | Mapping[str, Any]
# Names of nodes, metrics and modules of so many runs and stages are kept.
_MOST_KNOWN: Final = 64


class Asking:
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
        texts = [query, *(params.values() if isinstance(params, Mapping) else params or ())]
        if not isinstance(query, str) or not all(is_encodable(text) for text in texts if isinstance(text, str)):
            raise QueryError("the statement or a parameter is no text", hint="half of a UTF-16 character is none")
        if timeout is not None or memory_mb is not None:
            return self.limited(timeout, memory_mb).sql(query, params)
        engine = self._current()
        checked = engine.reading(lambda: guard.check(engine, query, params, self._check_call))
        return self._result(checked, params, query, lambda: self._why_empty(checked.terms))

    def limited(self, timeout: float | None = None, memory_mb: int | None = None) -> Limited:
        """Returns what asks this store within limits: ``store.limited(timeout=5).worst("cosine")``.

        Args:
            timeout: Seconds that a question may take; it is asked in a process of its own, which ends there.
            memory_mb: Megabytes that it may use.
        """
        self._check_open()
        return Limited(self._directory.location, self._known_nodes, self._finished, timeout, memory_mb)

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
            self._current().forget()
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
        self._check_call(macro, dict(zip(library.parameters(macro), required, strict=False)) | given)
        arguments = ", ".join([*(f"${name}" for name in params), *(f"{name} := ${name}" for name in given)])
        shown = ", ".join([*map(literal, required), *(f"{name} := {literal(value)}" for name, value in given.items())])
        params |= given
        coverage = f"FROM _coverage_of_{macro}({arguments})" if macro in guard.RANKINGS else None
        checked = guard.Checked(f"FROM {macro}({arguments})", coverage, tuple(params), gives_few=True)
        asked = dict(zip(library.parameters(macro), required, strict=False)) | given
        return self._result(
            checked, params, f"FROM {macro}({shown})", caption=lambda table: self._caption(macro, asked, table)
        )

    def _caption(self, macro: str, asked: Mapping[str, object], table: pa.Table) -> Caption | None:
        """Returns the line over the answer of a macro."""
        return None

    def _check_call(self, macro: str, asked: Mapping[str, object]) -> None:
        """Raises where an argument of a macro names what this store has not."""

    def _why_empty(self, terms: Iterable[tuple[str, str]]) -> str | None:
        """Returns a hint for an empty answer whose conditions name what this store has not; or None."""
        return None

    def _finished(self, result: Result) -> Result:
        """Returns the result as this store hands it out."""
        return result

    def _result(
        self,
        checked: guard.Checked,
        params: Params | None,
        shown: str,
        why_empty: Callable[[], str | None] = lambda: None,
        caption: Callable[[pa.Table], Caption | None] = lambda table: None,
    ) -> Result:
        return self._finished(
            Result(
                shown,
                lambda: self._rows(checked, params),
                self._known_nodes,
                lambda: self._coverage(checked, params),
                checked.unnamed,
                why_empty,
                caption,
            )
        )

    def _rows(self, checked: guard.Checked, params: Params | None) -> pa.Table:
        """Runs a checked statement, with the node of each row where that can be added: from one and the same answer."""
        if checked.completed is not None:
            try:
                table = self._read(checked.completed, params, checked.gives_few)
                return table.replace_schema_metadata({NODE_IS_LAST: b""})
            except QueryError:  # its relation has no nid, or its rows are groups: as it was asked, then
                pass
        return self._read(checked.text, params, checked.gives_few)

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
