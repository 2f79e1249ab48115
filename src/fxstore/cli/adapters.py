"""The verb ``adapters``."""

from __future__ import annotations

import click


@click.command()
def adapters() -> None:
    """Lists the installed source adapters, without importing them."""
    from fxstore.ingest.adapters import installed

    for entry in installed():
        click.echo(f"{entry.name}\t{entry.value}")
