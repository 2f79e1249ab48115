"""The macros that a statement calls, with the arguments whose values are known before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fxstore.errors import QueryError
from fxstore.query import hints, library

UNKNOWN: Final = object()
"""The value of an argument that only the running statement knows, such as a column."""
_NAMED: Final = frozenset({"stage", "metric", "op_type"})
_READ: Final[dict[str, Any]] = {
    "STRING": str, "INTEGER": int, "NUMERIC": float, "BOOLEAN": lambda text: text == "true",
    "NULL_LITERAL": lambda text: None,
}  # fmt: skip


def asked_of(macro: str, arguments: Iterable[Mapping[str, Any]], params: Any = None) -> dict[str, object]:
    """Returns the arguments of a call as DuckDB's parser gives them, by their names.

    Raises:
        QueryError: The macro takes no such argument, not so many, or needs one that is not given.
    """
    known = library.parameters(macro)
    free = iter(known)
    asked: dict[str, object] = {}
    for argument in arguments:
        expression = argument["expression"]
        if name := str(argument["name"]).lower():
            if name not in known:
                raise QueryError(f"{macro}() takes no argument {name!r}", hint=hints.among(name, known))
        elif (name := _compared_with(expression)) in known:
            raise QueryError(f"{macro}() is given {name} = …", hint=f"write it as {name} := …")
        elif (name := next(free, "")) == "":
            takes = f"it takes {library.arguments(macro)}"
            raise QueryError(f"{macro}() is given more than {len(known)} arguments", hint=takes)
        asked[name] = _value(expression, params)
    for name, is_needed in known.items():
        if is_needed and name not in asked:
            raise QueryError(f"{macro}() is not given {name}", hint=f"it takes {library.arguments(macro)}")
    return asked


def _compared_with(expression: Mapping[str, Any]) -> str:
    """Returns the name on the left of ``name = value``; ``''`` for anything else."""
    left = expression.get("left") or {}
    names = left.get("column_names") or [""] if expression.get("type") == "COMPARE_EQUAL" else [""]
    return str(names[0]).lower() if len(names) == 1 else ""


def compared(items: Iterable[Mapping[str, Any]], params: Any = None) -> Iterator[tuple[str, str]]:
    """Yields the columns of names that a statement compares with a text, each with that text as a pattern."""
    for item in items:
        if item.get("type") == "COMPARE_EQUAL":
            sides = [item["left"], item["right"]]
        elif item.get("function_name") == "~~":
            sides = [argument["expression"] for argument in item["arguments"]]
        else:
            continue
        columns = [side["column_names"][-1].lower() for side in sides if side.get("class") == "COLUMN_REF"]
        values = [_value(side, params) for side in sides if side.get("class") != "COLUMN_REF"]
        if len(columns) == len(values) == 1 and columns[0] in _NAMED and isinstance(values[0], str):
            text = values[0].replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
            yield columns[0], text if "left" in item else text.replace("%", "*").replace("_", "?")


def _value(expression: Mapping[str, Any], params: Any) -> object:
    if expression["class"] == "CONSTANT":
        literal = expression["literal"]
        read = _READ.get(literal["kind"])
        return UNKNOWN if read is None else read(literal["text"])
    if expression["class"] == "PARAMETER":
        name = str(expression["identifier"])
        if isinstance(params, Mapping):
            return params.get(name, UNKNOWN)
        if name.isdigit() and params is not None and int(name) <= len(params):
            return params[int(name) - 1]
    return UNKNOWN
