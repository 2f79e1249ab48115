"""Arrow columns from and to numpy; ``pyarrow.array`` would import pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


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
