"""Statistics of the values that a runtime logged: what can be told of them when nothing can be run to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from fxstore.ingest.measure import Described
from fxstore.ingest.overlays import ROWS, Place, rows_of

if TYPE_CHECKING:
    from fxstore.ingest.executions import Execution
    from fxstore.ingest.handle_values import Laid

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
            laid = method.values(one.block)
            tables.append(statistics_of(laid, method.graphs, one.sample or 0))
            told = laid.unplaced if nowhere is None else nowhere
            nowhere = {name: why for name, why in told.items() if name in laid.unplaced}
        tables.append(unplaced_rows(nowhere or {}, one.sample))
        lost |= nowhere or {}
    return pa.concat_tables(tables), unplaced_line(lost)


def statistics_of(laid: Laid, graphs: Iterable[Place], sample: int) -> pa.Table:
    """Returns statistics of what was laid on the nodes of some graphs, and the reasons of what was not."""
    described = Described(_Nodes(graphs), sample)
    for key, array in laid.values.items():
        if array.size > _MOST_ELEMENTS:
            described.lack(key, f"more than {_MOST_ELEMENTS:,} elements: not described")
        else:
            described.take(key, array)
    for key, reason in laid.missing.items():
        described.lack(key, reason)
    return described.rows()


def unplaced_line(unplaced: Mapping[str, str]) -> str | None:
    """Returns a line that counts values which lie on no node, with their reasons; None where there are none."""
    if not unplaced:
        return None
    told = [f"{name}: {why}" for name, why in unplaced.items()]
    more = f"; and {len(told) - _LONGEST_LIST} more" if len(told) > _LONGEST_LIST else ""
    return f"{len(told)} values lie on no node: {'; '.join(told[:_LONGEST_LIST])}{more}"


def unplaced_rows(reasons: Mapping[str, str], sample: int | None) -> pa.Table:
    """Returns a row for each value that lies on no node."""
    columns = {"metric": "value_unplaced", "status": "not_measured", "sample": sample}
    return rows_of(len(reasons), {**columns, "text": [*reasons], "reason": [*reasons.values()]})


class _Nodes:
    """The nodes of some graphs by ordinal."""

    def __init__(self, graphs: Iterable[Place]) -> None:
        self.key: dict[int, tuple[str, str]] = {}
        self.role: dict[int, str] = {}
        for place in graphs:
            names, roles = (place.graph.nodes[column].to_pylist() for column in ("name", "role"))
            self.key |= {place.base + i: (place.graph.path, name) for i, name in enumerate(names)}
            self.role |= dict(enumerate(roles, place.base))
