"""The difference of two runs as a function that SQL calls."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from fxstore.query.matching import columns
from fxstore.query.matching.changes import Fields, Run, changes
from fxstore.query.matching.runs import UNIT
from fxstore.query.matching.side import Graphs, Nodes, Side, Uses

NAME: Final = "_diff_runs"
_GRAPHS: Final = (
    "STRUCT(number INTEGER, stage VARCHAR, stage_index INTEGER, method VARCHAR, path VARCHAR, parent INTEGER, "
    "content VARCHAR)[]"
)
_NODES: Final = (
    "STRUCT(ordinal INTEGER, graph INTEGER, label UBIGINT, kind UBIGINT, name_hash UBIGINT, module_call INTEGER, "
    "leaf INTEGER, name VARCHAR, target VARCHAR, dtype VARCHAR, shape VARCHAR, backend VARCHAR, attrs VARCHAR, "
    "module_path VARCHAR)[]"
)
_USES: Final = "STRUCT(src INTEGER, dst INTEGER, slot UBIGINT, argument VARCHAR, port INTEGER)[]"
PARAMETERS: Final = (_GRAPHS, _NODES, _USES, _GRAPHS, _NODES, _USES)
RESULT: Final = (
    "STRUCT(base INTEGER, head INTEGER, change VARCHAR, stage VARCHAR, name VARCHAR, detail VARCHAR, method VARCHAR, "
    "path VARCHAR)[]"
)


def diff(
    base_graphs: Any, base_nodes: Any, base_uses: Any, head_graphs: Any, head_nodes: Any, head_uses: Any
) -> pa.Array:
    """Returns one list of rows, see ``run_diff``, per row; arguments as in :data:`PARAMETERS`."""
    given = (base_graphs, base_nodes, base_uses, head_graphs, head_nodes, head_uses)
    lists = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in given]
    found = []
    for i in range(len(lists[0])):
        rows = [_fields(column, i) for column in lists]
        found.append(changes(_run(*rows[:3]), _run(*rows[3:])))
    offsets = np.cumsum([0, *map(len, found)])
    return pa.ListArray.from_arrays(columns.int32(offsets), pa.concat_arrays(found))


def _fields(lists: Any, row: int) -> Fields:
    """Returns the fields of the structs in one row's list, in their order."""
    values = lists[row].values
    values = lists.values[:0] if values is None else values
    order = columns.numbers(values.field(0), np.int64)
    if bool((np.diff(order) < 0).any()):
        values = values.take(columns.int32(np.argsort(order, kind="stable")))
    return {field.name: values.field(i) for i, field in enumerate(values.type)}


def _run(graphs: Fields, nodes: Fields, uses: Fields) -> Run:
    ordinals = columns.numbers(nodes["ordinal"], np.int64)
    listed = {name: graphs[name].to_pylist() for name in ("number", "stage", "method", "path", "parent", "content")}
    rows = {ordinal: row for row, ordinal in enumerate(ordinals.tolist())} if any(listed["path"]) else {}
    entries = [f"{stage}{UNIT}{method}" for stage, method in zip(listed["stage"], listed["method"], strict=True)]
    own = Graphs(listed["number"], entries, listed["path"], [rows.get(o) for o in listed["parent"]], listed["content"])
    side = Side(
        own,
        Nodes(
            graph=columns.numbers(nodes["graph"], np.int64),
            label=columns.numbers(nodes["label"], np.uint64),
            kind=columns.numbers(nodes["kind"], np.uint64),
            name=columns.numbers(nodes["name_hash"], np.uint64),
            call=columns.numbers(nodes["module_call"], np.int64),
            leaf=columns.numbers(nodes["leaf"], np.bool_),
            modules=nodes["module_path"].to_pylist(),
        ),
        Uses(
            src=np.searchsorted(ordinals, columns.numbers(uses["src"], np.int64)),
            dst=np.searchsorted(ordinals, columns.numbers(uses["dst"], np.int64)),
            slot=columns.numbers(uses["slot"], np.uint64),
        ),
    )
    return Run(side, ordinals, graphs, nodes, uses)
