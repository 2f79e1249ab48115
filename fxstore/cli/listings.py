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
    """Lists the runs, newest first."""
    return store.runs()


@click.command()
@answering
@click.argument("run", required=False)
def stages(store: Store, run: str | None) -> Result:
    """Lists the stages of RUN (default: the latest) in pipeline order."""
    return store.stages(run)


@click.command()
@answering
@click.argument("run", required=False)
def metrics(store: Store, run: str | None) -> Result:
    """Lists the metrics of RUN (default: the latest), with the overlays, stages and scopes that have them."""
    return store.metrics(run)


@click.command()
@answering
@click.argument("run", required=False)
def overlays(store: Store, run: str | None) -> Result:
    """Lists the overlays of RUN (default: the latest), with their metrics and stages."""
    return store.overlays(run)


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@click.argument("relation", required=False)
def schema(store_path: str, form: str, relation: str | None) -> None:
    """Prints the relations and macros that SQL can use, or one of them; works without a store, too."""
    with options.opened(store_path if Path(store_path).is_dir() else ":memory:") as store:
        found = store.schema(relation)
        click.echo(found.to_json() if form == "json" else str(found))


# The verb ``adapters``.


@click.command()
@click.argument("what", type=click.Choice(tuple(extensions.GROUPS)), default="adapters")
def adapters(what: str) -> None:
    """Lists the installed source adapters, or WHAT else packages add, without importing any."""
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
    """Adds tags to RUN, such as green=true; one of a key that it has replaces that."""
    found = options.pairs("tag", tags)
    with options.opened(store_path, writable=True) as store:
        store.tag(run, found)
