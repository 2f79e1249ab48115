"""The verb ``demo``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import options

PAGE = Path("fxstore-demo.html")


@click.command()
@options.store
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
def demo(store_path: str, open_page: bool) -> None:
    """Compile and run a small quantised network, and show where its accuracy goes.

    Records float, prepared, quantized, edge, lowered and runtime as one run, measures them, prints the worst nodes and
    writes fxstore-demo.html. Works offline.

    Example: fxstore demo --open
    """
    from fxstore.demo import run_demo

    run_demo(store_path, PAGE, say=lambda text: click.echo(text, err=True), out=click.echo)
    if open_page:
        click.launch(PAGE.resolve().as_uri())
