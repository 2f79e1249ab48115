"""The verb ``adapters``."""

from __future__ import annotations

import click

from fxstore import extensions


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
