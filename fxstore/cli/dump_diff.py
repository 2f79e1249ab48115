"""The verb ``dump-diff``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import limits, options


@click.command(name="dump-diff", cls=limits.Limited)
@limits.limited
@click.option("--metric", "metrics", multiple=True, help="Metric to compute; may be given several times.")
@click.option("--differing", is_flag=True, help="Show only values that are not the same, bit by bit.")
@click.option("--format", "form", type=click.Choice(options.FORMATS), help="Default: box on a terminal, csv in a pipe.")
@click.option("--raw", is_flag=True, help="Keep CSV cells that a spreadsheet would run as formulas.")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
def dump_diff(metrics: tuple[str, ...], differing: bool, form: str | None, raw: bool, a: Path, b: Path) -> None:
    """Compare two dumps value by value, A as the reference; needs neither model nor store.

    A and B are ETDumps (RUN.etdp with RUN.bin, and RUN.pte or RUN.etrecord to name the nodes, beside it), folders that
    `fxstore export tensors` wrote, or .npz, .npy or .safetensors files.

    Example: fxstore dump-diff phone-a.etdp phone-b.etdp --differing
    """
    import pyarrow.compute as pc

    from fxstore.export.dump_diff import dump_diff as compared
    from fxstore.export.dump_diff import result_of

    table = (compared(a, b, list(metrics)) if metrics else compared(a, b)).arrow()
    same = table["same"].to_pylist()
    shown = table.filter(pc.invert(pc.fill_null(table["same"], False))) if differing else table
    options.show(result_of(shown), form, None, False, raw)
    counts = f"{same.count(True)} the same, {same.count(False)} differ, {same.count(None)} in one only"
    click.echo(f"{len(same)} values: {counts}", err=True)
