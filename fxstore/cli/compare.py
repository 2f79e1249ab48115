"""The verb ``compare``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import limits, options
from fxstore.errors import UsageError


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--run", "runs", multiple=True, help="Run id or name; may be given several times.")
@click.option("--stage", "stages", multiple=True, help="Stages to show, in this order; default: all.")
@click.option("--query", help="SQL whose rows are shown beside the graphs, and highlighted in them.")
@click.option("--color-by", metavar="OVERLAY", help="Overlay or metric that colours the nodes, or verdict.")
@click.option("--title")
@click.option("--with-sources", is_flag=True, help="Show absolute paths of source files.")
@options.privacy
@click.option("--hops", type=click.IntRange(0), help="Draw only the query's nodes and their neighbours within N hops.")
@click.option("--whole", is_flag=True, help="Draw all nodes, even of a very large graph.")
@click.option("--columns", is_flag=True, help="Wrap graphs that are much taller than wide into columns.")
@click.option(
    "--payload", type=click.Path(path_type=Path), metavar="FILE", help="Show a saved JSON payload; needs no store."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@options.overwrite
def compare(
    store_path: str,
    runs: tuple[str, ...],
    stages: tuple[str, ...],
    query: str | None,
    color_by: str | None,
    title: str | None,
    with_sources: bool,
    privacy: str | None,
    hops: int | None,
    whole: bool,
    columns: bool,
    payload: Path | None,
    output: Path,
    force: bool,
) -> None:
    """Write one offline page with the stages side by side.

    Example: fxstore compare --run nightly -o page.html
    """
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="pass -f to overwrite it")
    if payload is not None:
        if runs or stages or query or color_by or with_sources or privacy or hops is not None or whole or columns:
            raise UsageError("--payload shows a file as it is", hint="leave out the options that choose from a store")
        _show_payload(payload, title, output, force)
        return
    with options.opened(store_path, writable=True) as store:
        page = store.compare(
            run=list(runs) or None,
            stages=list(stages) or None,
            color_by=color_by,
            highlight=store.sql(query) if query else None,
            title=title,
            with_sources=with_sources,
            privacy=privacy,
            hops=hops,
            whole=whole,
            columns=columns,
        )
        options.save(page, output, force)


def _show_payload(path: Path, title: str | None, output: Path, force: bool) -> None:
    from fxstore.render import embedded, saved_payload

    payload = saved_payload.read(path) | ({"title": title} if title else {})
    options.save(embedded.PayloadPage(payload, title or path.stem), output, force)
