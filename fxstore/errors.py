"""Errors that tell a user what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_MOST_NEAR: Final = 3
_SHORTEST_PART: Final = 3


class FxstoreError(Exception):
    """Base of every error that fxstore raises on purpose.

    Attributes:
        hint: One line that says what to do, or None.
        exit_code: The command line's exit code for it: 1 error, 2 wrong usage, 3 a gate has tripped.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint:  # so that a traceback shows it, in a notebook and in a log, too
            self.add_note(hint)


class UsageError(FxstoreError):
    """A call or a command that cannot mean anything: wrong argument, unknown name."""

    exit_code = 2


class SourceError(FxstoreError):
    """A source that cannot be ingested: missing, broken, refused or of an unknown kind."""


class StoreError(FxstoreError):
    """A store that cannot be opened, read or written."""


class QueryError(FxstoreError):
    """A query that is refused or does not bind."""


class MissingExtraError(FxstoreError):
    """A feature whose optional packages are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f'pip install "fxstore[{extra}]"')


def path_of(given: str | os.PathLike[str]) -> Path:
    r"""Returns a path that a file may have.

    Raises:
        UsageError: It holds NUL, or half of a UTF-16 character.

    Example:
        >>> path_of("runs").name
        'runs'
        >>> path_of("a" + chr(0))
        Traceback (most recent call last):
        ...
        fxstore.errors.UsageError: no file can be called 'a\x00'
    """
    text = os.fspath(given)
    try:
        os.fsencode(text)
        possible = "\0" not in text
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise UsageError(f"no file can be called {text!r}", hint="give the path without NUL and lone surrogates")
    return Path(given)


def is_encodable(text: str) -> bool:
    """Returns whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns a hint that names the nearest known names, or None where none is near."""
    near = near_names(name, known)
    return f"did you mean {', '.join(map(repr, near))}?" if near else None


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that a name may be a slip of, the nearest first, at most three.

    A slip is at most one edit of a name of 2 to 4 characters, two of up to 8, else three; or a name that was not
    written to its end (``conv`` for ``conv2d``), or beyond it (``cosine_similarity`` for ``cosine``).
    """
    asked = name.casefold()
    most = 0 if len(asked) < 2 else 1 if len(asked) < 5 else 2 if len(asked) < 9 else 3
    ranked = []
    for place, one in enumerate(dict.fromkeys(known)):
        other = one.casefold()
        distance = _edits(asked, other, most)
        if distance is None and min(len(asked), len(other)) >= _SHORTEST_PART and _is_part(asked, other):
            distance = most + abs(len(asked) - len(other))
        if distance is not None:
            ranked.append((distance, place, one))
    return [one for _, _, one in sorted(ranked)[:_MOST_NEAR]]


def _is_part(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return long.startswith(short) or long.endswith(("_" + short, "." + short, "-" + short))


def _edits(a: str, b: str, most: int) -> int | None:
    """Returns how many characters must be added, left out, replaced or swapped with the next; None beyond ``most``."""
    if abs(len(a) - len(b)) > most:
        return None
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
        before, last = last, row
    return last[-1] if last[-1] <= most else None
