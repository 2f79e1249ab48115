"""Cuts the text of a printed graph module into logical lines, each small enough to be parsed by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from fxstore.errors import SourceError
from fxstore.ingest.build import NO_VALUE, Value

MAX_STATEMENT: Final = 400_000
"""Characters; Python's parser takes up to 500 bytes for each."""
_CLASS: Final = re.compile(r"class (.+?)\(.*\):$")
_FILE: Final = re.compile(r"#.*?File: (.*):(\d+) in (.*?), code: (.*)$")
_COMMENT: Final = re.compile(r"^\s*\**(\w+)\b[^#]*?  # (.+)$")
_OPEN: Final = ("(", "[", "{", ",")


@dataclass
class Block:
    """One printed class: the graph of a module, without those nested in it.

    Attributes:
        names: Names of the classes around it and its own; that of the outermost is left out.
        lines: Its logical lines, in order.
    """

    names: tuple[str, ...]
    indent: int
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """One logical line.

    Attributes:
        number: 1-based line in the text where it starts.
        code: Python source without indentation.
        comments: What the comment behind a name says, in order, where the line is spread over several.
        place: File, line and code of the user's program that it comes from.
    """

    number: int
    code: str
    comments: tuple[tuple[str, str], ...] = ()
    place: tuple[str, int, str] | None = None


def blocks(text: str) -> list[Block]:
    """Returns the classes of a text, outer ones first.

    Raises:
        SourceError: It holds no class, or a logical line that is too long.
    """
    found: list[Block] = []
    stack: list[Block] = []
    place: tuple[str, int, str] | None = None
    lines = enumerate(text.split("\n"), 1)
    for number, raw in lines:
        line = raw.strip()
        if not line:
            continue
        indent = len(raw) - len(raw.lstrip())
        if match := _CLASS.match(line):
            while stack and stack[-1].indent >= indent:
                stack.pop()
            names = (*stack[-1].names, match[1]) if stack else ()
            stack.append(Block(names, indent))
            found.append(stack[-1])
            place = None
        elif line.startswith("#"):
            where = _FILE.match(line)
            place = (where[1], int(where[2][:9]), where[4]) if where else None
        elif stack:
            stack[-1].lines.append(_logical(number, line, lines, place))
    if not found:
        raise SourceError("the text holds no graph module", hint="it should start with 'class GraphModule(…):'")
    return found


def _logical(number: int, line: str, lines: Iterator[tuple[int, str]], place: tuple[str, int, str] | None) -> Line:
    """Joins a line with those that continue it; a comment behind a name is kept apart."""
    parts: list[str] = []
    comments: list[tuple[str, str]] = []
    size = 0
    spread = line.endswith(_OPEN) or line.startswith(("def ", "return")) or _is_declaration(line)
    while True:
        match = _COMMENT.match(line) if spread else None
        if match:
            comments.append((match[1], match[2]))
            line = line[: match.start(2) - 2].rstrip()
        elif spread and (at := line.find("  # ")) >= 0:
            line = line[:at].rstrip()
        parts.append(line)
        size += len(line) + 1
        if size > MAX_STATEMENT:
            raise SourceError(f"line {number} of the graph's text is longer than {MAX_STATEMENT:,} characters")
        if not line.endswith(_OPEN):
            break
        _, raw = next(lines, (0, ""))
        line = raw.strip()
    return Line(number, " ".join(parts), tuple(comments), place)


def _is_declaration(line: str) -> bool:
    """Tells whether a line only declares a name: ``primals_1: "f32[4]"  # PlainAOTInput(idx=0)``."""
    return "  # " in line and " = " not in line


# What FX prints about a value: ``f32[4, s77][s77, 1]cpu``, ``Sym(s77)``.


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
