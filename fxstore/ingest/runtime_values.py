"""Statistics of the values that a runtime logged: what can be told of them when nothing can be run to compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from fxstore.ingest.measure import Described
from fxstore.ingest.overlays import ROWS, Place, rows_of

if TYPE_CHECKING:
    from fxstore.ingest.executions import Execution

_MOST_ELEMENTS: Final = 1 << 25
_LONGEST_LIST: Final = 5


def runtime_statistics(placed: Sequence[Execution]) -> tuple[pa.Table, str | None]:
    """Returns statistics of each logged value, one sample per execution; a value that is not there has its reason.

    A value that lies on no node of any stage is on the run itself, as ``value_unplaced``.

    Returns:
        Rows as :data:`fxstore.ingest.overlays.ROWS`, and a line on what lies on no node, if anything does.
    """
    tables = [ROWS.empty_table()]
    lost: dict[str, str] = {}
    for one in placed:
        nowhere: dict[str, str] | None = None
        for method in one.methods:
            described = Described(_PlaceNodes(method.place), one.sample or 0)
            laid = method.values(one.block)
            for key, array in laid.values.items():
                if array.size > _MOST_ELEMENTS:
                    described.lack(key, f"more than {_MOST_ELEMENTS:,} elements: not described")
                else:
                    described.take(key, array)
            for key, reason in laid.missing.items():
                described.lack(key, reason)
            tables.append(described.rows())
            told = laid.unplaced if nowhere is None else nowhere
            nowhere = {name: why for name, why in told.items() if name in laid.unplaced}
        tables.append(_unplaced(nowhere or {}, one.sample))
        lost |= nowhere or {}
    return pa.concat_tables(tables), unplaced_line(lost)


def unplaced_line(unplaced: Mapping[str, str]) -> str | None:
    """Returns a line that counts values which lie on no node, with their reasons; None where there are none."""
    if not unplaced:
        return None
    told = [f"{name}: {why}" for name, why in unplaced.items()]
    more = f"; and {len(told) - _LONGEST_LIST} more" if len(told) > _LONGEST_LIST else ""
    return f"{len(told)} values that delegates logged lie on no node: {'; '.join(told[:_LONGEST_LIST])}{more}"


def _unplaced(reasons: Mapping[str, str], sample: int | None) -> pa.Table:
    columns = {"metric": "value_unplaced", "status": "not_measured", "sample": sample}
    return rows_of(len(reasons), {**columns, "text": [*reasons], "reason": [*reasons.values()]})


class _PlaceNodes:
    """The nodes of one graph by ordinal."""

    def __init__(self, place: Place) -> None:
        names, roles = (place.graph.nodes[column].to_pylist() for column in ("name", "role"))
        self.key = {place.base + i: (place.graph.path, name) for i, name in enumerate(names)}
        self.role = dict(enumerate(roles, place.base))
