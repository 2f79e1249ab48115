"""Tables of runs that are asked again, kept in memory: to open a run's files costs more than most questions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import duckdb

from fxstore.store import CommittedRun

PREFIX: Final = "_kept_"
MOST_ROWS: Final = 2_000_000
"""About 200 MB; the tables that were used last stay."""
_MOST_ASKED: Final = 10_000
_Key = tuple[str, str]


class Kept:
    """Which tables are in memory. The macros ``_run_…`` take a run's rows through :meth:`source`.

    A table is kept from the second statement on that asks for it, so that who asks each run once pays for no copy.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        find: Callable[[str | None], CommittedRun | None],
        most_rows: int = MOST_ROWS,
    ) -> None:
        self._connection = connection
        self._find = find
        self._most_rows = most_rows
        self._rows: dict[_Key, int] = {}
        self._asked: set[_Key] = set()
        self._asking: set[_Key] = set()

    def source(self, run: str | None, relation: str) -> str:
        """Returns the statement that gives a relation of a run, named by id or name (None: the latest)."""
        found = self._find(run)
        if found is None:
            return f"FROM main._read_{relation}({_literal(run)})"
        key = found.run_id, relation
        if key in self._rows:
            self._rows[key] = self._rows.pop(key)
            return f"FROM main.{_name(key)}"
        self._asking.add(key)
        return f"FROM main._read_{relation}('{found.run_id}')"

    def take_in(self) -> None:
        """Keeps what a statement asked for that one before it had asked for, too; called between statements."""
        if not self._asking:
            return
        again, self._asked = self._asking & self._asked, self._asking | self._asked
        self._asking = set()
        if len(self._asked) > _MOST_ASKED:
            self._asked.clear()
        for key in sorted(again):
            with suppress(duckdb.Error):  # the statement that needs these rows will say what is wrong
                self._keep(key)

    def forget(self) -> None:
        """Takes what was asked for since :meth:`take_in` as not asked: a statement was bound only."""
        self._asking = set()

    def drop(self, run_ids: set[str]) -> None:
        """Lets go of runs that are gone."""
        for key in [key for key in self._rows if key[0] in run_ids]:
            self._drop(key)

    def _keep(self, key: _Key) -> None:
        run_id, relation = key
        run = self._find(run_id)
        if run is None or run.nodes > self._most_rows:
            return
        made = self._connection.execute(f"CREATE TABLE {_name(key)} AS FROM _read_{relation}('{run_id}')").fetchall()
        self._rows[key] = int(made[0][0])
        while sum(self._rows.values()) > self._most_rows:
            self._drop(next(iter(self._rows)))

    def _drop(self, key: _Key) -> None:
        del self._rows[key]
        self._connection.execute(f"DROP TABLE {_name(key)}")


def _name(key: _Key) -> str:
    return f"{PREFIX}{key[1]}_{key[0]}"


def _literal(run: str | None) -> str:
    return "NULL" if run is None else "'" + run.replace("'", "''") + "'"
