"""What is compared: any tensor as a NumPy array, dequantised, or the reason why it cannot be.

Torch tensors are recognised by what they can do, so that torch is never imported here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MAX_LAYOUT_RANK = 4
_PROBE = 64
# Of a bias, in bytes; an integer of 64 bits is a position or an index, and a number as it is.
_WIDEST_CODE = 4


class NoNumberError(Exception):
    """Two operands that have no comparison; the message is the reason."""


@dataclass(frozen=True)
class QParams:
    """Affine quantisation parameters: ``real = (code - zero_point) * scale``.

    Attributes:
        scale: One number, or one per channel of ``axis``.
        zero_point: As ``scale``.
        axis: Channel axis; None for one scale per tensor.
    """

    scale: float | Sequence[float] | Array
    zero_point: float | Sequence[int] | Array = 0
    axis: int | None = None


@dataclass(frozen=True)
class Operand:
    """An array and whether it had a dtype of its own (lists and Python numbers have none)."""

    array: Array
    typed: bool

    @property
    def is_integer(self) -> bool:
        """Whether it may hold codes: integers or bools."""
        return self.array.dtype.kind in "iub"


def operand(data: object) -> Operand:
    """Returns the data as an array of numbers, without copying where that is possible.

    Raises:
        NoNumberError: If there are no numbers in it: None, a meta or fake tensor, text.
    """
    if data is None:
        raise NoNumberError("no tensor data")
    typed = hasattr(data, "dtype")
    try:
        array = np.asarray(_to_numpy(data))
    except Exception as error:  # whatever a foreign tensor raises, it has given no data
        raise NoNumberError("no tensor data") from error
    if array.dtype.kind not in "iubfc" and not _is_extension_float(array.dtype):
        raise NoNumberError(f"dtype {array.dtype} is not numeric")
    return Operand(array, typed)


def _to_numpy(data: Any) -> Any:
    if not hasattr(data, "detach"):
        return data
    tensor = data.detach()
    if getattr(tensor, "is_quantized", False):
        tensor = tensor.dequantize()
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.to_dense()
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16") or "float8" in str(tensor.dtype):
        tensor = tensor.float()
    return tensor.cpu().resolve_conj().resolve_neg().numpy()


def _is_extension_float(dtype: np.dtype[Any]) -> bool:
    return "float" in dtype.name


def aligned(
    reference: object,
    value: object,
    reference_qparams: QParams | None,
    qparams: QParams | None,
    permutation: Sequence[int] | None,
) -> tuple[Array, Array]:
    """Returns both operands as comparable arrays of one shape: both real, or both integers.

    Raises:
        NoNumberError: With the reason, if they cannot be compared.
    """
    ref, val = operand(reference), operand(value)
    if permutation is not None:
        val = Operand(_permuted(val.array, permutation), val.typed)
    if ref.array.shape != val.array.shape:
        hint = layout_hint(ref.array, val.array)
        mismatch = f"shape {_text(ref.array.shape)} vs {_text(val.array.shape)}"
        raise NoNumberError(f"{mismatch}; {hint}" if hint else mismatch)
    if ref.array.size == 0:
        raise NoNumberError(f"empty tensor of shape {_text(ref.array.shape)}")
    left, right = _dequantised(ref, reference_qparams), _dequantised(val, qparams)
    _check_kinds(ref, val, left, right)
    return left, right


def _check_kinds(ref: Operand, val: Operand, left: Array, right: Array) -> None:
    """Codes are never compared with real numbers, nor with codes of another scale."""
    whole = [array.dtype.kind in "iub" for array in (left, right)]
    if whole[0] == whole[1]:
        return
    integer, real = (ref, val) if whole[0] else (val, ref)
    may_be_code = integer.array.dtype.kind != "b" and integer.array.dtype.itemsize <= _WIDEST_CODE
    if may_be_code and integer.typed and real.typed:
        raise NoNumberError(f"dtype {integer.array.dtype} vs {real.array.dtype}, no scale")


def _dequantised(item: Operand, qparams: QParams | None) -> Array:
    """Returns real values in float64 where there are codes and their parameters, else the array as it is."""
    if qparams is None or not item.is_integer:
        return item.array
    try:
        scale, zero_point = (np.asarray(_to_numpy(p), np.float64) for p in (qparams.scale, qparams.zero_point))
    except (TypeError, ValueError) as error:
        raise NoNumberError("qparams are not numbers") from error
    if qparams.axis is not None:
        scale, zero_point = (_along(p, qparams.axis, item.array.shape) for p in (scale, zero_point))
    elif scale.size != 1 or zero_point.size != 1:
        raise NoNumberError(f"qparams: {scale.size} scales without an axis")
    else:
        scale, zero_point = scale.reshape(()), zero_point.reshape(())
    return (item.array.astype(np.float64) - zero_point) * scale


def _along(parameter: Array, axis: int, shape: tuple[int, ...]) -> Array:
    if not -len(shape) <= axis < len(shape):
        raise NoNumberError(f"qparams: no axis {axis} in shape {_text(shape)}")
    if parameter.size not in (1, shape[axis]):
        raise NoNumberError(f"qparams: {parameter.size} scales for axis {axis} of size {shape[axis]}")
    wide = [1] * len(shape)
    wide[axis] = parameter.size
    return parameter.reshape(wide)


def _permuted(array: Array, permutation: Sequence[int]) -> Array:
    if sorted(permutation) != list(range(array.ndim)):
        raise NoNumberError(f"permutation {_text(tuple(permutation))} does not fit shape {_text(array.shape)}")
    return array.transpose(permutation)


def layout_hint(reference: Array, value: Array) -> str | None:
    """Returns a sentence if some permutation of the value's axes gives exactly the reference, else None."""
    if reference.ndim != value.ndim or not 2 <= value.ndim <= _MAX_LAYOUT_RANK or reference.size < 2:
        return None
    if sorted(reference.shape) != sorted(value.shape):
        return None
    for axes in itertools.permutations(range(value.ndim)):
        turned = value.transpose(axes)
        if axes == tuple(range(value.ndim)) or turned.shape != reference.shape:
            continue
        if np.array_equal(turned.flat[:_PROBE], reference.flat[:_PROBE]) and np.array_equal(turned, reference):
            return f"axes permuted by {_text(axes)} reproduce the reference"
    return None


def _text(shape: tuple[int, ...]) -> str:
    return str(tuple(int(n) for n in shape)).replace(" ", "")
