"""What FX prints about a value: ``f32[4, s77][s77, 1]cpu``, ``Sym(s77)``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from fxstore.ingest.build import NO_VALUE, Value

_DTYPES: Final = {
    "bf16": "bfloat16", "f64": "float64", "f32": "float32", "f16": "float16", "c32": "complex32", "c64": "complex64",
    "c128": "complex128", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "b8": "bool", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu",
    "f4e2m1fnx2": "float4_e2m1fn_x2", "b1x8": "bits1x8", "b2x4": "bits2x4", "b4x2": "bits4x2", "b16": "bits16",
}  # fmt: skip
_TENSOR: Final = re.compile(r"(?:[A-Za-z_]\w*\()?(\w+)\[([^\[\]]*)\](?:\[[^\[\]]*\])?([a-z]+(?::\d+)?)?")


@dataclass(frozen=True)
class Annotation:
    """A value as its annotation tells it; ``symint`` for a symbolic number."""

    value: Value = NO_VALUE
    symint: bool = False


NOTHING = Annotation()


@cache
def annotation(text: str) -> Annotation:
    """Returns what an annotation says; :data:`NOTHING` where it is of an unknown kind."""
    if text.startswith("Sym("):
        return Annotation(symint=True)
    match = _TENSOR.match(text)
    if match is None or match[1] not in _DTYPES:
        return NOTHING
    return Annotation(Value(_DTYPES[match[1]], tuple(_sizes(match[2])), match[3]))


def _sizes(text: str) -> list[str]:
    """Splits sizes at the commas between them: an expression such as ``Max(1, s0)`` is one."""
    sizes, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            sizes.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*sizes, last] if last else sizes
