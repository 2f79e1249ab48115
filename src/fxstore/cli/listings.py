"""The verbs that list what a store holds."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import options


@click.command()
@options.store
@options.result_output
def runs(store_path: str, form: str | None, page: Path | None, force: bool) -> None:
    """Lists the runs, newest first."""
    with options.opened(store_path) as store:
        options.show(store.runs(), form, page, force)


@click.command()
@options.store
@options.result_output
@click.argument("run", required=False)
def stages(store_path: str, form: str | None, page: Path | None, force: bool, run: str | None) -> None:
    """Lists the stages of RUN (default: the latest) in pipeline order."""
    with options.opened(store_path) as store:
        options.show(store.stages(run), form, page, force)


@click.command()
@options.store
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@click.argument("relation", required=False)
def schema(store_path: str, form: str, relation: str | None) -> None:
    """Prints the relations and macros that SQL can use, or one of them; works without a store, too."""
    from fxstore.api import connect

    path = store_path if Path(store_path).is_dir() else ":memory:"
    with connect(path, read_only=path != ":memory:") as store:
        found = store.schema(relation)
        click.echo(found.to_json() if form == "json" else str(found))
