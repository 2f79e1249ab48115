"""Statistics of the values that a runtime logged: what can be told of them when nothing can be run to compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from fxstore.ingest.measure import Described
from fxstore.ingest.overlays import ROWS, Place

if TYPE_CHECKING:
    from fxstore.ingest.executions import Execution

_MOST_ELEMENTS: Final = 1 << 25


def runtime_statistics(placed: Sequence[Execution]) -> pa.Table:
    """Returns statistics of each logged value, one sample per execution; a value that is not there has its reason.

    Returns:
        Rows as :data:`fxstore.ingest.overlays.ROWS`.
    """
    tables = [ROWS.empty_table()]
    for one in placed:
        for method in one.methods:
            described = Described(_PlaceNodes(method.place), one.sample or 0)
            values, missing = method.values(one.block)
            for key, array in values.items():
                if array.size > _MOST_ELEMENTS:
                    described.lack(key, f"more than {_MOST_ELEMENTS:,} elements: not described")
                else:
                    described.take(key, array)
            for key, reason in missing.items():
                described.lack(key, reason)
            tables.append(described.rows())
    return pa.concat_tables(tables)


class _PlaceNodes:
    """The nodes of one graph by ordinal."""

    def __init__(self, place: Place) -> None:
        names, roles = (place.graph.nodes[column].to_pylist() for column in ("name", "role"))
        self.key = {place.base + i: (place.graph.path, name) for i, name in enumerate(names)}
        self.role = dict(enumerate(roles, place.base))
