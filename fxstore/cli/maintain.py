"""The verbs that keep a store: ``compact``, ``gc``, ``merge``, ``verify``."""

from __future__ import annotations

import re
from typing import Final

import click

from fxstore.cli import options
from fxstore.store import GRACE_S

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


def _span(ctx: click.Context, param: click.Parameter, value: str) -> float:
    said = _SPAN.fullmatch(value)
    if not said:
        raise click.BadParameter(f"{value!r} is no time: write 90s, 10m, 1h or 2d", ctx, param)
    return float(said[1]) * _UNITS[said[2]]


grace = click.option(
    "--grace",
    callback=_span,
    default=f"{GRACE_S:g}s",
    metavar="TIME",
    help="How long replaced files are kept for readers that still use them; default: 1h.",
)


@click.command()
@options.store
@grace
def compact(store_path: str, grace: float) -> None:
    """Merge the numbers of many runs into few, larger files; other processes can read and write meanwhile.

    Example: fxstore compact
    """
    with options.opened(store_path, writable=True) as store:
        click.echo(str(store.compact(grace)), err=True)


@click.command()
@options.store
@click.option("--keep-last", type=click.IntRange(min=1), metavar="N", help="Keep the newest N runs of each model.")
@click.option("--keep-tag", "keep_tags", multiple=True, metavar="KEY[=VALUE]", help="Also keep runs with this tag.")
@click.option("--dry-run", is_flag=True, help="Remove nothing; print the ids of runs that would be removed.")
@grace
def gc(store_path: str, keep_last: int | None, keep_tags: tuple[str, ...], dry_run: bool, grace: float) -> None:
    """Remove leftovers of killed writers, unused graphs and, with --keep-last, older runs.

    Example: fxstore gc --keep-last 30 --keep-tag release
    """
    with options.opened(store_path, writable=True) as store:
        done = store.gc(keep_last, keep_tags, grace=grace, dry_run=dry_run)
    for run_id in done.runs:
        click.echo(run_id)
    click.echo(f"{'would remove' if dry_run else 'removed'}: {done}", err=True)


@click.command()
@options.store
@click.argument("others", nargs=-1, required=True, metavar="OTHER_STORE…")
def merge(store_path: str, others: tuple[str, ...]) -> None:
    """Copy the runs of other stores, given by path or URL, into this one; prints the ids of new runs.

    Example: fxstore merge ci-store s3://bucket/store
    """
    from fxstore.api import connect

    with connect(store_path) as store:
        for other in others:
            done = store.merge(other)
            for run_id in done.runs:
                click.echo(run_id)
            click.echo(f"{other}: {done}", err=True)


@click.command()
@options.store
@click.option("--format", "form", type=click.Choice(options.FORMATS), help="Default: box on a terminal, csv in a pipe.")
def verify(store_path: str, form: str | None) -> int:
    """Read every file that a run needs and list what is damaged or missing; exits with 1 if anything is.

    Example: fxstore verify
    """
    with options.opened(store_path) as store:
        found = store.verify()
        if found.problems:
            options.show(store.own_result(found.table(), "verify"), form, None, False)
    click.echo(str(found), err=True)
    return 1 if found.problems else 0
