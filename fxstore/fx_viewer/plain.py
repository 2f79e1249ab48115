"""Any value as JSON has it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Set
from typing import Any, Final

_DEEPEST: Final = 8
_EXACT: Final = 2**53


def plain(value: object, depth: int = 0) -> Any:
    """Returns a JSON value for any object.

    NaN and the infinities become the texts ``NaN``, ``Infinity``, ``-Infinity``, an integer beyond 2^53 its digits,
    scalars of numpy and torch numbers; tuples and sets become lists, and what JSON has nothing for its ``str``.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if depth > _DEEPEST:
        return text_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item, depth + 1) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    number = number_of(value)
    if isinstance(number, int):
        return number if abs(number) < _EXACT else str(number)
    if number is not None:
        return number if math.isfinite(number) else non_finite(number)
    return text_of(value)


def number_of(value: object) -> int | float | None:
    """Returns a number where the value is one, of whatever library; None where it is not."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) not in ((), []) or getattr(value, "fake_mode", None) is not None:
        return None
    try:
        scalar = item()
    except Exception:  # a tensor without data says so in many ways
        return None
    return scalar if isinstance(scalar, (int, float)) else None


def non_finite(value: float) -> str:
    """Returns the name of a number that JSON has no number for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def text_of(value: object) -> str:
    """Returns ``str(value)``, or its type's name where that fails."""
    try:
        return str(value)
    except Exception:  # a foreign object may do anything here
        return f"<{type(value).__name__}>"
