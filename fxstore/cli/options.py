"""Options and steps that several verbs share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.errors import UsageError
from fxstore.privacy import PROFILES

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result
    from fxstore.render.html import OfflinePage

Command = Callable[..., Any]
FORMATS = ("box", "csv", "json", "jsonl", "markdown", "arrow", "parquet")

store = click.option(
    "--store",
    "store_path",
    envvar="FXSTORE_STORE",
    default="fxstore-runs",
    show_default=True,
    help="The store's directory; the environment variable FXSTORE_STORE names another default.",
)
privacy = click.option(
    "--privacy",
    type=click.Choice(PROFILES),
    help="public: leave out sources, code, texts, values and what is derived from them.",
)
values = click.option(
    "--values",
    "handle_values",
    type=click.Path(path_type=Path),
    metavar="F",
    help=".pt or .npz: a dict from debug handle to tensor, as a device or ExecuTorch's capturer gave them. "
    "Compared on --inputs.",
)
values_stage = click.option(
    "--values-stage", metavar="STAGE", help="Stage whose handles --values has; default: the last one with handles."
)
overwrite = click.option("-f", "--force", is_flag=True, help="Overwrite the output.")


def result_output(command: Command) -> Command:
    """Adds the options of a verb that prints a result."""
    options = (
        click.option("--format", "form", type=click.Choice(FORMATS), help="Default: box on a terminal, csv in a pipe."),
        click.option("--raw", is_flag=True, help="Keep CSV cells that a spreadsheet would run as formulas."),
        click.option(
            "--compare",
            "page",
            type=click.Path(path_type=Path),
            metavar="OUT.html",
            help="Also write a page that shows the result.",
        ),
        overwrite,
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def opened(path: str, *, writable: bool = False) -> Iterator[Store]:
    """Opens an existing store.

    Args:
        writable: For writing, too, where it may be: what is drawn of its graphs is kept in it, for one.

    Raises:
        StoreError: There is none.
    """
    from fxstore.api import Store
    from fxstore.cli import limits
    from fxstore.store import may_write, open_directory

    directory = open_directory(path, read_only=not (writable and may_write(path)))
    with Store(directory, memory_mb=limits.memory_mb()) as found:
        yield found


Complete = Callable[[click.Context, click.Parameter, str], "list[str]"]


def listed(what: str) -> Complete:
    """Returns what completes a parameter in the shell with the names that the store holds.

    Args:
        what: ``run``, ``stage``, ``node`` (of the stage that is given), ``place`` (a stage, then nodes of it),
            ``metric``, ``overlay``, ``module`` or ``relation``.
    """

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from fxstore.errors import FxstoreError

        given = context.params
        path = given.get("store_path") or os.environ.get("FXSTORE_STORE") or "fxstore-runs"
        try:
            with opened(path) as store:
                known = _NAMES[what](store, given, given.get(str(parameter.name)))
        except FxstoreError:
            return []
        return [name for name in dict.fromkeys(known) if name and name.startswith(incomplete)]

    return complete


def _nodes(store: Store, given: Mapping[str, Any], stage: str | None) -> list[str]:
    text = "SELECT name FROM nodes WHERE run_id = ? AND stage = ? ORDER BY nid"
    return [str(row[0]) for row in store.sql(text, [store.existing_run(given.get("run")).run_id, stage]).fetchall()]


def _column(result: Result, name: str) -> list[str]:
    return [str(value) for value in result.arrow()[name].to_pylist() if value is not None]


_NAMES: dict[str, Callable[[Store, Mapping[str, Any], Any], list[str]]] = {
    "run": lambda store, given, words: [*_column(store.runs(), "name"), *_column(store.runs(), "run_id")],
    "stage": lambda store, given, words: _column(store.stages(given.get("run")), "stage"),
    "node": lambda store, given, words: _nodes(store, given, given.get("stage")),
    "place": lambda store, given, words: (
        _nodes(store, given, words[0]) if words else _column(store.stages(given.get("run")), "stage")
    ),
    "metric": lambda store, given, words: _column(store.metrics(given.get("run")), "metric"),
    "overlay": lambda store, given, words: _column(store.overlays(given.get("run")), "overlay"),
    "module": lambda store, given, words: _column(
        store.sql("SELECT DISTINCT module_path FROM nodes ORDER BY module_path"), "module_path"
    ),
    "relation": lambda store, given, words: [relation.name for relation in store.schema().relations],
}


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Returns what was given as K=V.

    Raises:
        UsageError: One is not.
    """
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} {text!r} is not of the form key=value", hint="write it as in green=true")
        found[key] = value
    return found


def show(result: Result, form: str | None, page: Path | None, force: bool, raw: bool = False) -> None:
    """Writes a result to standard output, and its page to a file."""
    from fxstore.query.text import visible, write

    if page is not None and page.exists() and not force:
        raise UsageError(f"{page} exists", hint="pass -f to overwrite it")
    style = form or ("box" if sys.stdout.isatty() else "csv")
    if page is not None:
        result.nids()
    if result.caption is not None and style != "box":
        click.echo(visible(result.caption.text), err=True)
    write(result, sys.stdout, style, raw)
    sys.stdout.flush()
    if result.coverage is not None and style != "box":
        click.echo(visible(str(result.coverage)), err=True)
    if result.hint is not None:
        click.echo(f"fxstore: no row: {visible(result.hint)}", err=True)
    if page is not None:
        save(result.compare(), page, force)


def save(page: OfflinePage, path: Path, force: bool) -> None:
    """Saves a page and says so."""
    page.save(path, overwrite=force)
    click.echo(f"Wrote {path} ({size(path.stat().st_size)})", err=True)


def size(count: int) -> str:
    """Returns a number of bytes as people read it."""
    if count < 1024:
        return f"{count} B"
    for unit in ("KB", "MB", "GB"):
        if count < 1024**2 or unit == "GB":
            return f"{count / 1024:.1f} {unit}"
        count //= 1024
    raise AssertionError


def folder_size(path: Path) -> int:
    """Returns the bytes of a file, or of the files in a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))
