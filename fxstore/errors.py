"""Errors that tell a user what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns a hint that names the nearest known names, or None where none is near."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"did you mean {', '.join(repr(n) for n in near)}?" if near else None
