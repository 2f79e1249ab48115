"""The verb ``tag``."""

from __future__ import annotations

import click

from fxstore.cli import options


@click.command()
@options.store
@click.argument("run")
@click.argument("tags", nargs=-1, required=True, metavar="K=V…")
def tag(store_path: str, run: str, tags: tuple[str, ...]) -> None:
    """Adds tags to RUN, such as green=true; one of a key that it has replaces that."""
    found = options.pairs("tag", tags)
    with options.opened(store_path, writable=True) as store:
        store.tag(run, found)
