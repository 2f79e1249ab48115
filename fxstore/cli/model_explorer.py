"""The verb ``model-explorer``."""

from __future__ import annotations

import tempfile
import threading
import webbrowser
from pathlib import Path
from typing import Any

import click

from fxstore.cli import options
from fxstore.errors import UsageError


@click.command()
@options.store
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Only write the files, into DIR.")
@options.overwrite
@click.option("--stage", "stages", multiple=True, help="Stages to show; default: all.")
@click.option("--overlay", "overlays", multiple=True, help="Overlays or metrics that become node data; default: all.")
@click.option("--steps", metavar="MODULE", help="The module each call of which is a step; default: found.")
@click.option("--budget", type=click.IntRange(min=0), metavar="CHARACTERS", help="What the steps of a graph may take.")
@options.privacy
@click.option("--compare", "compared", nargs=2, metavar="LEFT RIGHT", help="Two stages, beside each other.")
@click.option("--against", metavar="RUN", help="The run of the stage on the right; default: RUN.")
@click.option("--metric", help="A metric or an overlay that is compared.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any that is free."
)
@click.option("--server", metavar="URL", help="A Model Explorer on this machine that runs already.")
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.argument("run", required=False)
def model_explorer(
    store_path: str,
    output: Path | None,
    force: bool,
    compared: tuple[str, str] | None,
    against: str | None,
    metric: str | None,
    host: str,
    port: int,
    server: str | None,
    no_open: bool,
    run: str | None,
    **given: Any,
) -> None:
    """Open RUN (default: the latest) in the installed Model Explorer, or write its files with -o.

    With --compare, two stages are shown side by side with synchronised selection.

    Example: fxstore model-explorer nightly --compare float quantized
    """
    from fxstore.model_explorer import serving

    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    if compared is not None:
        chosen["compare_with"] = ((None, compared[0]), (against, compared[1]))
    if metric is not None:
        chosen["metric"] = metric
    if compared is None and (against or metric):
        raise UsageError("--against and --metric belong to a comparison", hint="--compare LEFT RIGHT names its stages")
    if output is not None:
        with options.opened(store_path) as store:
            store.export("model-explorer", output, run=run, overwrite=force, **chosen)
        click.echo(f"Wrote {output} ({options.size(options.folder_size(output))})", err=True)
        return
    if server is None:
        serving.web_app()
    with tempfile.TemporaryDirectory(prefix="fxstore-", ignore_cleanup_errors=True) as folder:
        written = Path(folder) / "model-explorer"
        with options.opened(store_path) as store:
            store.export("model-explorer", written, run=run, **chosen)
        _serve(written, host, port, server, no_open)


def _serve(folder: Path, host: str, port: int, running: str | None, no_open: bool) -> None:
    from fxstore.model_explorer import serving

    served = None if running is not None else serving.server(folder, host, port)
    address = serving.address_at(running or "", folder) if served is None else serving.address(served, folder)
    try:
        click.echo(address)
        click.echo("Ctrl+C ends it, and removes what was written for it.", err=True)
        if not no_open:
            webbrowser.open_new_tab(address)
        if served is None:
            threading.Event().wait()
        else:
            served.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        if served is not None:
            served.server_close()
