"""The files of a graph: what a node has several of stands in the node's own row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from fxstore import tables


def graph_files(found: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Returns the tables of a graph as its files have them.

    Args:
        found: Tables of :data:`fxstore.tables.GRAPH_TABLES`, each sorted by position.

    Returns:
        Tables of :data:`fxstore.tables.GRAPH_FILES`.
    """
    nodes = found["nodes"]
    lists = [_list(found[name], len(nodes), kind) for name, kind in tables.NODE_LISTS.items()]
    packed = pa.Table.from_arrays([*nodes.columns, *lists], schema=tables.GRAPH_FILES["nodes"])
    return {"nodes": packed, "edges": found["edges"], "sources": found["sources"]}


def _list(table: pa.Table, nodes: int, kind: pa.DataType) -> pa.Array:
    """Returns for each node the list of its rows, without their position."""
    first = np.searchsorted(table["position"].to_numpy(), np.arange(nodes + 1)).astype(np.int32)
    columns = [column.combine_chunks() for column in table.columns[1:]]
    items = pa.StructArray.from_arrays(columns, fields=list(kind)) if pa.types.is_struct(kind) else columns[0]
    return pa.ListArray.from_arrays(pa.array(first), items)
