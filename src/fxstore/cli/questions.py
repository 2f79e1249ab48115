"""The verbs that answer with a table: ``sql`` and the macros."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import options

run = click.option("--run", help="Run id or name; default: the latest complete one.")
metric = click.argument("metric")


@click.command()
@options.store
@options.result_output
@click.argument("query")
def sql(store_path: str, form: str | None, page: Path | None, force: bool, query: str) -> None:
    """Answers one read-only SQL statement; `fxstore schema` prints what can be asked."""
    with options.opened(store_path) as store:
        options.show(store.sql(query), form, page, force)


@click.command()
@options.store
@options.result_output
@run
@click.option("--stage")
@click.option("--overlay")
@click.option("-n", default=20, show_default=True, help="How many.")
@metric
def worst(
    store_path: str,
    form: str | None,
    page: Path | None,
    force: bool,
    run: str | None,
    stage: str | None,
    overlay: str | None,
    n: int,
    metric: str,
) -> None:
    """Ranks nodes by METRIC, broken ones first: NaN, then infinite, then the worst number."""
    with options.opened(store_path) as store:
        options.show(store.worst(metric, n=n, run=run, stage=stage, overlay=overlay), form, page, force)


@click.command(name="first-bad")
@options.store
@options.result_output
@run
@click.option("--overlay")
@click.option("--threshold", type=float, required=True)
@metric
def first_bad(
    store_path: str,
    form: str | None,
    page: Path | None,
    force: bool,
    run: str | None,
    overlay: str | None,
    threshold: float,
    metric: str,
) -> None:
    """Finds where METRIC first goes beyond the threshold: bad nodes that no bad node feeds."""
    with options.opened(store_path) as store:
        options.show(store.first_bad(metric, threshold, run=run, overlay=overlay), form, page, force)


@click.command()
@options.store
@options.result_output
@run
@click.option("--method")
@click.option("--path")
@click.argument("stage")
@click.argument("node")
def sync(
    store_path: str,
    form: str | None,
    page: Path | None,
    force: bool,
    run: str | None,
    method: str | None,
    path: str | None,
    stage: str,
    node: str,
) -> None:
    """Lists the counterparts of NODE of STAGE in every stage."""
    with options.opened(store_path) as store:
        options.show(store.sync(stage, node, run=run, method=method, path=path), form, page, force)


@click.command()
@options.store
@options.result_output
@run
@click.option("--method")
@click.option("--path")
@click.argument("stage")
@click.argument("node")
def trace(
    store_path: str,
    form: str | None,
    page: Path | None,
    force: bool,
    run: str | None,
    method: str | None,
    path: str | None,
    stage: str,
    node: str,
) -> None:
    """Follows NODE of STAGE through the stages, with the evidence for each step."""
    with options.opened(store_path) as store:
        options.show(store.trace(stage, node, run=run, method=method, path=path), form, page, force)
