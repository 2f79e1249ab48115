"""The verb ``export``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import limits, options


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--run", help="Run id or name; default: all runs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@options.overwrite
@click.argument("form", metavar="FORMAT")
def export(store_path: str, run: str | None, output: Path, force: bool, form: str) -> None:
    """Writes the store in another FORMAT: duckdb (one file), parquet, csv or json (a file per relation).

    FORMAT debugger writes one run, the latest by default: nodes.csv, and each graph as SVG, coloured by verdict.
    """
    with options.opened(store_path) as store:
        store.export(form, output, run=run, overwrite=force)
    files = [output] if output.is_file() else sorted(output.iterdir())
    click.echo(f"Wrote {output} ({options.size(sum(file.stat().st_size for file in files))})", err=True)
