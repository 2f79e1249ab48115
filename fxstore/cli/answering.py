"""What the verbs that answer with a table share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.cli import limits, options

if TYPE_CHECKING:
    from fxstore.query.result import Result

Verb = Callable[..., Any]
run = click.option("--run", help="Run id or name; default: the latest complete one.")


def answering(ask: Callable[..., Result]) -> Callable[..., None]:
    """Makes a verb of a function that takes the open store and the verb's own parameters, and returns the answer.

    Adds the options that choose the store, the form of the answer, and its limits.
    """

    @options.store
    @options.result_output
    @limits.options[0]
    @limits.options[1]
    @wraps(ask)
    def verb(
        store_path: str,
        form: str | None,
        page: Path | None,
        force: bool,
        timeout: float | None,
        memory: int | None,
        **asked: Any,
    ) -> None:
        with options.opened(store_path, writable=page is not None) as store:
            asker: Any = store if timeout is None and memory is None else store.limited(timeout, memory)
            options.show(ask(asker, **asked), form, page, force)

    return verb
