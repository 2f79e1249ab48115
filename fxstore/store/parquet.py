"""How one file is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa

from fxstore import tables
from fxstore.errors import StoreError
from fxstore.store import reading

Write = Callable[[Path], None]
_LEVEL: Final = 1
_FEW_ROWS: Final = 20_000


def keyed(schema: pa.Schema, key: str, kind: pa.DataType | None = None) -> pa.Schema:
    """Returns the schema of a file: the table's columns and the key that all its rows share."""
    return schema.append(pa.field(key, kind or pa.string()))


def conform(table: pa.Table, schema: pa.Schema, order: tuple[str, ...]) -> pa.Table:
    """Returns the table with exactly the columns of ``schema``, sorted by ``order``.

    Raises:
        StoreError: A column is missing or cannot be cast.
    """
    if table.schema.equals(schema):
        return table if _is_sorted(table, order) else table.sort_by([(name, "ascending") for name in order])
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise StoreError(f"a table lacks the column {missing[0]!r}", hint=f"it has {', '.join(table.column_names)}")
    try:
        cast = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StoreError(f"a table has a column of the wrong type: {error}") from error
    return cast.sort_by([(name, "ascending") for name in order])


def _is_sorted(table: pa.Table, order: tuple[str, ...]) -> bool:
    """Tells, of what is cheap to tell: whether the first column of the order rises from row to row."""
    first = table[order[0]]
    if table.num_rows < 2:
        return True
    if first.null_count or not pa.types.is_integer(first.type):
        return False
    numbers = first.to_numpy()
    return bool((numbers[1:] > numbers[:-1]).all())


def with_key(table: pa.Table, key: str, value: str | int, kind: pa.DataType | None = None) -> pa.Table:
    """Returns the table with a constant column, as files carry it."""
    column = pa.repeat(pa.scalar(value, kind or pa.string()), table.num_rows)
    return table.append_column(pa.field(key, column.type), column)


def write_to(table: pa.Table, file: IO[bytes] | pa.NativeFile) -> None:
    """Writes a table as Parquet.

    Float columns get no statistics: Arrow leaves NaN out of them, and an engine that trusts them then finds no NaN.
    Dictionaries, and statistics of anything but the key, make small files larger and slower to write: zstd finds the
    repeats by itself, and there is one row group.
    """
    import pyarrow.parquet as pq  # readers never write, and it loads slowly

    pq.write_table(table, file, **_options(table.schema, table.num_rows <= _FEW_ROWS))


def write_groups(parts: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Writes one file of many runs' rows, a row group for each part, and waits until it is on the disk."""
    import pyarrow.parquet as pq

    with open(path, "wb") as file:
        with pq.ParquetWriter(file, schema, **_options(schema, False)) as writer:
            for part in parts:
                writer.write_table(part, row_group_size=max(part.num_rows, 1))
        file.flush()
        _flush(file.fileno())


def _options(schema: pa.Schema, few: bool) -> dict[str, Any]:
    counted = [field.name for field in schema if _is_counted(field, few)]
    return {
        "compression": "zstd",
        "compression_level": _LEVEL,
        "write_statistics": True if len(counted) == len(schema) else counted,
        "store_schema": False,
        "use_dictionary": not few,
    }


def _is_counted(field: pa.Field, few: bool) -> bool:
    if few:
        return str(field.name).endswith(("_hash", "_key"))
    return not pa.types.is_floating(field.type)


def read(path: Path) -> pa.Table:
    """Returns the rows of a file."""
    import pyarrow.parquet as pq

    with reading.opened(path) as file:
        return pq.ParquetFile(file).read()


def write(table: pa.Table, path: Path) -> None:
    """Writes one file and waits until it is on the disk."""
    sink = pa.BufferOutputStream()  # to a file it would write each page by itself
    write_to(table, sink)
    write_bytes(sink.getvalue(), path)


def write_text(text: str, path: Path) -> None:
    """Writes one text file and waits until it is on the disk."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes | pa.Buffer, path: Path) -> None:
    """Writes a file and waits until it is on the disk."""
    with open(path, "wb", buffering=0) as file:
        left = memoryview(content)
        while left:
            left = left[file.write(left) :]
        _flush(file.fileno())


def sync(directory: Path) -> None:
    """Waits until the names in a directory are on the disk."""
    if os.name == "nt":  # a directory cannot be opened there
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        _flush(handle)
    finally:
        os.close(handle)


def _flush(handle: int) -> None:
    os.fsync(handle)


# The files of a graph: what a node has several of stands in the node's own row.


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
