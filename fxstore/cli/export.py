"""The verb ``export``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.cli import limits, options
from fxstore.errors import UsageError

if TYPE_CHECKING:
    from fxstore.api import Store


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--run", help="Run id or name; default: all runs, of a picture the latest complete one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@options.overwrite
@click.option(
    "--stage", "stages", multiple=True, help="Stages of a picture or of Model Explorer's files; default: all."
)
@click.option("--query", metavar="SQL", help="Draw the nodes that its rows name, and their neighbours.")
@click.option(
    "--nid", "nids", type=int, multiple=True, help="Draw this node and its neighbours; may be given several times."
)
@click.option("--hops", type=click.IntRange(0), help="Draw neighbours within N hops; default: 1.")
@click.option("--whole", is_flag=True, default=None, help="Draw the whole stages, the query's nodes marked.")
@click.option("--color-by", metavar="OVERLAY", help="Overlay or metric that colours the nodes, or verdict, or role.")
@click.option("--cluster", metavar="KIND", help="Of dot: module, side (forward and backward) or none.")
@click.option("--columns", is_flag=True, default=None, help="Wrap graphs that are much taller than wide into columns.")
@click.option("--theme", metavar="THEME", help="light (default) or dark.")
@click.option("--scale", type=float, help="Of png: pixels per CSS pixel; default: 2.")
@click.option("--title")
@click.option("--etdump", type=click.Path(), metavar="F", help="Of tensors: the ETDump whose values are written.")
@click.option("--debug-buffer", type=click.Path(), metavar="F", help="Of tensors: the debug buffer that belongs to it.")
@click.option(
    "--source", type=click.Path(), metavar="F", help="Of tensors: .pte or .etrecord that names the nodes; default: RUN."
)
@options.privacy
@click.argument("form", metavar="FORMAT")
@click.argument("of_run", metavar="[RUN]", required=False)
def export(
    store_path: str, run: str | None, output: Path, force: bool, form: str, of_run: str | None, **given: Any
) -> None:
    """Write the store in another FORMAT: duckdb (one file), parquet, csv or json (a file per relation).

    FORMAT debugger writes one run, the latest by default: nodes.csv, and each graph as SVG, coloured by verdict.

    FORMAT model-explorer writes one run as collections, node data, a manifest and a README; the verb model-explorer has
    more options.

    FORMAT tensors writes the values of a traced run: a folder with a .npy file for each, and index.json with their
    nodes, shapes, dtypes and layouts. The store keeps no values: pass --etdump and --debug-buffer. RUN, or --source,
    names the nodes.

    FORMAT svg, png, pdf or dot draws stages, or what a query names, as a still picture; the options from --stage on are
    for these.

    Example: fxstore export svg -o worst.svg --query "FROM worst('cosine')"
    """
    if run is not None and of_run is not None:
        raise UsageError("the run is given twice", hint="leave out --run")
    chosen = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    with _opened(store_path, form, given["source"]) as store:
        store.export(form, output, run=run or of_run, overwrite=force, **{k: v for k, v in chosen.items() if v != []})
    click.echo(f"Wrote {output} ({options.size(options.folder_size(output))})", err=True)


def _opened(store_path: str, form: str, source: str | None) -> AbstractContextManager[Store]:
    """Opens the store; what files alone tell needs none."""
    from fxstore.api import connect

    return connect(":memory:") if form == "tensors" and source else options.opened(store_path, writable=True)
