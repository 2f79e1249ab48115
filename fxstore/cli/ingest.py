"""The verb ``ingest``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.cli import options
from fxstore.errors import UsageError, nearest

if TYPE_CHECKING:
    from fxstore.ingest.adapters import Ingested


@click.command()
@options.store
@click.option("--name", help="Name of the run; default: the file's name.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="May be given several times.")
@click.option("-O", "--option", "given", multiple=True, metavar="K=V", help="Option of an adapter, such as stage=edge.")
@click.option("--etdump", type=click.Path(), help="ETDump of a traced run of the one SOURCE.")
@click.option("--debug-buffer", type=click.Path(), help="The debug buffer that belongs to it.")
@click.option("--inputs", "inputs", type=click.Path(path_type=Path), help=".pt or .npz: the inputs of that traced run.")
@options.values
@options.values_stage
@options.privacy
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
def ingest(
    store_path: str,
    name: str | None,
    tags: tuple[str, ...],
    given: tuple[str, ...],
    etdump: str | None,
    debug_buffer: str | None,
    inputs: Path | None,
    handle_values: Path | None,
    values_stage: str | None,
    privacy: str | None,
    sources: tuple[str, ...],
) -> None:
    """Read each SOURCE, store it as one run and print the run's id. Nothing is stored if one cannot be read.

    A SOURCE that holds only numbers, such as a table of metrics, is added to the run of the SOURCE before it.

    Example: fxstore ingest model.etrecord --etdump run.etdp --debug-buffer run.bin
    """
    from fxstore.api import connect
    from fxstore.ingest.measure import loading

    found = options.pairs("--tag", tags)
    runs = _runs(sources, options.pairs("--option", given))
    if len(runs) > 1 and any(one is not None for one in (name, etdump, debug_buffer, inputs, handle_values)):
        option = "--name" if name is not None else "--values" if handle_values is not None else "--etdump"
        what = f"{option} {'names' if name is not None else 'is of'} one run"
        raise UsageError(f"{what}, and there are several sources", hint="ingest them one by one")
    traced: dict[str, Any] = {"etdump": etdump, "debug_buffer": debug_buffer, "values_stage": values_stage}
    try:
        if inputs is not None:
            traced["inputs"], traced["kwargs"] = loading.inputs(inputs)
        if handle_values is not None:
            traced["values"] = loading.values(handle_values)
    except ImportError as error:
        raise UsageError("--inputs and --values need torch, which is not installed", hint="leave them out") from error
    with connect(store_path) as store:
        for source, ingested in runs:
            run = store.ingest(ingested, name=name or Path(source).stem, tags=found, privacy=privacy, **traced)
            click.echo(run.run_id)
            click.echo(f"Ingested {source} as run {run.name} ({run.run_id}): {', '.join(run.stages)}", err=True)
            for note in run.notes:
                click.echo(f"{run.status}: {note}", err=True)


def _runs(sources: Iterable[str], given: dict[str, Any]) -> list[tuple[str, Ingested]]:
    """Returns what is one run each, with its source."""
    from fxstore.ingest import adapters

    runs: list[tuple[str, Ingested]] = []
    unused = set(given)
    for source in sources:
        taken = adapters.takes(source, given)
        unused -= taken.keys()
        found = adapters.read(source, taken)
        if found.stages:
            runs.append((source, found))
        elif runs:
            runs[-1] = (runs[-1][0], runs[-1][1].with_overlays(found.overlays))
        else:
            hint = f"pass the file with the graphs first: fxstore ingest GRAPHS {source}"
            raise UsageError(f"{source} has numbers but no graph", hint=hint)
    if unused:
        hint = nearest(min(unused), adapters.known_options()) or "fxstore adapters lists what they take"
        raise UsageError(f"no source takes the option {min(unused)!r}", hint=hint)
    return runs
