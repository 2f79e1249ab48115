"""Typed access to parsed JSON that strangers wrote: the value of the declared type, or a line that says why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", str, int, float, bool, list[object], dict[str, object])

_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
}  # fmt: skip
INT64 = range(-(2**63), 2**63)


class Malformed(ValueError):
    """A document that does not follow its schema; the message says where and how."""


def typed(value: object, kind: type[T], what: str) -> T:
    """Returns ``value`` if it is exactly of that JSON type; whole numbers must fit 64 bits.

    Raises:
        Malformed: It is not.
    """
    if type(value) is kind and (kind is not int or value in INT64):
        return value
    if kind is float and type(value) is int and value in INT64:
        return float(value)  # type: ignore[return-value]
    raise Malformed(f"{what} should be {_WORDS[kind]}, not {_brief(value)}")


def member(owner: object, key: str, kind: type[T]) -> T:
    """Returns a member that must be there, of that type."""
    try:
        value = owner[key]  # type: ignore[index]
    except KeyError:
        raise Malformed(f"{key!r} is missing") from None
    except TypeError:
        raise Malformed(f"what holds {key!r} should be an object, not {_brief(owner)}") from None
    return value if type(value) is kind and kind is not int else typed(value, kind, repr(key))


def optional(owner: dict[str, object], key: str, kind: type[T]) -> T | None:
    """Returns a member of that type, or None where it is missing or null."""
    value = owner.get(key)
    return None if value is None else typed(value, kind, key)


def union(value: object, what: str) -> tuple[str, object]:
    """Returns the one member that a tagged union holds: its tag and its content."""
    try:
        ((tag, content),) = value.items()  # type: ignore[attr-defined]
    except AttributeError:
        raise Malformed(f"{what} should be an object, not {_brief(value)}") from None
    except ValueError:
        raise Malformed(f"{what} should have one member") from None
    return tag, content


def each(values: Iterable[object], kind: type[T], what: str) -> Iterator[T]:
    """Yields the items of a list, each of that type."""
    return (typed(value, kind, what) for value in values)


def _brief(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, dict)):
        return _WORDS[type(value)]
    text = repr(value) if not isinstance(value, int) or value in INT64 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."
