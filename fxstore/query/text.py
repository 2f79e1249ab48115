"""Rows as text: a box for terminals, and the formats of the command line."""

from __future__ import annotations

import csv
import datetime
import decimal
import html
import io
import json
import math
import re
import shutil
import unicodedata
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TextIO

import pyarrow as pa

from fxstore.errors import UsageError
from fxstore.store import parquet

if TYPE_CHECKING:
    from fxstore.query.result import Result

Rows = Sequence[Sequence[object]]
FORMATS: Final = ("box", "csv", "json", "jsonl", "markdown", "arrow", "parquet")
_SHOWN_ROWS: Final = 40
_LEAST_WIDTH: Final = 6
_PATH: Final = re.compile(r"(?:[A-Za-z]:)?[/\\][!-~]+")
# As OWASP lists them, with their full-width forms.
_FORMULA: Final = re.compile("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-?Infinity")
_PERHAPS_UNSEEN: Final = re.compile(r"[^ -~\n]")
_NAME: Final = re.compile(r"[\w.:]+", re.A)
_TAIL: Final = 10  # of a cut name: default_27 tells it from default_26
_READABLE_WIDTH: Final = 16
_SHORT_NUMBER: Final = 5
_FLOAT_WIDTHS: Final = (8, 12)  # 0.999918, -1.23457e-05
_SMALL: Final = 10**12
_ID_WIDTH: Final = 17  # a nid has 14 to 17 digits


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    """Returns the rows of a table as tuples of plain values; a map is a dict, NULL is None."""
    return list(zip(*map(_values, table.columns), strict=True))


def _values(column: pa.ChunkedArray) -> list[object]:
    if pa.types.is_map(column.type):
        return [value for chunk in column.chunks for value in _maps(chunk)]
    values: list[object] = column.to_pylist(maps_as_pydicts="strict")
    return [_plain(value) for value in values] if pa.types.is_decimal(column.type) else values


def _maps(column: pa.MapArray) -> list[object]:
    """Returns the maps of a column as dicts; ``to_pylist`` takes ten times as long."""
    keys, items = _values(pa.chunked_array([column.keys])), _values(pa.chunked_array([column.items]))
    bounds = column.offsets.to_pylist()
    valid = (one.is_valid for one in column) if column.null_count else repeat(True)
    ends = zip(valid, bounds, bounds[1:], strict=False)
    return [dict(zip(keys[a:b], items[a:b], strict=True)) if there else None for there, a, b in ends]


def _plain(value: object) -> object:
    """Returns a decimal without fraction (DuckDB's 128-bit integers) as the integer that it is."""
    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        return int(value)
    return value


def box(
    columns: Sequence[str],
    rows: Rows,
    width: int | None = None,
    most_rows: int = _SHOWN_ROWS,
    keep_last: bool = False,
) -> str:
    """Returns a table in a frame, cut to the terminal's width and to ``most_rows``; control characters are escaped.

    Where not all columns fit, those without any value go first, then the last ones; a line below names them.

    Args:
        keep_last: Never leave out the last column.
    """
    width = width or shutil.get_terminal_size((160, 24)).columns
    shown = rows[:most_rows]
    needs = [_need(name, [row[i] for row in shown]) for i, name in enumerate(columns)]
    kept, left_out = _choose(needs, shown, width, keep_last)
    heads = [visible(columns[i]) for i in kept]
    if not heads:
        return "(no columns)"
    cells = [[cell(row[i]) for i in kept] for row in shown]
    texts = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
    widths = list(map(min, texts, _fit([needs[i] for i in kept], width)))
    numeric = [all(isinstance(row[i], int | float | None) for row in shown) for i in kept]
    lines = [_rule("┌┬┐", widths), _line(heads, widths, [False] * len(heads)), _rule("├┼┤", widths)]
    lines += [_line(row, widths, numeric) for row in cells]
    lines.append(_rule("└┴┘", widths))
    if len(rows) > most_rows:
        lines.append(f"{len(rows):,} rows, {most_rows} shown")
    elif not rows:
        lines.append("no rows")
    if left_out:
        lines.append(f"columns not shown: {', '.join(visible(columns[i]) for i in left_out)}")
    return "\n".join(lines)


def _need(name: str, values: Sequence[object]) -> int:
    """Returns the width that a column asks for; one of numbers asks for the same whatever their last digits are."""
    texts = max([0, *(_width(cell(value)) for value in values)])
    if all(isinstance(value, float | None) for value in values):
        texts = next((width for width in _FLOAT_WIDTHS if _SHORT_NUMBER < texts <= width), texts)
    elif any(isinstance(value, int) and abs(value) > _SMALL for value in values):
        texts = max(texts, _ID_WIDTH)
    return max(_width(visible(name)), texts)


def _choose(needs: Sequence[int], rows: Rows, width: int, keep_last: bool) -> tuple[list[int], list[int]]:
    """Returns the places of the columns that can be read at that width, and of the others."""
    least = [min(_READABLE_WIDTH, need) + 3 for need in needs]
    kept = list(range(len(needs)))
    empty = [i for i in kept if all(row[i] is None or row[i] in ("", {}, []) for row in rows)]
    last = len(needs) - 1
    for i in [*reversed(empty), *(i for i in reversed(range(1, len(needs))) if not (keep_last and i == last))]:
        if sum(least[j] for j in kept) + 1 <= width:
            break
        if i in kept:
            kept.remove(i)
    return kept, [i for i in range(len(needs)) if i not in kept]


def cell(value: object) -> str:
    """Returns a value as one line of visible text; NULL is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value) if math.isfinite(value) else str(json_value(value))
    if isinstance(value, dict):
        return visible(", ".join(f"{key}: {cell(item)}" for key, item in value.items()))
    if isinstance(value, list | tuple):
        return visible("[" + ", ".join(cell(item) for item in value) + "]")
    return visible(str(value))


def _number(value: float) -> str:
    """Returns six digits, or as many as it takes not to show a whole number that it is not: 0.99999997 is not 1."""
    if 1e5 <= abs(value) < 1e15:
        return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"
    for digits in (6, 9, 12):
        shown = f"{value:.{digits}g}"
        if float(shown) == value or not shown.lstrip("-").isdigit():
            return shown
    return repr(value)


def json_value(value: object) -> Any:
    """Returns a value as JSON can hold it: NaN and infinity are the texts ``NaN``, ``Infinity`` and ``-Infinity``."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def write(result: Result, out: TextIO, style: str, raw: bool = False) -> None:
    """Writes a result in one of :data:`FORMATS`; its coverage stands under a box only.

    Args:
        result: What to write.
        style: One of the formats.
        out: A text stream; ``arrow`` and ``parquet`` go to its ``buffer``.
        raw: Keep CSV cells as they are.

    Raises:
        UsageError: ``arrow`` and ``parquet`` would go to a terminal.
    """
    if style in ("arrow", "parquet") and out.isatty():
        raise UsageError(f"{style} is binary and stands on no terminal", hint=f"send it to a file: > rows.{style}")
    if style == "arrow":
        with pa.ipc.new_stream(out.buffer, result.arrow().schema) as writer:
            writer.write_table(result.arrow())
    elif style == "parquet":
        parquet.write_to(result.arrow(), out.buffer)
    elif style == "box":
        result.show(out)
    elif style == "csv":
        out.write(as_csv(result.columns, result.fetchall(), raw))
    else:
        out.write(WRITERS[style](result.columns, result.fetchall()))
    out.flush()


def as_csv(columns: Sequence[str], rows: Rows, raw: bool = False) -> str:
    """Returns RFC 4180 text with a header; NULL is empty, lists and maps are JSON.

    Args:
        raw: Keep texts as they are. Else a text that a spreadsheet would run as a formula gets an apostrophe in front,
            and what moves a terminal's cursor or reorders a line is escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    written = _flat if raw else _safe
    writer.writerow(map(written, columns))
    writer.writerows([written(value) for value in row] for row in rows)
    return out.getvalue()


def _safe(value: object) -> object:
    """Returns a cell that neither a spreadsheet nor a terminal runs; numbers stay numbers."""
    flat = _flat(value)
    if not isinstance(flat, str):
        return flat
    shown = "\n".join(map(visible, flat.split("\n"))) if not flat.isprintable() else flat
    return f"'{shown}" if _FORMULA.match(flat) and not _NUMBER.fullmatch(flat) else shown


def as_json(columns: Sequence[str], rows: Rows) -> str:
    """Returns an array of objects, one per row."""
    objects = [dict(zip(columns, map(json_value, row), strict=True)) for row in rows]
    return shown_json(objects, indent=1) + "\n"


def as_jsonl(columns: Sequence[str], rows: Rows) -> str:
    """Returns one object per line."""
    return "".join(shown_json(dict(zip(columns, map(json_value, row), strict=True))) + "\n" for row in rows)


def shown_json(value: Any, indent: int | None = None) -> str:
    """Returns JSON of the same value in which no character moves a cursor or reorders a line."""
    plain = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _PERHAPS_UNSEEN.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], plain)


def as_markdown(columns: Sequence[str], rows: Rows) -> str:
    """Returns a Markdown table; pipes and markup in cells are escaped."""
    lines = [[_markdown(name) for name in columns], ["---"] * len(columns)]
    lines += [[_markdown(cell(value)) for value in row] for row in rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def html_table(columns: Sequence[str], rows: Rows, most_rows: int = _SHOWN_ROWS, caption: str = "") -> str:
    """Returns an HTML table for a notebook; everything in it is escaped."""
    title = f"<caption>{html.escape(visible(caption))}</caption>" if caption else ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(value))}</td>" for value in row) + "</tr>" for row in rows[:most_rows]
    )
    more = f"<p>{len(rows):,} rows, {most_rows} shown</p>" if len(rows) > most_rows else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


WRITERS: Final = {"csv": as_csv, "json": as_json, "jsonl": as_jsonl, "markdown": as_markdown}


def _flat(value: object) -> object:
    plain = json_value(value)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return json.dumps(plain, ensure_ascii=False, allow_nan=False) if isinstance(plain, dict | list) else plain


def _markdown(text: str) -> str:
    return html.escape(visible(text), quote=False).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")


def visible(text: str) -> str:
    """Escapes what would move the cursor, colour the terminal or reorder the line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, width: int) -> str:
    """Returns the part of a text that fits: of a path its end, of a name both ends, of anything else its beginning."""
    if _width(text) <= width:
        return text
    if _PATH.fullmatch(text):
        return "…" + text[len(text) - width + 1 :]
    if _NAME.fullmatch(text):
        tail = min((width - 1) // 2, _TAIL)
        return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
    kept, used = [], 0
    for c in text:
        used += _width(c)
        if used > width - 1:
            break
        kept.append(c)
    return "".join(kept) + "…"


def _fit(widths: list[int], total: int) -> list[int]:
    """Narrows the widest columns until the frame fits, none below a readable width."""
    fitted = list(widths)
    spare = total - 3 * len(widths) - 1
    while sum(fitted) > spare:
        widest = max(fitted)
        if widest <= _LEAST_WIDTH:
            break
        second = max((w for w in fitted if w < widest), default=_LEAST_WIDTH)
        count = fitted.count(widest)
        step = max(1, min(widest - second, -(-(sum(fitted) - spare) // count)))
        fitted = [max(_LEAST_WIDTH, w - step) if w == widest else w for w in fitted]
    return fitted


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for value, width, numeric in zip(cells, widths, right, strict=True):
        shown = _cut(value, width)
        fill = " " * (width - _width(shown))
        padded.append(fill + shown if numeric else shown + fill)
    return "│ " + " │ ".join(padded) + " │"


def _rule(corners: str, widths: Sequence[int]) -> str:
    return corners[0] + corners[1].join("─" * (width + 2) for width in widths) + corners[2]
