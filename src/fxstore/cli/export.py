"""The verb ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fxstore.cli import limits, options


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--run", help="Run id or name; default: all runs, of a picture the latest complete one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@options.overwrite
@click.option("--stage", "stages", multiple=True, help="Stages of a picture, in this order; default: all.")
@click.option("--query", metavar="SQL", help="Draw the nodes that its rows name, and what is near.")
@click.option("--nid", "nids", type=int, multiple=True, help="Draw this node, and what is near; several may be given.")
@click.option("--hops", type=click.IntRange(0), help="How near to the query's nodes; default: 1.")
@click.option("--whole", is_flag=True, default=None, help="Draw the whole stages, the query's nodes marked.")
@click.option("--color-by", metavar="OVERLAY", help="Overlay or metric that colours the nodes, or verdict, or role.")
@click.option("--cluster", metavar="KIND", help="Of dot: module, side (forward and backward) or none.")
@click.option("--columns", is_flag=True, default=None, help="Wrap graphs that are much taller than wide into columns.")
@click.option("--theme", metavar="THEME", help="light (default) or dark.")
@click.option("--scale", type=float, help="Of png: pixels per CSS pixel; default: 2.")
@click.option("--title")
@options.privacy
@click.argument("form", metavar="FORMAT")
def export(store_path: str, run: str | None, output: Path, force: bool, form: str, **given: Any) -> None:
    """Writes the store in another FORMAT: duckdb (one file), parquet, csv or json (a file per relation).

    FORMAT debugger writes one run, the latest by default: nodes.csv, and each graph as SVG, coloured by verdict.

    FORMAT svg, png, pdf or dot draws stages, or what a query names, as a still picture; the options from --stage on are
    for these.
    """
    chosen = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    with options.opened(store_path, writable=True) as store:
        store.export(form, output, run=run, overwrite=force, **{k: v for k, v in chosen.items() if v != []})
    files = [output] if output.is_file() else sorted(output.iterdir())
    click.echo(f"Wrote {output} ({options.size(sum(file.stat().st_size for file in files))})", err=True)
