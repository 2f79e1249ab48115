"""The verb ``ingest``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import options
from fxstore.errors import UsageError


@click.command()
@options.store
@click.option("--name", help="Name of the run; default: the source's.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="May be given several times.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
def ingest(store_path: str, name: str | None, tags: tuple[str, ...], sources: tuple[str, ...]) -> None:
    """Takes each SOURCE in as one run and prints its id; all are read before the first is stored."""
    from fxstore.api import connect
    from fxstore.ingest import adapters

    found = dict(_tag(tag) for tag in tags)
    if name is not None and len(sources) > 1:
        raise UsageError("--name names one run, and there are several sources", hint="ingest them one by one")
    read = [(source, adapters.read(source)) for source in sources]
    with connect(store_path) as store:
        for source, ingested in read:
            run = store.ingest(ingested, name=name or Path(source).stem, tags=found)
            click.echo(run.run_id)
            click.echo(f"Ingested {source} as run {run.name} ({run.run_id}): {', '.join(run.stages)}", err=True)


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--tag {text!r} is not of the form key=value")
    return key, value
