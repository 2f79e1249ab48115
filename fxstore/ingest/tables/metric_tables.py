"""Tables that a user brings, as Arrow: NaN stays a number, and what is missing stays missing.

CSV and Parquet files may come from strangers: they are refused where they would take more than a run's metrics can.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fxstore.errors import SourceError

MAX_FILE_BYTES: Final = 64 << 20
MAX_ROWS: Final = 2_000_000
MAX_COLUMNS: Final = 2000
MAX_CELLS: Final = 4_000_000
MAX_TEXT_BYTES: Final = 64 << 20
SUFFIXES: Final = frozenset({".csv", ".tsv", ".parquet"})
_LONGEST_LITERAL: Final = 1 << 16
_MISSING: Final = ["", "NULL", "null", "None", "NA", "N/A", "n/a", "#N/A", "<NA>"]
_HINT: Final = "a table of metrics has a column 'node', and a column per metric, or 'metric' and 'value'"


def header(path: Path) -> list[str]:
    """Returns the names of a file's columns; none where it is no table."""
    try:
        if not path.is_file():
            return []
        if path.suffix == ".parquet":
            return list(_parquet(path).schema_arrow.names)
        with path.open("rb") as file:
            line = file.readline(1 << 16).decode("utf-8-sig")
        return list(_parsed(line.encode(), _delimiter(line)).column_names) if line.strip() else []
    except (SourceError, OSError, UnicodeDecodeError):
        return []


def read_table(source: Any) -> pa.Table:
    """Returns a file, a DataFrame, or anything with ``__arrow_c_stream__`` as a table.

    Raises:
        SourceError: It cannot be read, or is refused.
    """
    if isinstance(source, Path):
        table = _read_parquet(source) if source.suffix == ".parquet" else _read_csv(source)
    elif is_pandas(source):
        table = _from_pandas(source)
    elif isinstance(source, pa.Table):
        table = source
    else:
        table = _from_stream(source)
    _check(table.num_rows, table.num_columns, "the table")
    return table


def records(frame: Any) -> Iterator[dict[str, Any]]:
    """Yields the rows of a DataFrame or a table by column, their cells as they are."""
    columns = frame.to_pydict() if isinstance(frame, pa.Table) else {name: list(frame[name]) for name in frame.columns}
    for cells in zip(*columns.values(), strict=True):
        yield {name: None if _is_missing(cell) else cell for name, cell in zip(columns, cells, strict=True)}


def literal(cell: Any) -> Any:
    """Returns what a cell is the text of in Python, as a file has lists and dicts; else the cell itself."""
    if not isinstance(cell, str) or len(cell) > _LONGEST_LITERAL:
        return cell
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return _numbers(cell)


def _numbers(cell: str) -> Any:
    """Returns a list of numbers, NaN and infinity among them, which are no literals; else the cell itself."""
    try:
        return [float(part) for part in cell[1:-1].split(",")] if cell[:1] + cell[-1:] == "[]" else cell
    except ValueError:
        return cell


def is_pandas(source: object) -> bool:
    """Tells whether a source is a pandas DataFrame, without importing pandas."""
    return any(cls.__module__.split(".")[0] == "pandas" and cls.__name__ == "DataFrame" for cls in type(source).__mro__)


def _check(rows: int, columns: int, what: str) -> None:
    if rows > MAX_ROWS or columns > MAX_COLUMNS or rows * columns > MAX_CELLS:
        raise SourceError(
            f"{what} has {rows:,} rows of {columns:,} columns, more than a run's metrics", hint="bring it in parts"
        )


def _from_stream(source: Any) -> pa.Table:
    batches, rows = [], 0
    try:
        reader = pa.RecordBatchReader.from_stream(source)
        for batch in reader:
            rows += batch.num_rows
            _check(rows, len(reader.schema), "the table")
            batches.append(batch)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SourceError(f"the table cannot be read: {_brief(error)}", hint=_HINT) from error
    return pa.Table.from_batches(batches, reader.schema)


def _from_pandas(frame: Any) -> pa.Table:
    """Converts column by column: pandas' own conversion takes every NaN for a missing value."""
    _check(len(frame), len(frame.columns), "the table")
    columns: dict[str, pa.Array] = {}
    if frame.index.name is not None or not _is_range(frame.index):
        columns[str(frame.index.name or "node")] = pa.array([_label(label) for label in frame.index], pa.string())
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        kind = getattr(column.dtype, "kind", "O")
        plain = kind in "fiub" and type(column.dtype).__module__.startswith("numpy")
        columns[str(name)] = pa.array(column.to_numpy(), from_pandas=False) if plain else _objects(column)
    return pa.table(columns)


def _is_range(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


def _label(label: object) -> str:
    return str(label)


def _objects(column: Any) -> pa.Array:
    values = list(column)
    text = any(isinstance(value, str) for value in values)  # among texts, NaN is how pandas marks a missing one
    values = [None if _is_missing(value) or (text and value != value) else value for value in values]
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value)[:1000] for value in values], pa.string())


def _is_missing(value: object) -> bool:
    """Tells pandas' marks for a missing value from NaN, which is a number."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _read_csv(path: Path) -> pa.Table:
    data = _bytes(path)
    start = data[: 1 << 16].split(b"\n", 1)[0]
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not UTF-8 at byte {error.start}", hint="save it as UTF-8") from None
    _check(data.count(b"\n"), 1 + start.count(_delimiter(start.decode("utf-8", "replace")).encode()), str(path))
    try:
        return _parsed(data.removeprefix(b"\xef\xbb\xbf"), _delimiter(start.decode("utf-8", "replace")))
    except SourceError as error:
        raise SourceError(f"{path}: {error}", hint=error.hint) from None


def _parsed(data: bytes, delimiter: str) -> pa.Table:
    from pyarrow import csv

    try:
        return csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(use_threads=False, block_size=max(1 << 20, min(len(data), MAX_FILE_BYTES))),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                null_values=_MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types=dict.fromkeys(NODE_COLUMNS | _TEXTS, pa.string()),
            ),
        )
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"is no table: {_brief(error)}", hint=_HINT) from None


NODE_COLUMNS: Final = frozenset({"node", "name", "node_name", "id"})
_TEXTS: Final = frozenset({"stage", "method", "path", "metric", "text", "reason", "scope"})


def _delimiter(line: str) -> str:
    return max(",\t;", key=line.count)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SourceError(f"{path}: is larger than {MAX_FILE_BYTES >> 20} MiB", hint="bring it in parts")
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}", hint="check the path") from error


def _parquet(path: Path) -> Any:
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SourceError(f"{path}: is no Parquet file: {_brief(error)}", hint=_HINT) from None


def _read_parquet(path: Path) -> pa.Table:
    """Reads texts as dictionaries: a file of a few bytes can hold a long one a million times."""
    file = _parquet(path)
    with file:
        about = file.metadata
        _check(about.num_rows, about.num_columns, str(path))
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        if size > 2 * MAX_FILE_BYTES or path.stat().st_size > MAX_FILE_BYTES:
            raise SourceError(f"{path}: unpacks to more than {MAX_FILE_BYTES >> 19} MiB", hint="bring it in parts")
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, read_dictionary=texts, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SourceError(f"{path}: cannot be read: {_brief(error)}", hint=_HINT) from None
    _check(table.num_rows, table.num_columns, str(path))
    return pa.table({name: _plain(path, column) for name, column in _columns(table).items()})


def _columns(table: pa.Table) -> Mapping[str, pa.ChunkedArray]:
    return {name: table.column(i) for i, name in enumerate(table.column_names)}


def _plain(path: Path, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return column
    size = 0
    for chunk in column.chunks:
        size += pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
    if size > MAX_TEXT_BYTES:
        raise SourceError(f"{path}: holds more than {MAX_TEXT_BYTES >> 20} MiB of text", hint="bring it in parts")
    return column.cast(column.type.value_type)


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
