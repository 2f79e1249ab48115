"""The verb ``measure``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import options
from fxstore.errors import UsageError


@click.command()
@options.store
@click.option("--inputs", "given", type=click.Path(path_type=Path), required=True, help=".pt or .npz: the inputs.")
@click.option(
    "--reference", metavar="STAGE", help="Stage to compare with; default: the first. 'previous': the stage before."
)
@click.option("--metric", "metrics", multiple=True, metavar="M", help="cosine, 'mse<=1e-4', module:function …")
@click.option("--stage", "stages", multiple=True, metavar="S", help="Stage to measure; default: every later stage.")
@click.option("--method", default="forward", show_default=True, help="Entry point that is run.")
@click.option("--scope", type=click.Choice(("cumulative", "local", "both")), default="cumulative", show_default=True)
@click.option("--steps", is_flag=True, help="The inputs are steps: each begins with the buffers that the last left.")
@click.option(
    "--tensors", type=click.Path(path_type=Path), metavar="F", help="Also write raw values, to .npz or .safetensors."
)
@click.option("--node", "nodes", multiple=True, metavar="N", help="Node whose values --tensors writes; default: all.")
@options.values
@options.values_stage
@options.overwrite
@click.option("--name", help="Name of the run; default: SOURCE's.")
@click.option("--trust", is_flag=True, help="I trust SOURCE; loading it may run code.")
@click.argument("source", metavar="SOURCE")
def measure(
    store_path: str,
    given: Path,
    reference: str | None,
    metrics: tuple[str, ...],
    stages: tuple[str, ...],
    method: str,
    scope: str,
    steps: bool,
    tensors: Path | None,
    nodes: tuple[str, ...],
    handle_values: Path | None,
    values_stage: str | None,
    force: bool,
    name: str | None,
    trust: bool,
    source: str,
) -> None:
    """Run the stages of SOURCE on inputs, compare their values, store the result as a run and print its id.

    SOURCE is MODULE:FUNCTION, which returns a dict of stages, or an .etrecord or .pt2 file with --trust.

    Example: fxstore measure mynet:stages --inputs inputs.npz
    """
    from fxstore.api import connect
    from fxstore.ingest.measure import loading

    asked = loading.metrics(metrics)
    found = loading.stages(source, trust)
    if not found:
        raise UsageError(f"{source} has no stage")
    args, kwargs = loading.inputs(given)
    told = None if handle_values is None else loading.values(handle_values)
    with connect(store_path) as store:
        with store.record(name or Path(source.replace(":", ".")).stem, strict=True) as recorder:
            for stage, one in found.items():
                recorder.stage(stage, one)
            if tensors is not None:
                recorder.tensors(
                    args,
                    tensors,
                    kwargs,
                    stages=list(stages) or None,
                    nodes=list(nodes) or None,
                    method=method,
                    carry_state=steps,
                    overwrite=force,
                )
                click.echo(f"Wrote {tensors} ({options.size(tensors.stat().st_size)})", err=True)
            recorder.measure(
                args,
                kwargs,
                reference=reference or next(iter(found)),
                metrics=asked,
                stages=list(stages) or None,
                method=method,
                scope=scope,
                carry_state=steps,
                values=told,
                values_stage=values_stage,
            )
        assert recorder.run is not None
        click.echo(recorder.run.run_id)
        for line in _coverage(store.sql(_COVERAGE, [recorder.run.run_id]).fetchall()):
            click.echo(line, err=True)


_COVERAGE = """SELECT o.name, c.measured, c.nodes FROM coverage AS c JOIN overlays AS o USING (overlay_id)
WHERE c.run_id = ? AND o.kind = 'accuracy' ORDER BY c.overlay_id DESC"""


def _coverage(rows: list[tuple[object, ...]]) -> list[str]:
    return [f"Measured {name}: {measured} of {nodes} nodes" for name, measured, nodes in rows]
