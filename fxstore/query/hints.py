"""What an error about an unknown name says, and how a value is shown in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fxstore.errors import QueryError, nearest
from fxstore.metrics.definitions import UNDECLARED
from fxstore.store import Catalog

_SHOWN: Final = 5


def among(name: str, known: Iterable[str], lister: str = "") -> str:
    """Returns a hint for an unknown name: the nearest names, else the first ones that there are.

    Args:
        name: What was asked for.
        known: What there is; a name may come twice.
        lister: The command that lists all; named where not all are shown.
    """
    names = list(dict.fromkeys(known))
    if near := nearest(name, names):
        return near
    if not names:
        return "there is none"
    shown = ", ".join(map(repr, names[:_SHOWN]))
    rest = len(names) - _SHOWN
    if rest <= 0:
        return f"there {'is' if len(names) == 1 else 'are'} {shown}"
    return f"there are {shown} and {rest} more" + (f": {lister}" if lister else "")


def no_run(catalog: Catalog, run: str | None) -> QueryError:
    """Returns the error for a run that is not there: one of that name, or any at all."""
    if run is not None and run in catalog.damaged:
        return QueryError(f"run {run} is left out: {catalog.damaged[run]}", hint="fxstore verify says what is damaged")
    if run is None or not catalog.runs:
        return QueryError("the store holds no run yet", hint="ingest one first: fxstore ingest SOURCE")
    newest_first = [found.name for found in reversed(catalog.runs.values())]
    hint = nearest(run, catalog.names()) or among(run, newest_first, "fxstore runs")
    return QueryError(f"no run {run!r} in this store", hint=hint)


def no_direction(metric: str) -> QueryError:
    """Returns the error for a metric that cannot be ranked, since nobody has said what is better."""
    what = f"the metric {metric!r} has no direction (better is NULL), so it is neither ranked nor judged"
    return QueryError(what, hint=UNDECLARED)


def literal(value: object) -> str:
    """Returns a value as SQL, for showing only."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
