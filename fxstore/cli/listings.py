"""The verbs that list what a store holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fxstore import extensions
from fxstore.cli import limits, options
from fxstore.cli.questions import answering

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result


@click.command()
@answering
def runs(store: Store) -> Result:
    """List the runs, newest first.

    Example: fxstore runs
    """
    return store.runs()


@click.command()
@answering
@click.argument("run", required=False, shell_complete=options.listed("run"))
def stages(store: Store, run: str | None) -> Result:
    """List the stages of RUN (default: the latest) in pipeline order.

    Example: fxstore stages nightly
    """
    return store.stages(run)


@click.command()
@answering
@click.argument("run", required=False, shell_complete=options.listed("run"))
def metrics(store: Store, run: str | None) -> Result:
    """List the metrics of RUN (default: the latest), with their overlays, stages and scopes.

    Example: fxstore metrics nightly
    """
    return store.metrics(run)


@click.command()
@answering
@click.argument("run", required=False, shell_complete=options.listed("run"))
def overlays(store: Store, run: str | None) -> Result:
    """List the overlays of RUN (default: the latest), with their metrics and stages.

    Example: fxstore overlays nightly
    """
    return store.overlays(run)


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@click.argument("relation", required=False, shell_complete=options.listed("relation"))
def schema(store_path: str, form: str, relation: str | None) -> None:
    """Print the relations and macros that SQL can use, or one of them; needs no store.

    Example: fxstore schema nodes
    """
    with options.opened(store_path if Path(store_path).is_dir() else ":memory:") as store:
        found = store.schema(relation)
        click.echo(found.to_json() if form == "json" else str(found))


# The verb ``adapters``.


@click.command()
@click.argument("what", type=click.Choice(tuple(extensions.GROUPS)), default="adapters")
def adapters(what: str) -> None:
    """List the installed source adapters, or WHAT else packages add, without importing any.

    Example: fxstore adapters
    """
    if what == "adapters":
        from fxstore.ingest.adapters import installed

        entries = installed()
    else:
        entries = list(extensions.installed(what))
    for entry in entries:
        click.echo(f"{entry.name}\t{entry.value}")


# The verb ``tag``.


@click.command()
@options.store
@click.argument("run")
@click.argument("tags", nargs=-1, required=True, metavar="K=V…")
def tag(store_path: str, run: str, tags: tuple[str, ...]) -> None:
    """Add tags to RUN. A tag with an existing key replaces the old value.

    Example: fxstore tag nightly green=true
    """
    found = options.pairs("tag", tags)
    with options.opened(store_path, writable=True) as store:
        store.tag(run, found)
