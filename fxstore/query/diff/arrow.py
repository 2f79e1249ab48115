"""The difference of two runs as a function that SQL calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.query.diff.changes import Fields, Run, changes
from fxstore.query.diff.runs import UNIT
from fxstore.query.diff.side import Graphs, Nodes, Side, Uses

# Arrow columns from and to numpy; ``pyarrow.array`` would import pandas.


def numbers(column: pa.Array, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Returns a column of integers; NULL is 0."""
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(kind, copy=False)


def int32(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Returns a column of integers, NULL where they are not valid."""
    return pa.Array.from_buffers(pa.int32(), len(values), [_bits(valid), pa.py_buffer(values.astype(np.int32))])


def texts(values: Sequence[str | None]) -> pa.Array:
    """Returns a column of texts."""
    encoded = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    valid = np.array([value is not None for value in values], bool)
    buffers = [_bits(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def taken(column: pa.Array, rows: npt.NDArray[Any]) -> pa.Array:
    """Returns some rows of a column."""
    return column.take(int32(rows))


def differs(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Returns where two columns differ; NULL equals NULL only."""
    import pyarrow.compute as pc

    unequal = pc.fill_null(pc.not_equal(left, right), False)
    one_null = pc.xor(pc.is_null(left), pc.is_null(right))
    return np.asarray(pc.or_(unequal, one_null).to_numpy(zero_copy_only=False))


def placed(values: pa.Array, rows: npt.NDArray[Any], size: int) -> pa.Array:
    """Returns a column of so many rows with some values at the given ones, and NULL at the others."""
    places = np.full(size, -1, np.int32)
    places[rows] = np.arange(len(rows))
    return values.take(int32(places, places >= 0))


def shown(column: pa.Array, nothing: str) -> pa.Array:
    """Returns a column as texts, with another text for NULL and for an empty one."""
    import pyarrow.compute as pc

    said = column.cast(pa.string())
    empty = pc.or_kleene(pc.is_null(said), pc.equal(said, _scalar("")))
    return pc.if_else(empty, _scalar(nothing), said)


def concatenated(*parts: str | pa.Array) -> pa.Array:
    """Returns columns and constant texts, one after the other, as one column of texts."""
    import pyarrow.compute as pc

    given = [_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*given, _scalar(""))


def joined(parts: Sequence[pa.Array], separator: str) -> pa.Array:
    """Returns the texts of each row that are not NULL, joined; NULL where there is none."""
    import pyarrow.compute as pc

    found, *others = parts
    for other in others:
        found = pc.coalesce(concatenated(found, separator, other), found, other)
    return found


def _scalar(text: str | None) -> pa.Scalar:
    return texts([text])[0]


def _bits(valid: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if valid is None or bool(valid.all()) else pa.py_buffer(np.packbits(valid, bitorder="little"))


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
    return pa.ListArray.from_arrays(int32(offsets), pa.concat_arrays(found))


def _fields(lists: Any, row: int) -> Fields:
    """Returns the fields of the structs in one row's list, in their order."""
    values = lists[row].values
    values = lists.values[:0] if values is None else values
    order = numbers(values.field(0), np.int64)
    if bool((np.diff(order) < 0).any()):
        values = values.take(int32(np.argsort(order, kind="stable")))
    return {field.name: values.field(i) for i, field in enumerate(values.type)}


def _run(graphs: Fields, nodes: Fields, uses: Fields) -> Run:
    ordinals = numbers(nodes["ordinal"], np.int64)
    listed = {name: graphs[name].to_pylist() for name in ("number", "stage", "method", "path", "parent", "content")}
    rows = {ordinal: row for row, ordinal in enumerate(ordinals.tolist())} if any(listed["path"]) else {}
    entries = [f"{stage}{UNIT}{method}" for stage, method in zip(listed["stage"], listed["method"], strict=True)]
    own = Graphs(listed["number"], entries, listed["path"], [rows.get(o) for o in listed["parent"]], listed["content"])
    side = Side(
        own,
        Nodes(
            graph=numbers(nodes["graph"], np.int64),
            label=numbers(nodes["label"], np.uint64),
            kind=numbers(nodes["kind"], np.uint64),
            name=numbers(nodes["name_hash"], np.uint64),
            call=numbers(nodes["module_call"], np.int64),
            leaf=numbers(nodes["leaf"], np.bool_),
            modules=nodes["module_path"].to_pylist(),
        ),
        Uses(
            src=np.searchsorted(ordinals, numbers(uses["src"], np.int64)),
            dst=np.searchsorted(ordinals, numbers(uses["dst"], np.int64)),
            slot=numbers(uses["slot"], np.uint64),
        ),
    )
    return Run(side, ordinals, graphs, nodes, uses)
